package main

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// runFlags are the settings of a run as the command line gives them.
type runFlags struct {
	reference, candidate               string
	sets, referenceSets, candidateSets []string
	repo                               string
	readyTimeout, timeout, duration    time.Duration
	maxLateness                        time.Duration
	restart                            string
	serverLogs, keys                   []string
	model                              string
	api, dataset, distribution         string
	itemCount                          int
	queryTokens, itemTokens, unique    int
	outputTokens, sequential           int
	labels                             []int64
	sharedPrefix, cold, stream         bool
	rps, tolerance, maxFailed          float64
	rounds, warmup                     int
	seed                               uint64
	margin                             float64
	primary                            []string
	output, sweep, schedule, tokenizer string
	shard, startAt                     string
	shardAt, shards                    int       // as --shard says; no shards: the whole load
	start                              time.Time // as --start-at says
	within                             float64
	flags                              *pflag.FlagSet
	given                              func(flag string) bool // on the command line
}

const (
	defaultReference = "builtin:individual"
	defaultCandidate = "builtin:batch"
)

func (f *runFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.reference, "reference", defaultReference, "the server that is compared with: builtin:individual|batch|plain[@FLAG=VALUE,...], dir:PATH, git:REV, launch:COMMAND with {port}, url:http://HOST:PORT")
	fl.StringVar(&f.candidate, "candidate", defaultCandidate, "the server that is compared, likewise")
	fl.StringArrayVar(&f.sets, "set", nil, "FLAG=VALUE of fanoutserve for both arms")
	fl.StringArrayVar(&f.referenceSets, "reference-set", nil, "FLAG=VALUE for the reference")
	fl.StringArrayVar(&f.candidateSets, "candidate-set", nil, "FLAG=VALUE for the candidate")
	fl.StringVar(&f.repo, "repo", ".", "a folder in the repository of git: arms")
	fl.DurationVar(&f.readyTimeout, "ready-timeout", 0, "of a server's start (default: 1m, and 10s of a url: arm, which is only waited for)")
	fl.StringVar(&f.restart, "restart", batchrun.RestartRound, "round: fresh servers each round; run: one pair for the whole run; servers of url: arms are never started")
	fl.StringArrayVar(&f.serverLogs, "server-log", nil, "[reference=|candidate=]FILE: where the server of a url: arm writes its log, for its lines about prefill batches, unless it has this module's records")
	fl.StringArrayVar(&f.keys, "api-key-env", nil, "[reference=|candidate=]NAME: environment variable with the API key of a launch: or url: arm, of both without a name; keys are in no record")
	fl.StringVar(&f.model, "model", "", "model that requests name (default: default)")
	fl.Float64Var(&f.rps, "rps", 0, "requests a second of the open loop (default: half of what both arms are found to hold)")
	fl.DurationVar(&f.duration, "duration", 3*time.Second, "of the open loop, each round and arm")
	fl.StringVar(&f.distribution, "distribution", load.Poisson, "of the open loop's gaps: poisson or constant")
	fl.StringVar(&f.schedule, "schedule", "", "saved schedule to replay in every round, or a folder (of a run, or its schedules) with one for each round, in place of drawn ones; rate, duration and distribution are the schedule's")
	fl.IntVar(&f.itemCount, "item-count", 0, "items of a request, single and in the open loop (default: single requests of 50 and of 100, an open loop of 50)")
	fl.IntVar(&f.sequential, "single-requests", 10, "single requests, one after the other, each size, round and arm; 0: none")
	fl.IntVar(&f.queryTokens, "query-tokens", scoring.PublishedQueryTokens, "tokens of the query")
	fl.IntVar(&f.itemTokens, "item-tokens", scoring.PublishedItemTokens, "tokens of each item")
	fl.IntVar(&f.unique, "unique-requests", 1, "different requests, used in turn")
	fl.BoolVar(&f.sharedPrefix, "shared-prefix", false, "different requests have one query")
	fl.BoolVar(&f.cold, "cold", false, "no item finds anything in the cache: emptied before each trial, and salted for each request")
	fl.StringVar(&f.api, "api", scoring.Score, "score, completions or chat")
	fl.Int64SliceVar(&f.labels, "label-token-ids", nil, "tokens whose scores are asked for (default: 9454,2753 where the vocabulary has them)")
	fl.IntVar(&f.outputTokens, "output-tokens", 16, "tokens of each answer; of completions and chat")
	fl.BoolVar(&f.stream, "stream", true, "stream the answers; of completions and chat")
	fl.StringVar(&f.dataset, "dataset", "", "file of real requests, a line of JSON each, in place of made-up ones")
	fl.StringVar(&f.tokenizer, "tokenizer", "", "tokenizer.json of the served model, to count tokens by where a server is not of this module and may not have /tokenize")
	fl.IntVar(&f.rounds, "rounds", 6, "rounds, 1 to 1000; below 6 no interval exists")
	fl.IntVar(&f.warmup, "warmup", 3, "requests of each size to every fresh server, in no record")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "of one request, from its sending")
	fl.Float64Var(&f.tolerance, "score-tolerance", 0, "how far scores of the arms may lie apart (default: 1e-5 for builtin arms, else three times the reference's own spread)")
	fl.Float64Var(&f.maxFailed, "max-failed", 0, "per cent of a trial's requests that may fail")
	fl.DurationVar(&f.maxLateness, "max-lateness", 0, "how late a request may be sent; a run is invalid when more than one in a hundred of an arm's requests at a rate are later, or more than one in ten of a trial's (default: 1ms, and at most a twentieth of the median time to the first byte)")
	fl.Uint64Var(&f.seed, "seed", 0, "of the coins and schedules (default: random, recorded)")
	fl.Float64Var(&f.margin, "margin", 5, "slow-down, in per cent, that still counts as equal")
	fl.StringSliceVar(&f.primary, "primary", nil, "metrics, of every cell, that the verdict is about; empty decides nothing (default: avg_ms and p90_ms of the open loop, superiority, and leading_ms, non-inferiority, where both arms are builtin:, dir: or git:)")
	fl.StringVar(&f.output, "output", "", "run folder to make (default: runs/ and the UTC time)")
	fl.StringVar(&f.shard, "shard", "", "I/N: send part I, from 0, of an open loop that is split over N machines; see merge")
	fl.StringVar(&f.startAt, "start-at", "", "of a shard: when the first trial is to start (RFC 3339, as 2026-01-31T12:00:00Z), the same for all; the others follow at equal distances")
	fl.StringVar(&f.sweep, "sweep", "", "max-tokens=0,2048,... or max-reqs=...: run once for each limit of the candidate's messages, 0: no limit; step-base=0.02,0.005,...: once for each fixed part of a simulated step, both arms, seconds, the largest first as the first one's rate is that of all")
	fl.Float64Var(&f.within, "sweep-within", 10, "per cent that the leading request may be slower than the reference's for a limit to be recommended; of sweeps of limits")
}

