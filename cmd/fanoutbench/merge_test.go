package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// withFamily is the campaign again, with a family, of six rounds.
func withFamily(t *testing.T, file string) string {
	t.Helper()
	c, _, err := results.ReadCampaign(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Plan.Primary) == 0 {
		c.Plan.Primary, c.Plan.MarginPct = results.DefaultPrimary(c.Plan.Counts, c.Plan.Metadata), 5
	}
	file = filepath.Join(t.TempDir(), "family.json")
	if _, err := results.WriteCampaign(file, c); err != nil {
		t.Fatal(err)
	}
	return file
}

// Two shards are measured, merged, verified and moved; a shard alone is not enough.
func TestMergeOfShards(t *testing.T) {
	t.Parallel()
	file := withFamily(t, writeCampaign(t, "--shards", "2", "--rounds", "6"))
	base := t.TempDir()
	var dirs []string
	for _, i := range []string{"0", "1"} {
		p := shard(t, file, nil, "--shard", i)
		p.run(exitOK)
		dirs = append(dirs, filepath.Join(base, "shard-"+i))
		if err := os.CopyFS(dirs[len(dirs)-1], os.DirFS(p.output)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(base, "merged")
	m := newProgram(t, nil, "merge", dirs[1], dirs[0], "--output", out)
	m.run(exitOK)
	m.has("stdout", m.stdout.String(), "merged ", "2, 12 rounds together, all 2 shards", "all 4096 flips of whole rounds", "shard-0", "5 rich complete_ms")
	v := newProgram(t, nil, "verify", out)
	v.run(exitOK)
	v.has("stdout", v.stdout.String(), "ok    run shard-1", "ok    merged figures")

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"merge", dirs[0]}, exitUsage, "at least two runs"},
		{[]string{"merge", dirs[0], dirs[1], "--output", out}, exitUsage, "exists"},
		{[]string{"merge", dirs[0], dirs[0]}, exitInvalid, "given twice"},
		{[]string{"merge", dirs[0], base}, exitInvalid, "no such file"},
		{[]string{"report", out}, exitInvalid, out + ": it has merged.json: several runs that were merged"},
		{[]string{"gate", out}, exitInvalid, "want the folder of one run. verify checks a merged one, merge prints"},
	} {
		p := newProgram(t, nil, c.args...)
		p.run(c.code)
		p.has("stderr", p.stderr.String(), c.want)
	}
	if err := os.Remove(filepath.Join(dirs[1], results.RawFile)); err != nil {
		t.Fatal(err)
	}
	gone := newProgram(t, nil, "verify", out)
	gone.run(exitInvalid)
	gone.has("stdout", gone.stdout.String(), "FAIL  run shard-1", "FAIL  merged figures")
}
