package results

import (
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results/schemagen"
)

// schemaRules are what a schema says of a key beyond its Go type and comment.
// They stand under RECORD.KEY, or KEY where every record means the same by it,
// or *_END for all keys with this end; [] and {} behind are the elements of a
// list and of a map; a RECORD alone is the whole of it.
var schemaRules = map[string]object{
	"schema":       {{"const", Schema}},
	"tool_version": lengths(1, 200),
	"*_sha256":     sha256Text, "sha256": sha256Text, "fingerprint": sha256Text, "binary_sha256": {}, "binary_sha256[]": sha256Text,
	"*_ms": atLeast(0),

	// What was asked for.
	"spec":      lengths(1, 4096),
	"transport": oneOf(transports...), "consumer": oneOf(consumers...), "process": oneOf(processes...),
	"consumers": oneOf(protocol.ConsumersProcess), "loop": oneOf(protocol.LoopRouter),
	"pace":        {{"pattern", "^(arrived|none|rate:[0-9][0-9.e+-]*)$"}},
	"Plan.stream": {{"maxLength", 4096}, {"pattern", "^(seed|mixed|recorded:.+)$"}}, "report.stream": lengths(1, 4096),
	"http_workers": between(1, MaxHTTPWorkers), "timeout_ms": between(1, MaxTimeoutMS), "start_timeout_ms": between(1, MaxTimeoutMS),
	"rows_per_run": atLeast(1), "fence_rows_per_run": atLeast(1), "full_rows": atLeast(1),
	"counts": set, "counts[]": between(1, MaxCount), "Plan.metadata": set, "Plan.metadata[]": oneOf(metadataKinds...),
	"first": byRound, "first[]": oneOf(Reference, Candidate), "control_at": byRound, "control_at[]": between(0, 2),
	"ArmPlan.layout": byRound, "ArmPlan.layout[]": between(0, MaxLayouts-1), "ArmPlan.layouts": between(1, MaxLayouts),
	"Budget.seconds": positive, "round_seconds": positive, "Budget.spread_pct": positive,
	"kind": oneOf(KindAnytime), "margin_pct": between(MinMargin, MaxMargin), "Plan.primary": items(1, MaxPrimary),
	"shard": between(0, MaxShards-1), "shards": between(1, MaxShards), "seeds": items(1, MaxShards),

	// Cells and rounds.
	"count": between(1, MaxCount), "metadata": oneOf(metadataKinds...), "metric": oneOf(Metrics...),
	"role":   oneOf(RoleSuperiority, RoleNonInferiority),
	"rounds": between(1, MaxRounds), "repetitions": between(1, MaxRepetitions), "Merged.rounds": atLeast(2),
	"SummaryRow.rounds": between(0, MaxRounds), "faster_rounds": between(0, MaxRounds), "rounds_needed": atLeast(1),
	"round": between(-1, MaxRounds-1), "Trial.repetition": between(0, MaxRepetitions-1), "Failure.repetition": between(-1, MaxRepetitions-1),
	"arm": oneOf(Reference, Candidate, Control), "position": between(0, 2), "Trial.layout": between(0, MaxLayouts-1), "Failure.consumer": atLeast(-1),

	// Trials and their rows.
	"Trial.counters": {{"maxProperties", maxCounters}, {"propertyNames", lengths(1, 100)}},
	"Trial.rows":     between(1, maxRows), "Trial.fence_rows": between(1, maxRows),
	"verified_rows": atLeast(0), "fence_rows": atLeast(0), "warmup_rows": atLeast(0),
	"Disturbance":             {{"minProperties", 1}, {"dependentRequired", object{{"lowest_khz", list("highest_khz")}, {"highest_khz", list("lowest_khz")}}}},
	"Disturbance.steal_ticks": ticks, "pressure_us": ticks, "involuntary": ticks, "voluntary": ticks, "lowest_khz": ticks, "highest_khz": ticks,

	// Arms and machines.
	"Arm.sources": {{"uniqueItems", true}}, "Source.path": {{"pattern", "^[^/]"}}, "Layout.seed": atLeast(1),
	"modified": oneOf("true", "false"), "Environment.modified": oneOf("true", "false", ""), "turbo": oneOf("on", "off", ""), "cpus": atLeast(0),
	"Result.arms":    {{"propertyNames", oneOf(Reference, Candidate, Control)}},
	"reportArm.name": oneOf(Reference, Candidate), "report.arms": items(2, 2), "reportArm.layouts": between(1, MaxLayouts),

	// What the figures are and what follows from them.
	"SummaryRow.counters": {{"required", list(Reference)}, {"minProperties", 2}, {"propertyNames", oneOf(Reference, Candidate, Control)}, {"maxProperties", 2}},
	"reductions":          items(1, MaxRounds),
	"status":              oneOf(StatusVerified, StatusIncomplete, StatusInvalid),
	"decision":            oneOf(Decisions...), "PrimaryAnalysis.decision": cellDecision, "RunSaid.decision": cellDecision, "FoundDelay.decision": oneOf(DecisionNone, DecisionImproved, DecisionRegressed, DecisionEquivalent, DecisionInconclusive, DecisionInsufficient, DecisionNotInferior),
	"reason": lengths(1, 0), "Failure.message": lengths(1, 0),
	"level": {{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}}, "Interval.level": between(0, 1), "flips": atLeast(1),
	"p": between(0, 1), "position_p": between(0, 1), "e_value": atLeast(0), "spread_pct": atLeast(0), "smallest_effect_pct": atLeast(0), "range_pct": atLeast(0),
	"Result": {
		{"if", object{{"properties", object{{"verdict", object{{"properties", object{{"status", object{{"const", StatusVerified}}}}}}}}}}},
		{"then", object{{"properties", object{{"summary", items(len(Metrics), 0)}, {"arms", object{{"required", list(Reference, Candidate)}}}}}}},
		{"else", object{{"properties", object{{"summary", object{{"maxItems", 0}}}, {"verdict", object{{"required", list("failure")}}}}}}},
	},
	"report": {
		{"if", object{{"properties", object{{"rows_verified", object{{"const", true}}}}}}},
		{"then", object{{"properties", object{{"summary", items(len(Metrics), 0)}, {"status", object{{"const", StatusVerified}}}}}}},
		{"else", object{
			{"properties", object{{"summary", object{{"maxItems", 0}}}, {"status", oneOf(StatusIncomplete, StatusInvalid)}}},
			{"not", object{{"anyOf", list(required("analysis"), required("control"), required("conclusion"))}}},
		}},
	},

	// Calibrations, merged runs and reproductions.
	"CalibrationRun.kind": oneOf(RunSame, RunLayouts, RunDelay), "Calibration.runs": items(1, 0), "Calibration.cells": items(1, 0),
	"look_rounds": atLeast(1), "looks": atLeast(1), "false_alarms": atLeast(0), "delay_us": atLeast(1),
	"CalibrationCell.p": {}, "CalibrationCell.p[]": between(0, 1), "p_excess": between(0, 1),
	"Merged.runs": items(2, 0), "MergedRun.name": lengths(1, 0),
	"outcome": oneOf(Reproduced, NotReproduced, TooImprecise),
}

var (
	sha256Text   = object{{"pattern", "^[0-9a-f]{64}$"}}
	set          = object{{"minItems", 1}, {"uniqueItems", true}}
	byRound      = items(2, MaxRounds+1)
	positive     = object{{"exclusiveMinimum", 0}}
	ticks        = between(0, maxDisturbance)
	cellDecision = oneOf(DecisionImproved, DecisionRegressed, DecisionEquivalent, DecisionInconclusive, DecisionInsufficient, DecisionNotInferior)
)

// The rules of package schemagen, by short names.

type object = schemagen.Object

func list[T any](values ...T) []any       { return schemagen.List(values...) }
func oneOf(values ...string) object       { return schemagen.OneOf(values...) }
func required(key string) object          { return schemagen.Required(key) }
func atLeast(least int) object            { return schemagen.AtLeast(least) }
func between[T any](least, most T) object { return schemagen.Between(least, most) }
func lengths(least, most int) object      { return schemagen.Lengths(least, most) }
func items(least, most int) object        { return schemagen.Items(least, most) }
