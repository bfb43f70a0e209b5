package results

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func exampleCampaign(shards int) Campaign {
	p := withFamily()
	seeds := ShardSeeds(11, shards)
	p.Seed = seeds[0]
	return Campaign{Schema: Schema, ToolVersion: p.ToolVersion, Seed: 11, Seeds: seeds, Plan: p}
}

func TestCampaignReadsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "campaign.json")
	want := exampleCampaign(4)
	hash, err := WriteCampaign(path, want)
	if err != nil {
		t.Fatal(err)
	}
	got, again, err := ReadCampaign(path)
	if err != nil || again != hash {
		t.Fatalf("%v, hash %s, want %s", err, again, hash)
	}
	want.normal()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if file, err := HashFile(path); err != nil || file != hash {
		t.Errorf("the file has hash %s (%v), want %s", file, err, hash)
	}
	_, err = WriteCampaign(path, want)
	wantError(t, err, path, "exists")
}

// The seeds follow from one, are of 53 bits, all unlike, and those of a longer
// campaign begin with those of a shorter one.
func TestShardSeeds(t *testing.T) {
	long := ShardSeeds(5, MaxShards)
	seen := map[uint64]bool{}
	for i, s := range long {
		if s >= 1<<53 || seen[s] {
			t.Fatalf("seed %d is %d, want one of 53 bits that no other shard has", i, s)
		}
		seen[s] = true
	}
	if !reflect.DeepEqual(ShardSeeds(5, 7), long[:7]) || reflect.DeepEqual(ShardSeeds(6, 7), long[:7]) {
		t.Error("the seeds do not follow from the campaign's seed alone")
	}
}

func TestCampaignIsChecked(t *testing.T) {
	for _, c := range []struct {
		change func(*Campaign)
		want   []string
	}{
		{func(c *Campaign) { c.Schema = 2 }, []string{"schema", "2"}},
		{func(c *Campaign) { c.ToolVersion = "v2" }, []string{"tool_version", "v2", "devel"}},
		{func(c *Campaign) { c.Seeds = nil }, []string{"seeds", "0 seeds"}},
		{func(c *Campaign) { c.Seeds[2]++ }, []string{"seeds", "follow from seed 11"}},
		{func(c *Campaign) { c.Plan.Seed++ }, []string{"plan.seed", "shard 0"}},
		{func(c *Campaign) { c.Plan.Shards = 3 }, []string{"shards"}},
		{func(c *Campaign) { c.Plan.Pace = "slow" }, []string{"pace", "slow"}},
	} {
		k := exampleCampaign(4)
		c.change(&k)
		wantError(t, k.Validate(), c.want...)
	}
}

func TestShardIsChecked(t *testing.T) {
	hash := sum([]byte("campaign"))
	for _, c := range []struct {
		hash   string
		shard  *int
		shards int
		want   string
	}{
		{hash, ref(0), 1, ""},
		{hash, ref(3), 4, ""},
		{"", nil, 0, ""},
		{hash, ref(4), 4, "shard is 4, want 0 to 3"},
		{hash, ref(-1), 4, "shard is -1"},
		{hash, nil, 4, "shard is absent"},
		{"", ref(1), 4, "campaign_sha256"},
		{hash, ref(1), 0, "shards is 0"},
	} {
		p := examplePlan()
		p.CampaignSHA256, p.Shard, p.Shards = c.hash, c.shard, c.shards
		if err := p.Validate(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c, err, c.want)
		}
	}
}

func FuzzCampaign(f *testing.F) {
	c := exampleCampaign(2)
	b, err := encodeFile(&c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema": 1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCampaign(b)
		if err != nil {
			return
		}
		again, err := encodeFile(&c)
		if err != nil || string(again) != string(b) {
			t.Errorf("a campaign that was read is written otherwise: %v", err)
		}
	})
}
