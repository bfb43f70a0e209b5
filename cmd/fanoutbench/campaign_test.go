package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/results"
)

var smallCampaign = []string{"--rounds", "1", "--repetitions", "1", "--counts", "5", "--metadata", "rich", "--process", "run"}

// writeCampaign writes a campaign of small runs and returns its file.
func writeCampaign(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "campaign.json")
	p := newProgram(t, nil, append(append([]string{"plan", "--output", file, "--seed", "7"}, smallCampaign...), args...)...)
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), file, "sha256", "--shard I")
	return file
}

// shard is a run of one shard of a campaign.
func shard(t *testing.T, file string, env []string, args ...string) *program {
	t.Helper()
	p := newProgram(t, env)
	p.cmd.Args = append(p.cmd.Args, append([]string{"run", "--campaign", file, "--output", p.output}, args...)...)
	return p
}

// Every shard has the campaign's plan with a seed of its own, named by the flag
// or by the variable of an array.
func TestShards(t *testing.T) {
	t.Parallel()
	file := writeCampaign(t, "--shards", "3", "--reference-set", "detokenizers=2")
	campaign, hash, err := results.ReadCampaign(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, how := range []struct{ env, args []string }{
		{nil, []string{"--shard", "0"}},
		{[]string{"SLURM_ARRAY_TASK_ID=1"}, nil},
		{[]string{"JOB_COMPLETION_INDEX=9", "SLURM_ARRAY_TASK_ID=8"}, []string{"--shard", "2"}},
	} {
		p := shard(t, file, how.env, how.args...)
		p.run(exitOK)
		f := p.folder()
		if *f.Plan.Shard != i || f.Plan.Shards != 3 || f.Plan.CampaignSHA256 != hash || f.Plan.Seed != campaign.Seeds[i] {
			t.Errorf("shard %d: %+v", i, f.Plan)
		}
		if f.Plan.Reference.Options["detokenizers"] != "2" || f.Plan.Rounds != 1 || f.Plan.Process != "run" {
			t.Errorf("shard %d has another plan than the campaign: %+v", i, f.Plan)
		}
		v := newProgram(t, nil, "verify", p.output)
		v.run(exitOK)
	}
}

func TestShardOfEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"SLURM_ARRAY_TASK_ID": "3"}, "3 SLURM_ARRAY_TASK_ID"},
		{map[string]string{"JOB_COMPLETION_INDEX": "0"}, "0 JOB_COMPLETION_INDEX"},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "2", "JOB_COMPLETION_INDEX": "2"}, "2 JOB_COMPLETION_INDEX"},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "2", "JOB_COMPLETION_INDEX": "3"}, "want --shard to say which counts"},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "two"}, `SLURM_ARRAY_TASK_ID is "two", want a number`},
		{nil, "a campaign without a shard"},
	} {
		n, from, err := shardOfEnvironment(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		got := strconv.Itoa(n) + " " + from
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v: %s, want %q", c.env, got, c.want)
		}
	}
}

// Mistakes in campaigns are told before anything is measured.
func TestCampaignMistakes(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), writeCampaign(t, "--shards", "2")
	twice := newProgram(t, nil, "plan", "--shards", "2", "--output", file)
	twice.run(exitUsage)
	twice.has("stderr", twice.stderr.String(), file, "exists")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.json")
	if err := os.WriteFile(other, bytes.Replace(b, []byte(`"rounds": 1`), []byte(`"rounds": 2`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"plan", "--shards", "0", "--output", other}, "shards is 0, want 1 to"},
		{[]string{"plan", "--output", other}, "shards is 0"},
		{[]string{"plan", "--shards", "2"}, "no --output"},
		{[]string{"run", "--shard", "1"}, "without --campaign"},
		{[]string{"run", "--campaign", file}, "a campaign without a shard"},
		{[]string{"run", "--campaign", file, "--shard", "2"}, "--shard is 2, want 0 to 1"},
		{[]string{"run", "--campaign", file, "--shard", "-1"}, "--shard is -1"},
		{[]string{"run", "--campaign", file, "--shard", "1", "--rounds", "3", "--seed", "1"}, "--rounds, --seed beside --campaign"},
		{[]string{"run", "--campaign", other, "--shard", "1"}, `first is "2 arms", want 3`},
		{[]string{"run", "--campaign", filepath.Join(dir, "none"), "--shard", "1"}, "no such file"},
	} {
		var stderr bytes.Buffer
		err := run(t.Context(), nil, io.Discard, io.Discard, c.args)
		if code := cli.Status(&stderr, "fanoutbench", err); code != exitUsage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit status %d, %s; want %d and %q", c.args, code, &stderr, exitUsage, c.want)
		}
	}
}
