// Package results writes, reads, checks and reports run folders: what a paired
// measurement decided beforehand, what every trial gave, and the figures that
// follow. It imports stats, protocol, and of this module otherwise only what lies below
// it. Package batchrun, below it too, has the run folders of batchsend.
//
// # A run folder
//
//	plan.json     Plan: everything decided before the first trial; indented
//	raw.jsonl     Trial: one line each, written as the trial ends
//	result.json   Result: arms, counts of rows, figures, machine, verdict; indented
//	summary.csv   the scalar fields of the summary rows, in their order
//	logs/         what the arms' processes wrote to standard error, a file an arm,
//	              each line written when it has ended
//	profiles/     if asked for: CPU profiles of the workers, made after the last round
//
// Create makes the folder, Append adds a trial, Finish reads plan and trials
// back and writes the result. A folder without result.json is a run whose driver
// died; ReadPlan and ReadTrials read what there is.
//
// # Schemas
//
// The JSON Schemas (2020-12) in schema/ are made from the records: keys, types,
// what may be null and what is required from the Go types, descriptions from the
// comments of types and fields, lists of words and limits from the variables and
// constants that the checks use (schemarules_test.go). A field that is added or
// whose comment changes makes a test fail until they are written anew:
//
//	go test ./results -run Schema -rewrite
//
// Times are milliseconds, reductions per cent, levels 0 to 1. Floats are the
// shortest decimals that read back to the same value, in CSV too. Hashes are
// SHA-256 of files' bytes in lower-case hexadecimal digits. A time of day is UTC
// with nanoseconds (RFC 3339). null is a value that does not exist: a metric that
// a trial does not have, a reduction whose reference is 0.
//
// # One form
//
// Each file can be written in one way only: keys in the order of the records,
// none left out or unknown, lists and objects never null, floats shortest. A
// reader decodes, encodes again and compares bytes. So a key that is doubled or
// spelled in another case (which encoding/json would take), a blank, or something
// behind the record is refused with the byte where it begins, and no two readers
// can understand a file differently.
//
// # Order of trials
//
// Plan.Trials is the order; driver and readers share it. Rounds from -1, which
// warms up and is in raw.jsonl but in no figure; in a round the counts as listed,
// for each the metadata as listed, for each the repetitions, in each the arms as
// Plan.Order has them for the round: of reference and candidate the one that
// Plan.First names first, a control where control_at says. Every trial must be the one
// that the plan expects next, have the rows of its cell, the fence rows and the
// counters of its arm, times that are finite, not negative, and no longer than
// the whole they are part of (complete_ms within outer_ms, the others within
// complete_ms).
//
// # Pools of executables
//
// A plan may give an arm a pool: the same worker linked several times with its
// functions in another order, so that what is measured is not one accident of
// code placement. layouts of the arm in the plan is their number, layout the one
// drawn for each round from round -1; the arm in the result has seed and hash of
// each, and every trial of the arm the index of the one that ran. Without a pool
// none of these keys is there.
//
// # Rows
//
// rows_per_run and verified_rows are stream rows of all trials, round -1
// included; fence_rows those of the fences after them. warmup_rows are stream
// rows of the warm-up streams that every fresh process runs once a cell; their
// fences are not counted. full_rows are those of the full stream, which each arm
// passes once before round -1, not timed and in none of the others; a plan made
// before there was one has none. A plan fixes all four (Plan.WarmupRows), and a
// run is verified only with exactly these.
//
// # Controllers
//
// An arm says of itself what ran: sources, packages, the hashes of executables.
// Sources are those of its tree alone. The controller of an SGLang tree is a script
// of this program's, so it stands apart, as controller_sha256, where sources can be
// compared with the tree file by file; verify says whether it is the script of the
// program that verifies. again says that all rounds came from one parent process,
// descriptive why figures of the arm decide nothing.
//
// # Figures
//
// The round is the unit. A round has a mean for an arm if all its repetitions
// have the metric; reference_ms and candidate_ms are the medians of those means
// over rounds. A round in which both arms have one has a paired reduction,
// 100 (1 - candidate/reference); rounds counts them, the median and the two
// intervals are over them, and reductions has a null for the other rounds.
// Counters are means over the trials of rounds 0 and later. Package stats has
// the formulas; products that are then added do not occur here.
//
// # Decisions
//
// A plan may have a family of primary cells, a margin, and a control: the reference
// once more, as a third arm of every round. Analyze says what the trials mean for
// the family, by the rules of package verdict, and stands in result.json as
// analysis; control has the summary of control against reference. The decision of
// the verdict is that of the analysis, unless both arms executed the same files with
// the same options and dependencies: then it is identical, whatever the figures say
// (Arm.SameAs). A plan without a family, as all were once, decides nothing: none.
// Nor does a run with an arm whose figures are descriptive. A verified run's control
// has said of itself what the reference has, word for word.
//
// A plan of kind anytime is looked at after every round, and its run is complete
// when it ended at the first look at which every primary cell was settled, or at
// the last round. rounds in the result is then the number that was run, and every
// count of rows is in proportion (Plan.UpTo).
//
// # Campaigns and merging
//
// A campaign's file has one plan and a seed for each of its shards, all derived from
// one; a shard's plan.json has the file's hash, its own index and their number.
// Merge joins runs of one plan: all shards of a campaign, or runs that agree in
// everything but what their seeds draw (coins, places of the control, layouts) and in
// options, packages and sources of their arms. Two with one shard, seed, plan or
// raw.jsonl are refused, and so is a campaign of which a shard is missing. Package
// verdict says how rounds of several hosts are judged. merged.json has the hashes of
// the runs' files, whose folders are named relative to the one that they share, and
// Verify of its folder wants all of them.
//
// # Reproduction
//
// A run is reproduced by another of the same arms under the same plan with a seed
// of its own. Compare says so cell by cell. What the old run claims of a primary
// cell is a set of slow-downs, by its decision:
//
//	improved      below 0
//	regressed     above 0
//	equivalent    within the margin
//	not-inferior  up to the margin
//	any other     none
//
// The new run answers with its decision and its simultaneous bounds. The cell is
//
//	reproduced      its decision is the same, or its bounds lie wholly inside the claim
//	not reproduced  it is decided the other way (improved, regressed), or its bounds
//	                lie wholly outside the claim
//	too imprecise   none of these: the bounds reach inside and outside; or the old run
//	                claims nothing, or a control failed
//
// in this order but for a failed control, which comes first. Sizes are not judged,
// since another host may have others: whether the new bounds hold the old estimate
// stands beside.
//
// # Gate
//
// Gate asks of a verified run whose figures hold whether the candidate may be slower
// by more than the margin (package verdict has the rule), and GateCounters whether a
// counter rises beyond an allowance: but for allocations counts have no noise, so
// that one trial a cell is enough. Rounds of earlier attempts may stand beside those of an anytime plan
// only, of the same plan but for its coins and of the same files. Identical arms
// pass; arms whose figures are descriptive cannot.
//
// # Calibrations
//
// A Calibration says what a machine shows where nothing differs, and whether a
// delay of the candidate was found. Calibrate makes it of run folders, and it is
// kept in the user's folder for caches by the machine's fingerprint: a hash of what
// outlives a reboot (Host). One of another host, one that expired and one that
// failed are refused by name. A look is a stretch of LookRounds rounds in which the
// family is tested as a run of its own; its alarms are false. Smallest effects are
// those of package stats without a model of the noise. The p-values of a cell's
// looks are uniform, or larger, where coins and times are independent; there are
// few of them, so p_excess only shows what is far off, and decides nothing.
//
// # Disturbance
//
// A trial's disturbance is what went on beside it: steal, CPU pressure, context
// switches of the arm's processes, CPU frequencies, read before its line is sent
// and after its result has come, never while it runs. It is absent in runs that are
// older than it, and its parts where the system does not tell them. No figure
// depends on it. Explain shows it round by round, with the figures that the rounds
// without much of it would give; these are descriptive, since the rounds were
// chosen after the fact, and stand in no file.
//
// # Verify and Report
//
// Verify computes everything anew and fails closed: a file that cannot be read,
// and whatever could not be checked because of that, is a failed check, and so is
// a status other than verified. It cannot find a run that was made up as a whole:
// hashes and figures are then consistent. Report shows figures only after it has
// recomputed them, and of a run that was not verified no time at all but its
// failure in full. A run with an analysis is reported with its verdict first, in
// one plain sentence (Result.Conclusion); columns and keys about it stand behind
// the others, so that a reader of older reports finds all in its place. Package
// htmlreport, below this one, makes pages of the same figures.
//
// History puts one metric of one cell of several runs in order of time. A run whose
// plan or machine differs from the first in what changes the figure stays in the
// list, marked with what differs.
//
// # Paths
//
// No folder of the machine stands in plan.json, raw.jsonl, result.json or
// summary.csv: specs, options, the command and messages are rewritten, see
// Portable. Sources are named relative to their tree.
//
// # Errors
//
// An error names the file, for raw.jsonl the line, the field, its value and what
// was wanted. A write that fails or is short cuts raw.jsonl back to its last
// whole line and ends the run; result.json and summary.csv are written beside
// their names, synced and renamed, so that each is whole or absent. Files, lines
// and plans have limits (MaxTrials, MaxRaw and so on), checked before they cost
// memory. On systems other than Linux the facts of the machine that only Linux
// tells are empty strings. started_at and ended_at may run backwards, when the
// clock of the machine was set back: no duration is made of them.
//
// # Tried and dropped
//
//   - Schemas through github.com/invopop/jsonschema: it reaches no type that is
//     not exported, takes lists and limits from tags only (a second copy of them),
//     does not know that a pointer may be null, and brings four modules.
//   - Reading leniently and checking keys afterwards: encoding/json folds case
//     and lets the last of two keys win, so a check of the decoded value comes too
//     late.
//   - Figures in CSV with six significant digits: then summary.csv could not be
//     compared with result.json exactly, and a digit changed behind the sixth
//     would go unseen.
//   - A mean over the repetitions that do have a metric: the rounds would be
//     unlike one another.
//   - Buffered writes of raw.jsonl: a killed driver would lose trials.
//   - A report that trusts result.json: a changed figure would be shown.
package results
