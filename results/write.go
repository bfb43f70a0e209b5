package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Run is a run folder while it is written. It is not for concurrent use.
type Run struct {
	dir     string
	plan    Plan
	planSum string
	raw     rawFile
	size    int64 // bytes of whole lines in raw
	seq     *sequence
	trials  []Trial // of an anytime plan
	broken  error   // the failed write after which nothing more is written
	closed  bool
}

// rawFile is what Append needs of raw.jsonl.
type rawFile interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

// Create makes the run folder dir with its parents, plan.json, an empty
// raw.jsonl and logs/. A dir that exists is an error, whatever is in it. Folders
// of this machine in specs and options are written by name, see Portable.
func Create(dir string, plan Plan) (*Run, error) {
	known := places()
	plan.Reference, plan.Candidate = known.armPlan(plan.Reference), known.armPlan(plan.Candidate)
	if plan.Control != nil {
		control := known.armPlan(*plan.Control)
		plan.Control = &control
	}
	plan.Stream = known.argument(plan.Stream)
	plan, b, err := settle[Plan](plan, encodeFile)
	if err != nil {
		return nil, fmt.Errorf("results: plan: %w", err)
	}
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o755); err != nil {
		return nil, fmt.Errorf("results: the folder above the run: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("results: run folder %s exists, want a new one: a run is never overwritten", dir)
		}
		return nil, fmt.Errorf("results: run folder: %w", err)
	}
	raw, err := begin(dir, b)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("results: begin run %s: %w", dir, err), os.RemoveAll(dir))
	}
	return &Run{dir: dir, plan: plan, planSum: sum(b), raw: raw, seq: newSequence(plan)}, nil
}

func begin(dir string, plan []byte) (*os.File, error) {
	if err := os.Mkdir(filepath.Join(dir, LogFolder), 0o755); err != nil {
		return nil, err
	}
	if err := replace(filepath.Join(dir, PlanFile), plan); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, RawFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
}

// Dir is the run folder.
func (r *Run) Dir() string { return r.dir }

// PlanSHA256 is the hash of plan.json.
func (r *Run) PlanSHA256() string { return r.planSum }

// Append writes the next trial of the plan as one line, before it returns. A
// trial out of order or with an impossible value is refused and nothing is
// written. After a failed or short write the file is cut back to its last whole
// line, and every later call returns that error: lines behind a hole would
// claim to be complete.
func (r *Run) Append(t Trial) error {
	if r.broken != nil {
		return r.broken
	}
	if r.closed {
		return fmt.Errorf("results: append to %s: the run is finished", r.dir)
	}
	t, line, err := settle[Trial](t, encodeLine)
	if err != nil {
		return fmt.Errorf("results: append to %s: trial: %w", r.dir, err)
	}
	if len(line) > MaxLine || r.size+int64(len(line)) > MaxRaw {
		return fmt.Errorf("results: append to %s: a line of %d bytes after %d, want at most %d and %d in all", r.dir, len(line), r.size, MaxLine, MaxRaw)
	}
	if err := r.seq.take(t); err != nil {
		return fmt.Errorf("results: append to %s: %w", r.dir, err)
	}
	n, err := r.raw.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = errors.Join(err, r.raw.Truncate(r.size))
		r.broken = fmt.Errorf("results: write trial %d (%s) to %s: %w", r.seq.next, t.Slot(), filepath.Join(r.dir, RawFile), err)
		return r.broken
	}
	r.size += int64(len(line))
	if r.plan.Kind == KindAnytime {
		r.trials = append(r.trials, t)
	}
	return nil
}

// Settled says, after the last trial of a round, whether the run of an anytime
// plan ends here. A fixed plan's run does not.
func (r *Run) Settled() (bool, error) {
	whole := len(r.trials) / r.plan.perRound()
	if len(r.trials)%r.plan.perRound() != 0 || whole < 2 {
		return false, nil
	}
	return Settled(r.plan.UpTo(whole-1), r.trials)
}

// Close closes raw.jsonl without a result. It does nothing after Finish.
func (r *Run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if err := errors.Join(r.raw.Sync(), r.raw.Close()); err != nil {
		return fmt.Errorf("results: close %s: %w", filepath.Join(r.dir, RawFile), err)
	}
	return nil
}

