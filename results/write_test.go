package results

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestRunReadsBack(t *testing.T) {
	dir := exampleRun(t)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := examplePlan()
	if !reflect.DeepEqual(f.Plan, p) {
		t.Errorf("plan %+v\nwant %+v", f.Plan, p)
	}
	if want := trialsOf(p, source()); !reflect.DeepEqual(f.Trials, want) {
		t.Errorf("%d trials differ from the %d written", len(f.Trials), len(want))
	}
	rows, err := Summarize(p, f.Trials)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Result.Summary, rows) {
		t.Error("the summary differs from the recomputed one")
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "logs plan.json raw.jsonl result.json summary.csv" {
		t.Errorf("the folder holds %s", got)
	}
	if f.PlanSHA256 != sum([]byte(content(t, dir, PlanFile))) || f.RawSHA256 != sum([]byte(content(t, dir, RawFile))) {
		t.Error("a hash is not that of the file's bytes")
	}
}

// Keys of result.json and columns of summary.csv, in order, as promised.
func TestPublishedOrder(t *testing.T) {
	dir := exampleRun(t)
	var keys []string
	for line := range strings.Lines(content(t, dir, ResultFile)) {
		if strings.HasPrefix(line, `  "`) {
			keys = append(keys, strings.Split(line, `"`)[1])
		}
	}
	want := "schema tool_version transport plan_sha256 raw_sha256 rounds repetitions arms verified_rows fence_rows warmup_rows summary environment verdict"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("result.json has %s\nwant %s", got, want)
	}
	lines := strings.Split(content(t, dir, SummaryFile), "\n")
	if lines[0] != "count,metadata,metric,reference_ms,candidate_ms,median_paired_reduction_pct,faster_rounds,rounds,bootstrap_low,bootstrap_high,bootstrap_level,order_low,order_high,order_level" {
		t.Errorf("summary.csv has %s", lines[0])
	}
	if got := lines[4]; got != "1,plain,spread_ms,,,,0,0,,,,,," {
		t.Errorf("a metric without values is %q", got)
	}
	if len(lines) != 1+2*2*5+1 {
		t.Errorf("summary.csv has %d lines", len(lines))
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	_, err := Create(dir, examplePlan())
	wantError(t, err, dir, "exists")
	file := filepath.Join(dir, "file")
	overwrite(t, dir, "file", "kept")
	_, err = Create(file, examplePlan())
	wantError(t, err, file, "exists")
	if content(t, dir, "file") != "kept" {
		t.Error("the file was changed")
	}
	_, err = Create(filepath.Join(file, "run"), examplePlan())
	wantError(t, err, file)
}

func TestCreateMakesParents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "run")
	r, err := Create(dir, examplePlan())
	if err != nil {
		t.Fatal(err)
	}
	if r.Dir() != dir || r.PlanSHA256() != sum([]byte(content(t, dir, PlanFile))) {
		t.Errorf("dir %s, plan %s", r.Dir(), r.PlanSHA256())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestCreateRefusesPlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	p := examplePlan()
	p.Rounds = 0
	_, err := Create(dir, p)
	wantError(t, err, "rounds is 0")
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made for it: %v", err)
	}
}

