package batchrun

import (
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/schemagen"
)

// schemaFiles are the schemas, each with its title and the record it is made from.
var schemaFiles = []schemagen.File{
	{Name: "plan.schema.json", Title: "plan.json of a load test", Record: reflect.TypeFor[Plan]()},
	{Name: "request.schema.json", Title: "one line of raw.jsonl of a load test", Record: reflect.TypeFor[Request]()},
	{Name: "trial.schema.json", Title: "one line of trials.jsonl", Record: reflect.TypeFor[Trial]()},
	{Name: "result.schema.json", Title: "result.json of a load test", Record: reflect.TypeFor[Result]()},
	{Name: "sweep.schema.json", Title: "sweep.json", Record: reflect.TypeFor[Sweep]()},
	{Name: "report.schema.json", Title: "batchsend report --format json", Record: reflect.TypeFor[report]()},
}

type object = schemagen.Object

var (
	sha256Text   = object{{"pattern", "^[0-9a-f]{64}$"}}
	positive     = object{{"exclusiveMinimum", 0}}
	arms         = schemagen.OneOf(Reference, Candidate)
	cellDecision = schemagen.OneOf(results.DecisionImproved, results.DecisionRegressed, results.DecisionEquivalent, results.DecisionInconclusive, results.DecisionInsufficient, results.DecisionNotInferior)
)