// check finds what no part of the program behind it would name by its flag.
func (f *runFlags) check() error {
	switch {
	case f.given("rps") && !(f.rps > 0 && f.rps <= batchrun.MaxRPS):
		return cli.Usagef("--rps is %v, want a number above 0 and at most %d", f.rps, batchrun.MaxRPS)
	case f.duration <= 0 || f.duration > batchrun.MaxSeconds*time.Second:
		return cli.Usagef("--duration is %v, want more than 0 and at most 24h", f.duration)
	case f.distribution != load.Poisson && f.distribution != load.Constant:
		return cli.Usagef("--distribution is %q, want %s or %s", f.distribution, load.Poisson, load.Constant)
	case f.given("item-count") && (f.itemCount < 1 || f.itemCount > batchrun.MaxItems):
		return cli.Usagef("--item-count is %d, want 1 to %d", f.itemCount, batchrun.MaxItems)
	case f.sequential < 0:
		return cli.Usagef("--single-requests is %d, want 0 or more", f.sequential)
	case f.rounds < 1 || f.rounds > batchrun.MaxRounds:
		return cli.Usagef("--rounds is %d, want 1 to %d", f.rounds, batchrun.MaxRounds)
	case f.warmup < 0 || f.warmup > batchrun.MaxWarmup:
		return cli.Usagef("--warmup is %d, want 0 to %d", f.warmup, batchrun.MaxWarmup)
	case f.timeout <= 0:
		return cli.Usagef("--timeout is %v, want more than 0", f.timeout)
	case f.maxLateness < 0:
		return cli.Usagef("--max-lateness is %v, want 0 or more", f.maxLateness)
	case f.given("ready-timeout") && f.readyTimeout <= 0:
		return cli.Usagef("--ready-timeout is %v, want more than 0", f.readyTimeout)
	case f.restart != batchrun.RestartRound && f.restart != batchrun.RestartRun:
		return cli.Usagef("--restart is %q, want %s or %s", f.restart, batchrun.RestartRound, batchrun.RestartRun)
	case !slices.Contains([]string{scoring.Score, scoring.Completions, scoring.Chat}, f.api):
		return cli.Usagef("--api is %q, want %s, %s or %s", f.api, scoring.Score, scoring.Completions, scoring.Chat)
	case f.given("score-tolerance") && (!(f.tolerance >= 0) || math.IsInf(f.tolerance, 0)):
		return cli.Usagef("--score-tolerance is %v, want a finite number, 0 or more", f.tolerance)
	case !(f.maxFailed >= 0 && f.maxFailed <= 100):
		return cli.Usagef("--max-failed is %v, want 0 to 100 per cent", f.maxFailed)
	case !(f.margin >= results.MinMargin && f.margin <= results.MaxMargin):
		return cli.Usagef("--margin is %v, want %v to %v per cent", f.margin, results.MinMargin, results.MaxMargin)
	case !(f.within >= 0) || math.IsInf(f.within, 0):
		return cli.Usagef("--sweep-within is %v, want a finite number, 0 or more", f.within)
	}
	if err := f.checkSweep(); err != nil {
		return err
	}
	if err := f.checkShard(); err != nil {
		return err
	}
	for _, m := range f.primary {
		if !slices.Contains(batchrun.Metrics, m) {
			return cli.Usagef("--primary is %q, want some of %q", f.primary, batchrun.Metrics)
		}
	}
	return f.checkRequests()
}