func TestAppendRefusesOrder(t *testing.T) {
	p := examplePlan()
	trials := trialsOf(p, source())
	r := create(t, p)
	for _, trial := range trials[:2] {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	before := content(t, r.Dir(), RawFile)
	wantError(t, r.Append(trials[1]), "trial 3 is", "position 1", "want")
	wantError(t, r.Append(trials[3]), "trial 3 is")
	bad := trials[2]
	bad.OuterMS = -1
	wantError(t, r.Append(bad), "outer_ms is -1")
	if content(t, r.Dir(), RawFile) != before {
		t.Error("a refused trial was written")
	}
	for _, trial := range trials[2:] {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, r.Append(trials[159]), "surplus")
}

// Every line is in the file when Append returns.
func TestAppendWritesAtOnce(t *testing.T) {
	r := create(t, examplePlan())
	for i, trial := range trialsOf(examplePlan(), source())[:3] {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(content(t, r.Dir(), RawFile), "\n"); got != i+1 {
			t.Errorf("%d lines after %d trials", got, i+1)
		}
	}
}

func TestFinishRefusesVerified(t *testing.T) {
	p := examplePlan()
	trials := trialsOf(p, source())
	for name, c := range map[string]struct {
		trials int
		change func(*Outcome)
		says   string
	}{
		"trials missing": {159, func(*Outcome) {}, "159 of 160 trials"},
		"rows":           {160, func(o *Outcome) { o.VerifiedRows-- }, "verified_rows is 7919, want 7920"},
		"fence rows":     {160, func(o *Outcome) { o.FenceRows = 0 }, "fence_rows is 0"},
		"warm-up rows":   {160, func(o *Outcome) { o.WarmupRows++ }, "warmup_rows is 3961, want 3960"},
		"full rows":      {160, func(o *Outcome) { o.FullRows = 36 }, "full_rows is 36, want 0"},
		"an arm":         {160, func(o *Outcome) { delete(o.Arms, Candidate) }, "arms has no candidate"},
		"another arm":    {160, func(o *Outcome) { o.Arms["third"] = Arm{} }, `arms is "third"`},
		"spec":           {160, func(o *Outcome) { o.Arms[Candidate] = Arm{Spec: "builtin:other"} }, `spec is "builtin:other"`},
		"with a failure": {160, func(o *Outcome) { o.Verdict.Failure = &Failure{Message: "no"} }, "verdict.failure"},
		"status":         {160, func(o *Outcome) { o.Verdict.Status = "fine" }, `verdict.status is "fine"`},
		"decision":       {160, func(o *Outcome) { o.Verdict.Decision = "improved" }, "verdict.decision"},
		"no message":     {160, func(o *Outcome) { o.Verdict.Status = StatusInvalid }, "verdict.failure has no message"},
		"no end":         {160, func(o *Outcome) { o.Environment = Environment{StartedAt: o.Environment.StartedAt} }, "ended_at"},
		"path of a source": {160, func(o *Outcome) {
			o.Arms[Candidate] = Arm{Spec: p.Candidate.Spec, Sources: []Source{{Path: "../x", SHA256: sum(nil)}}}
		}, "path of a source"},
	} {
		t.Run(name, func(t *testing.T) {
			r := create(t, p)
			for _, trial := range trials[:c.trials] {
				if err := r.Append(trial); err != nil {
					t.Fatal(err)
				}
			}
			out := exampleOutcome(p)
			c.change(&out)
			_, err := r.Finish(out)
			wantError(t, err, c.says)
			if _, err := os.Stat(filepath.Join(r.Dir(), ResultFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a result was written: %v", err)
			}
		})
	}
}

// brokenRun is a run of three trials that ended with status.
func brokenRun(t testing.TB, status string) string {
	t.Helper()
	p := examplePlan()
	r := create(t, p)
	for _, trial := range trialsOf(p, source())[:3] {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.VerifiedRows, out.FenceRows, out.WarmupRows = 9, 36, 0
	out.Verdict = Verdict{Status: status, Decision: DecisionNone, Failure: &Failure{Message: "interrupted"}}
	if status == StatusInvalid {
		delete(out.Arms, Candidate)
		out.Verdict.Failure = &Failure{
			Message: "a row differs", Arm: Candidate, Count: 32, Metadata: "rich", Round: ref(0), Repetition: ref(1), Consumer: ref(0),
			RID: "rid-17", Field: "output_strs", Wanted: ref(`"a b c"`), Got: ref("\"a | b\n\""),
		}
	}
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Summary) != 0 {
		t.Errorf("an %s run has a summary of %d rows", status, len(result.Summary))
	}
	return r.Dir()
}

func TestUnverifiedRunKeepsTrials(t *testing.T) {
	for _, status := range []string{StatusIncomplete, StatusInvalid} {
		f, err := Read(brokenRun(t, status))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Trials) != 3 || f.Result.Verdict.Status != status {
			t.Errorf("%d trials, status %s", len(f.Trials), f.Result.Verdict.Status)
		}
		if got := strings.Count(content(t, f.Dir, SummaryFile), "\n"); got != 1 {
			t.Errorf("summary.csv has %d lines, want its head only", got)
		}
	}
}

func TestFinishedIsFinished(t *testing.T) {
	p := examplePlan()
	r := create(t, p)
	out := exampleOutcome(p)
	out.Verdict = Verdict{Status: StatusIncomplete, Decision: DecisionNone, Failure: &Failure{Message: "interrupted"}}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	_, err := r.Finish(out)
	wantError(t, err, "finished")
	wantError(t, r.Append(trialsOf(p, source())[0]), "finished")
}

// Bytes that are not UTF-8 must not make a file that cannot be read again, and
// the caller's maps stay as they were.
func TestForeignBytesAndCallersValues(t *testing.T) {
	p := examplePlan()
	p.Candidate.Options = nil
	r := create(t, p)
	if p.Candidate.Options != nil {
		t.Error("the caller's plan was changed")
	}
	out := exampleOutcome(p)
	arms := out.Arms
	out.Verdict = Verdict{Status: StatusInvalid, Decision: DecisionNone, Failure: &Failure{Message: "bad \xff byte <&>", Got: ref("\xfe")}}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	if arms[Candidate].Options != nil {
		t.Error("the caller's arms were changed")
	}
	f, err := Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Result.Verdict.Failure.Message; got != "bad \ufffd byte <&>" {
		t.Errorf("the message is %q", got)
	}
}

// fullFile takes some bytes and then fails as a full disk does.
type fullFile struct {
	rawFile
	room int
	cut  error
}

func (f *fullFile) Write(b []byte) (int, error) {
	if len(b) <= f.room {
		f.room -= len(b)
		return f.rawFile.Write(b)
	}
	n, err := f.rawFile.Write(b[:f.room])
	if err != nil {
		return n, err
	}
	f.room = 0
	return n, errors.New("no space left")
}

func (f *fullFile) Truncate(size int64) error {
	return errors.Join(f.cut, f.rawFile.Truncate(size))
}

func TestFullDisk(t *testing.T) {
	p := examplePlan()
	trials := trialsOf(p, source())
	r := create(t, p)
	r.raw = &fullFile{rawFile: r.raw, room: 2500}
	written := 0
	for ; written < len(trials); written++ {
		if err := r.Append(trials[written]); err != nil {
			wantError(t, err, "no space left", RawFile, "trial ")
			break
		}
	}
	if written == 0 || written == len(trials) {
		t.Fatalf("%d trials fitted", written)
	}
	wantError(t, r.Append(trials[written]), "no space left")
	got, err := ReadTrials(r.Dir(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, trials[:written]) {
		t.Errorf("%d trials are readable, want the %d written", len(got), written)
	}
	_, err = r.Finish(exampleOutcome(p))
	wantError(t, err, "no space left")
}

// shortFile claims success for half of what it got.
type shortFile struct{ rawFile }

func (f shortFile) Write(b []byte) (int, error) { return f.rawFile.Write(b[:len(b)/2]) }

func TestShortWriteIsAnError(t *testing.T) {
	r := create(t, examplePlan())
	r.raw = shortFile{r.raw}
	trial := trialsOf(examplePlan(), source())[0]
	wantError(t, r.Append(trial), "short write")
	wantError(t, r.Append(trial), "short write")
	if got := content(t, r.Dir(), RawFile); got != "" {
		t.Errorf("half a line was left: %q", got)
	}
}

// Where the torn line cannot be cut off either, both are said.
func TestFullDiskThatCannotBeCut(t *testing.T) {
	r := create(t, examplePlan())
	r.raw = &fullFile{rawFile: r.raw, room: 10, cut: errors.New("cannot cut")}
	wantError(t, r.Append(trialsOf(examplePlan(), source())[0]), "no space left", "cannot cut")
}