// Outcome is what Finish cannot know from the trials.
type Outcome struct {
	Arms         map[string]Arm
	Verdict      Verdict
	VerifiedRows int // stream rows of the trials
	FenceRows    int
	WarmupRows   int // stream rows of the warm-ups; their fences are not counted
	FullRows     int // stream rows of the full stream, its fences left out
	Environment  Environment
}

// Finish reads plan.json and raw.jsonl back, computes the figures and the
// decision and writes summary.csv and then result.json, each whole or not at all.
// A run that is not verified has neither. A verdict of verified over trials that are
// not all there, or over other numbers of rows than the plan's, is an error and
// writes no result.
func (r *Run) Finish(out Outcome) (Result, error) {
	if r.closed {
		return Result{}, fmt.Errorf("results: finish %s: the run is finished", r.dir)
	}
	if err := r.Close(); err != nil && out.Verdict.Status == StatusVerified {
		return Result{}, err
	}
	if r.broken != nil && out.Verdict.Status == StatusVerified {
		return Result{}, fmt.Errorf("results: finish as verified: %w", r.broken)
	}
	result, err := r.result(out)
	if err != nil {
		return Result{}, fmt.Errorf("results: finish %s: %w", r.dir, err)
	}
	result, b, err := settle[Result](result, encodeFile)
	if err != nil {
		return Result{}, fmt.Errorf("results: finish %s: %w", r.dir, err)
	}
	if err := result.check(r.plan); err != nil {
		return Result{}, fmt.Errorf("results: finish %s: result: %w", r.dir, err)
	}
	if len(b) > MaxResult {
		return Result{}, fmt.Errorf("results: finish %s: %s would have %d bytes, want at most %d", r.dir, ResultFile, len(b), MaxResult)
	}
	table, err := summaryCSV(result.Summary)
	if err != nil {
		return Result{}, fmt.Errorf("results: finish %s: %s: %w", r.dir, SummaryFile, err)
	}
	if err := replace(filepath.Join(r.dir, SummaryFile), table); err != nil {
		return Result{}, fmt.Errorf("results: %w", err)
	}
	if err := replace(filepath.Join(r.dir, ResultFile), b); err != nil {
		return Result{}, fmt.Errorf("results: %w", err)
	}
	return result, nil
}

func (r *Run) result(out Outcome) (Result, error) {
	plan, planSum, err := readPlan(r.dir)
	if err != nil {
		return Result{}, err
	}
	if planSum != r.planSum {
		return Result{}, fmt.Errorf("%s has sha256 %s, want %s as it was written", PlanFile, planSum, r.planSum)
	}
	trials, rawSum, err := readRaw(r.dir, plan)
	if err != nil {
		return Result{}, err
	}
	if out.Verdict.Decision != DecisionNone {
		return Result{}, unwanted("verdict.decision", out.Verdict.Decision, "%q: it is made here, from the figures", DecisionNone)
	}
	out = places().outcome(out)
	result := Result{
		Schema: Schema, ToolVersion: plan.ToolVersion, Transport: plan.Transport,
		PlanSHA256: planSum, RawSHA256: rawSum, Rounds: plan.Rounds, Repetitions: plan.Repetitions,
		Arms: out.Arms, VerifiedRows: out.VerifiedRows, FenceRows: out.FenceRows, WarmupRows: out.WarmupRows,
		FullRows:    out.FullRows,
		Environment: out.Environment, Verdict: out.Verdict,
	}
	if out.Verdict.Status == StatusVerified {
		f, err := figuresOf(plan, trials)
		if err != nil {
			return Result{}, err
		}
		result.Rounds, result.Summary, result.Control, result.Analysis = f.plan.Rounds, f.summary, f.control, f.analysis
		result.Verdict = result.decided()
	}
	return result, nil
}

// settle returns the value as it reads back, and its bytes. Bytes that are not
// UTF-8 are replaced on the way, and the caller's maps and lists are left alone.
func settle[T any, P interface {
	*T
	record
}](v T, encoded func(record) ([]byte, error)) (T, []byte, error) {
	var back T
	first, err := json.Marshal(v)
	if err != nil {
		return back, nil, err
	}
	if err := json.Unmarshal(first, &back); err != nil {
		return back, nil, err
	}
	b, err := encoded(P(&back))
	return back, b, err
}
