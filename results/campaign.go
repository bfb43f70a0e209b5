package results

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// MaxShards is the largest number of runs of a campaign.
const MaxShards = 10_000

// MaxCampaign is the longest campaign file, in bytes.
const MaxCampaign = MaxPlan + MaxShards*32

// shardStream separates the shards' seeds from other random numbers of a seed.
const shardStream = 0x5a4d

// Campaign is one plan to be run several times, on hosts that need not know of
// each other: each run, a shard, has a seed of its own, and with it its own coins
// and streams, and is otherwise the same. Merge joins them.
type Campaign struct {
	Schema      int      `json:"schema"`
	ToolVersion string   `json:"tool_version"`
	Seed        uint64   `json:"seed"`  // that the shards' seeds follow from
	Seeds       []uint64 `json:"seeds"` // by shard
	Plan        Plan     `json:"plan"`  // of shard 0; the others differ in seed and in what is drawn from it
}

// ShardSeeds are the seeds of so many shards, each of 53 bits and none twice.
func ShardSeeds(seed uint64, shards int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, shardStream))
	seen := map[uint64]bool{}
	seeds := make([]uint64, 0, shards)
	for len(seeds) < shards {
		if s := rng.Uint64() >> 11; !seen[s] {
			seen[s] = true
			seeds = append(seeds, s)
		}
	}
	return seeds
}

// Validate checks every field. Seeds that do not follow from the campaign's are
// refused: chosen ones would choose coins.
func (c Campaign) Validate() error {
	switch {
	case c.Schema != Schema:
		return unwanted("campaign: schema", c.Schema, "%d", Schema)
	case c.ToolVersion != c.Plan.ToolVersion:
		return unwanted("campaign: tool_version", c.ToolVersion, "%q as in its plan", c.Plan.ToolVersion)
	case len(c.Seeds) < 1 || len(c.Seeds) > MaxShards:
		return unwanted("campaign: seeds", fmt.Sprintf("%d seeds", len(c.Seeds)), "1 to %d", MaxShards)
	case !slices.Equal(c.Seeds, ShardSeeds(c.Seed, len(c.Seeds))):
		return unwanted("campaign: seeds", shortened(fmt.Sprint(c.Seeds)), "those that follow from seed %d", c.Seed)
	case c.Plan.Seed != c.Seeds[0]:
		return unwanted("campaign: plan.seed", c.Plan.Seed, "%d, that of shard 0", c.Seeds[0])
	case c.Plan.CampaignSHA256 != "" || c.Plan.Shard != nil || c.Plan.Shards != 0:
		return fmt.Errorf("campaign: plan has campaign_sha256, shard or shards, want none: a campaign's file cannot hold its own hash")
	}
	if err := c.Plan.Validate(); err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	return nil
}

func (c *Campaign) normal() {
	c.Seeds = listed(c.Seeds)
	c.Plan.normal()
}

// WriteCampaign makes the file; one that exists is an error.
func WriteCampaign(path string, c Campaign) (sha256 string, err error) {
	c, b, err := settle[Campaign](c, encodeFile)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return "", fmt.Errorf("results: %w", err)
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("results: campaign %s exists, want a file to make", path)
	}
	if err := replace(path, b); err != nil {
		return "", fmt.Errorf("results: %w", err)
	}
	return sum(b), nil
}

// ReadCampaign reads a campaign's file, with the hash of its bytes.
func ReadCampaign(path string) (c Campaign, sha256 string, err error) {
	b, err := readFile("", path, MaxCampaign)
	if err == nil {
		c, err = parseCampaign(b)
	}
	if err != nil {
		return c, "", fmt.Errorf("results: campaign %s: %w", path, err)
	}
	return c, sum(b), nil
}

func parseCampaign(b []byte) (c Campaign, err error) {
	if err := decode(b, &c, encodeFile); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// checkShard: a run is one of a campaign with all three keys, or of none.
func (p Plan) checkShard() error {
	if p.CampaignSHA256 == "" && p.Shard == nil && p.Shards == 0 {
		return nil
	}
	if err := checkHash("campaign_sha256", p.CampaignSHA256); err != nil {
		return err
	}
	if p.Shards < 1 || p.Shards > MaxShards {
		return unwanted("shards", p.Shards, "1 to %d", MaxShards)
	}
	if p.Shard == nil {
		return fmt.Errorf("shard is absent, want 0 to %d beside campaign_sha256", p.Shards-1)
	}
	if *p.Shard < 0 || *p.Shard >= p.Shards {
		return unwanted("shard", *p.Shard, "0 to %d", p.Shards-1)
	}
	return nil
}
