package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// A campaign is one plan for several runs: `plan --shards N` writes its file, and
// `run --campaign FILE --shard I` does one of the runs, with the plan from the file.

// indexVariables tell a process of an array which one it is: Slurm's job arrays
// and the indexed jobs of Kubernetes.
var indexVariables = []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}

// besideCampaign are the flags of run that a campaign's plan does not settle.
var besideCampaign = []string{"campaign", "shard", "output", "repo", "dry-run", "profile"}

// campaignFlags are those of run for a shard, and of plan for its shards.
type campaignFlags struct {
	file   string
	shard  int
	shards int // of plan only
}

// flags adds the flags that the command has.
func (k *campaignFlags) flags(c *cobra.Command, name string) {
	if name == planCommand {
		c.Flags().IntVar(&k.shards, "shards", 0, fmt.Sprintf("runs of the campaign, 1 to %d", results.MaxShards))
		return
	}
	c.Flags().StringVar(&k.file, "campaign", "", "file of a campaign, whose plan this run follows (see fanoutbench plan)")
	c.Flags().IntVar(&k.shard, "shard", 0, "which run of the campaign this is, from 0 (default: "+strings.Join(indexVariables, " or ")+")")
}

const planCommand = "plan"

func newPlan() *cobra.Command {
	c := newRun(planCommand)
	c.Use = planCommand + " --shards N --output FILE"
	c.Short = "write a campaign: one plan for several runs, each with coins of its own"
	for name, usage := range map[string]string{"output": "file to make", "seed": "that the seeds of all runs follow from (default: random, recorded)"} {
		c.Flags().Lookup(name).Usage = usage
	}
	for _, name := range []string{"dry-run", "profile"} {
		if err := c.Flags().MarkHidden(name); err != nil {
			panic(err) // the flag is run's
		}
	}
	return c
}

// take makes the run of a campaign out of the flags, or gets ready to write one.
func (f *runFlags) take(c *cobra.Command) error {
	k := &f.campaign
	switch {
	case c.Name() == planCommand:
		if k.shards < 1 || k.shards > results.MaxShards {
			return cli.Usagef("shards is %d, want 1 to %d", k.shards, results.MaxShards)
		}
		if c.Flags().Changed("budget") {
			return cli.Usagef("--budget beside --shards, want --rounds: the time that one host has says nothing of the others")
		}
		if f.output == "" {
			return cli.Usagef("no --output, want the campaign's file to make")
		}
		f.campaignSeed = f.seed
		f.seed = results.ShardSeeds(f.seed, k.shards)[0]
		return nil
	case k.file == "" && c.Flags().Changed("shard"):
		return cli.Usagef("shard %d without --campaign, want the campaign's file too", k.shard)
	case k.file == "":
		return nil
	}
	var surplus []string
	c.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(besideCampaign, flag.Name) {
			surplus = append(surplus, "--"+flag.Name)
		}
	})
	if len(surplus) > 0 {
		return cli.Usagef("%s beside --campaign, want none of them: the campaign has the plan", strings.Join(surplus, ", "))
	}
	return f.takeShard(c.Flags().Changed("shard"))
}

func (f *runFlags) takeShard(given bool) error {
	campaign, hash, err := results.ReadCampaign(f.campaign.file)
	if err != nil {
		return cli.Usage(err)
	}
	if campaign.ToolVersion != cli.Version() {
		return cli.Usagef("campaign %s is of fanoutbench %s, this program is %s: want the same for every shard", f.campaign.file, campaign.ToolVersion, cli.Version())
	}
	shard, from := f.campaign.shard, "--shard"
	if !given {
		if shard, from, err = shardOfEnvironment(os.LookupEnv); err != nil {
			return err
		}
	}
	if shard < 0 || shard >= len(campaign.Seeds) {
		return cli.Usagef("%s is %d, want 0 to %d, a shard of campaign %s", from, shard, len(campaign.Seeds)-1, f.campaign.file)
	}
	p := campaign.Plan
	p.Seed, p.CampaignSHA256, p.Shard, p.Shards = campaign.Seeds[shard], hash, &shard, len(campaign.Seeds)
	f.output = cmp.Or(f.output, filepath.Join("runs", fmt.Sprintf("%.12s-shard-%d", hash, shard)))
	f.follow(p)
	return nil
}

// shardOfEnvironment is the index that a job array gives its processes. Two that
// differ are a mistake, since nothing says which one counts.
func shardOfEnvironment(lookup func(string) (string, bool)) (shard int, from string, err error) {
	for _, name := range indexVariables {
		text, ok := lookup(name)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, "", cli.Usagef("%s is %q, want a number, or --shard", name, text)
		}
		if from != "" && n != shard {
			return 0, "", cli.Usagef("%s is %d and %s is %d, want --shard to say which counts", from, shard, name, n)
		}
		shard, from = n, name
	}
	if from == "" {
		return 0, "", cli.Usagef("a campaign without a shard, want --shard, or %s in the environment", strings.Join(indexVariables, " or "))
	}
	return shard, from, nil
}

// follow makes the flags those of a plan that there is already. What is drawn
// from its seed is drawn anew by settled.
func (f *runFlags) follow(p results.Plan) {
	f.planned = &p
	f.seed, f.stream, f.transport = p.Seed, p.Stream, p.Transport
	f.reference, f.candidate = p.Reference.Spec, p.Candidate.Spec
	f.sets, f.detokenizers = nil, 1 // they stand among each arm's options
	f.referenceSets, f.candidateSets = pairs(p.Reference.Options), pairs(p.Candidate.Options)
	f.loop = cmp.Or(p.Loop, protocol.LoopFanout)
	f.layouts = max(p.Reference.Layouts, p.Candidate.Layouts)
	f.lone = false
}

func pairs(options map[string]string) []string {
	var all []string
	for name, value := range options {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// writeCampaign writes the campaign whose shard 0 has the plan. Revisions are
// written as commits, so that every shard runs the same.
func (f *runFlags) writeCampaign(stdout io.Writer, arms map[string]arm.Arm, p results.Plan) error {
	for name, a := range map[string]*results.ArmPlan{results.Reference: &p.Reference, results.Candidate: &p.Candidate} {
		a.Spec = pinned(arms[name])
	}
	if p.Control != nil {
		control := *p.Control
		control.Spec = p.Reference.Spec
		p.Control = &control
	}
	hash, err := results.WriteCampaign(f.output, results.Campaign{
		Schema: results.Schema, ToolVersion: p.ToolVersion, Seed: f.campaignSeed, Seeds: results.ShardSeeds(f.campaignSeed, f.campaign.shards), Plan: p,
	})
	if err != nil {
		return cli.Usage(err)
	}
	_, err = fmt.Fprintf(stdout, "campaign %s: %d shards of %d rounds, sha256 %s\nrun each with: fanoutbench run --campaign %s --shard I\n",
		f.output, f.campaign.shards, p.Rounds, hash, f.output)
	return err
}

// pinned is the arm's spec with its commit in place of a revision that may move.
func pinned(a arm.Arm) string {
	if a.Kind == arm.KindGit {
		return arm.KindGit + ":" + a.Tree.Commit
	}
	return a.Spec
}