// schemaRules are what a schema says of a key beyond its Go type and comment, see
// package schemagen.
var schemaRules = map[string]object{
	"schema": {{"const", Schema}}, "tool_version": schemagen.Lengths(1, 200), "spec": schemagen.Lengths(1, 4096),
	"*_sha256": sha256Text, "sha256": sha256Text, "binary_sha256": {}, "binary_sha256[]": sha256Text,
	"*_ms": schemagen.AtLeast(0), "ms": schemagen.AtLeast(0), "timeout_ms": {{"exclusiveMinimum", 0}, {"maximum", results.MaxTimeoutMS}}, "token_ms[]": schemagen.AtLeast(0), "chunk_ms[]": schemagen.AtLeast(0),
	"token_ms": {}, "chunk_ms": {}, "*_rps": schemagen.AtLeast(0),

	// What was asked for.
	"Plan.rounds": schemagen.Between(1, MaxRounds), "warmup": schemagen.Between(0, MaxWarmup), "cells": schemagen.Items(1, MaxCells),
	"first": schemagen.Items(1, MaxRounds), "first[]": arms, "api": schemagen.OneOf(apis...), "query_tokens": schemagen.Between(0, MaxTokens), "item_tokens": schemagen.Between(0, MaxTokens),
	"unique_requests": schemagen.Between(1, MaxUnique), "labels": {{"maxItems", MaxLabels}}, "labels[]": schemagen.AtLeast(0),
	"score_tolerance": schemagen.AtLeast(0), "max_failed_pct": schemagen.Between(0, 100),
	"margin_pct": schemagen.Between(results.MinMargin, results.MaxMargin), "Plan.primary": schemagen.Items(1, results.MaxPrimary),
	"shard": schemagen.Between(0, MaxShards-1), "shards": schemagen.Between(1, MaxShards),
	"Cell.kind": schemagen.OneOf(kinds...), "Cell.items": schemagen.Between(1, MaxItems), "rps": positive, "Cell.seconds": positive, "Cell.requests": schemagen.Between(1, MaxRequests),
	"ScheduleRef.requests": schemagen.Between(1, MaxRequests),

	// A sweep.
	"name": schemagen.Lengths(1, 200), "option": schemagen.Lengths(1, 200), "within_pct": schemagen.AtLeast(0), "runs": schemagen.Items(1, MaxSweepRuns), "value": schemagen.Between(0, maxSweepLimit), "ratio": schemagen.AtLeast(0), "arms[]": arms,
	"folder": {{"pattern", "^[^/]+$"}}, "SweepRun.status": schemagen.OneOf(results.StatusVerified, results.StatusInvalid), "points": schemagen.Items(1, MaxSweepRuns), "recommended": schemagen.Between(0, maxSweepLimit), "wins_from": schemagen.Between(0, maxStepBase),
	"batches": {}, "SweepPoint.batches": schemagen.AtLeast(1), "reference_batches": schemagen.AtLeast(1),

	// Shards.
	"parts": schemagen.Items(1, MaxShards), "Clock.start_monotonic": schemagen.AtLeast(0), "Clock.end_monotonic": schemagen.AtLeast(0), "overlap_pct": schemagen.Between(0, 100), "Result.shards": schemagen.Items(1, MaxShards),
	"Shard.status": schemagen.OneOf(results.StatusVerified, results.StatusInvalid),

	// Places.
	"round": schemagen.Between(0, MaxRounds-1), "cell": schemagen.Between(0, MaxCells-1), "arm": arms, "position": schemagen.Between(0, 1),
	"index": schemagen.AtLeast(0), "body": schemagen.Between(0, MaxUnique-1), "metric": schemagen.OneOf(Metrics...),
	"role": schemagen.OneOf(results.RoleSuperiority, results.RoleNonInferiority),

	// Requests and trials.
	"Request.status": schemagen.Between(1, 999), "prompt_tokens": schemagen.AtLeast(1), "score_difference": schemagen.AtLeast(0),
	"batch": schemagen.AtLeast(0), "Spread.items": schemagen.AtLeast(1), "evidence": schemagen.OneOf("", EvidenceAdmissions, EvidenceLog),
	"requests": schemagen.AtLeast(0), "failed": schemagen.AtLeast(0), "unsent": schemagen.AtLeast(0), "gc_pauses": schemagen.AtLeast(0), "max_in_flight": schemagen.AtLeast(0),
	"goroutines": schemagen.AtLeast(0), "connections": schemagen.AtLeast(0), "redialled": schemagen.AtLeast(0), "processors": schemagen.AtLeast(0), "in_flight[]": schemagen.AtLeast(0),

	// Arms and machine.
	"Arm.kind": schemagen.OneOf(armKinds...), "restart": schemagen.OneOf(RestartRound, RestartRun, RestartNever),
	"Source.path": {{"pattern", "^[^/]"}}, "modified": schemagen.OneOf("true", "false"), "Environment.modified": schemagen.OneOf("true", "false", ""), "turbo": schemagen.OneOf("on", "off", ""), "cpus": schemagen.AtLeast(0),
	"Result.arms": {{"propertyNames", arms}},

	// What the figures are and what follows from them.
	"low": schemagen.AtLeast(0), "high": schemagen.AtLeast(0), "Interval.low": {}, "Interval.high": {}, "level": schemagen.Between(0, 1),
	"Bin.value": schemagen.AtLeast(1), "Bin.count": schemagen.AtLeast(1), "trials": schemagen.AtLeast(0),
	"compared": schemagen.AtLeast(0), "different": schemagen.AtLeast(0), "intolerant": schemagen.AtLeast(0), "largest": schemagen.AtLeast(0),
	"SummaryRow.rounds": schemagen.Between(0, MaxRounds), "faster_rounds": schemagen.Between(0, MaxRounds), "reductions": schemagen.Items(1, MaxRounds),
	"rounds_needed": schemagen.AtLeast(1), "flips": schemagen.AtLeast(1), "p": schemagen.Between(0, 1), "position_p": schemagen.Between(0, 1), "spread_pct": schemagen.AtLeast(0), "smallest_effect_pct": schemagen.AtLeast(0),
	"status": schemagen.OneOf(results.StatusVerified, results.StatusIncomplete, results.StatusInvalid), "decision": schemagen.OneOf(results.Decisions...), "PrimaryAnalysis.decision": cellDecision,
}

// The schemas are what the types, their comments and the rules give, and no rule is
// left that nothing asks for. With -rewrite they are written anew.
func TestSchemasAreFresh(t *testing.T) {
	comments, err := schemagen.CommentsOf(".", "..")
	if err != nil {
		t.Fatal(err)
	}
	g := &schemagen.Generator{
		Base:     "https://github.com/fanoutbench/fanoutbench/results/batchrun/schema/",
		Comments: comments, Rules: schemaRules, Used: map[string]bool{},
	}
	stale, err := g.Stale("schema", schemaFiles, *rewrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range stale {
		t.Error(finding)
	}
}