// checkRequests looks at the flags that shape a request.
func (f *runFlags) checkRequests() error {
	for _, n := range []struct {
		flag        string
		value       int
		least, most int
	}{
		{"query-tokens", f.queryTokens, 0, batchrun.MaxTokens},
		{"item-tokens", f.itemTokens, 1, batchrun.MaxTokens},
		{"unique-requests", f.unique, 1, batchrun.MaxUnique},
		{"output-tokens", f.outputTokens, 1, batchrun.MaxTokens},
	} {
		if n.value < n.least || n.value > n.most {
			return cli.Usagef("--%s is %d, want %d to %d", n.flag, n.value, n.least, n.most)
		}
	}
	if f.api == scoring.Chat && f.itemCount > 1 {
		return cli.Usagef("--item-count is %d, want 1: a chat request has one prompt", f.itemCount)
	}
	if f.api == scoring.Score {
		for _, flag := range []string{"output-tokens", "stream"} {
			if f.given(flag) {
				return cli.Usagef("--%s means nothing to --api %s, whose answers are no text", flag, f.api)
			}
		}
	}
	if f.dataset == "" {
		return nil
	}
	for _, flag := range []string{"query-tokens", "item-tokens", "unique-requests", "shared-prefix", "item-count"} {
		if f.given(flag) {
			return cli.Usagef("--%s means nothing with --dataset, whose requests are as they are", flag)
		}
	}
	return nil
}

// load is what the flags ask both arms.
func (f *runFlags) load() batchdriver.Load {
	l := batchdriver.Load{
		API: f.api, Singles: []int{scoring.PublishedItems, 2 * scoring.PublishedItems}, Sequential: f.sequential, Items: scoring.PublishedItems,
		QueryTokens: f.queryTokens, ItemTokens: f.itemTokens, Unique: f.unique, SharedPrefix: f.sharedPrefix, Cold: f.cold,
		OutputTokens: f.outputTokens, Model: f.model, Labels: f.labels, RPS: f.rps, Duration: f.duration, Distribution: f.distribution,
	}
	l.Stream = f.stream && f.api != scoring.Score
	if f.api == scoring.Chat {
		l.Singles, l.Items = []int{1}, 1
	}
	if f.itemCount > 0 {
		l.Singles, l.Items = []int{f.itemCount}, f.itemCount
	}
	if f.sequential == 0 || f.shards > 0 { // a shard has a part of the open loop alone
		l.Singles = nil
	}
	return l
}

func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:])                               // never fails, by its documentation
	return binary.LittleEndian.Uint64(b[:]) >> 11 // 53 bits: exact in every JSON reader
}
