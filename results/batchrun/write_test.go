package batchrun

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// What is written reads back to the same, and its hashes are those of the files.
func TestRunReadsBack(t *testing.T) {
	p := examplePlan(9)
	dir, result := exampleRun(t, p, nil)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Result, result) {
		t.Errorf("result reads back as another")
	}
	for name, want := range map[string]string{PlanFile: f.PlanSHA256, RawFile: f.RawSHA256, TrialsFile: f.TrialsSHA256} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if form.Sum(b) != want {
			t.Errorf("%s has another hash than the result says", name)
		}
	}
	if len(f.Trials) != p.Len() || len(f.Trials) != 54 || result.Requests != 9*2*(8+8+40) {
		t.Errorf("%d trials, %d requests", len(f.Trials), result.Requests)
	}
	i, w := 0, writer{}
	for s := range p.Trials() {
		trial, requests := exampleTrial(p, s, 0.5)
		requests = w.compact(requests)
		trial.count(requests)
		trial.normal()
		if !reflect.DeepEqual(f.Trials[i], trial) || !reflect.DeepEqual(f.Requests[i], requests) {
			t.Fatalf("trial %d reads back as another: %+v, want %+v", i, f.Trials[i], trial)
		}
		i++
	}
	if v := result.Verdict; v.Status != results.StatusVerified || v.Decision != results.DecisionImproved {
		t.Errorf("verdict %+v, want verified and improved", v)
	}
}

// What cannot be true is refused, and nothing of it is written.
func TestAppendRefuses(t *testing.T) {
	p := examplePlan(2)
	late, nan, negative := 1e9, math.NaN(), -1.0
	for name, c := range map[string]struct {
		change func(*Trial, []Request)
		want   string
	}{
		"another arm":         {func(t *Trial, _ []Request) { t.Arm = Candidate }, "want round 0, cell 0, arm reference"},
		"another cell":        {func(t *Trial, _ []Request) { t.Cell = 1 }, "cell 1"},
		"no start":            {func(t *Trial, _ []Request) { t.StartedAt = time.Time{} }, "started_at"},
		"invalid, no reason":  {func(t *Trial, _ []Request) { t.Valid = false }, "reasons is"},
		"reason, valid":       {func(t *Trial, _ []Request) { t.Reasons = []string{"late"} }, "reasons is"},
		"negative CPU":        {func(t *Trial, _ []Request) { t.Sender.CPUMS = -1 }, "sender.cpu_ms is -1"},
		"negative steal":      {func(t *Trial, _ []Request) { t.Disturbance = stolen(-1) }, "disturbance.steal_ticks is -1"},
		"unknown evidence":    {func(t *Trial, _ []Request) { t.Evidence = "rumour" }, `evidence is "rumour"`},
		"another place":       {func(_ *Trial, q []Request) { q[3].Index = 2 }, "request 3: place"},
		"unknown body":        {func(_ *Trial, q []Request) { q[3].Body = 5 }, "body is 5, want 0 to 4"},
		"no answer, no error": {func(_ *Trial, q []Request) { q[3].DoneMS = nil }, "error is absent"},
		"500 without error":   {func(_ *Trial, q []Request) { q[3].Status = 500 }, "the status is 500"},
		"sent early":          {func(_ *Trial, q []Request) { q[3].SentMS = &negative }, "sent_ms is -1"},
		"done early":          {func(_ *Trial, q []Request) { q[3].FirstByteMS = &late }, "done_ms is"},
		"out of order":        {func(_ *Trial, q []Request) { q[3].IntendedMS = 0 }, "that of the request before"},
		"NaN":                 {func(_ *Trial, q []Request) { q[3].DoneMS = &nan }, "NaN"},
		"a short hash":        {func(_ *Trial, q []Request) { q[3].ScoresSHA256 = "ab" }, "scores_sha256"},
		"an item too many":    {func(_ *Trial, q []Request) { q[3].Prefills = []Spread{{Batch: 1, Items: 51}} }, "prefills[0]"},
		"items missing":       {func(_ *Trial, q []Request) { q[3].Prefills = []Spread{{Batch: 1, Items: 10}, {Batch: 2, Items: 39}} }, "prefills is \"49 items\""},
		"batches fall":        {func(_ *Trial, q []Request) { q[3].Prefills = []Spread{{Batch: 2, Items: 10}, {Batch: 1, Items: 40}} }, "prefills[1]"},
		"batch before sent":   {func(_ *Trial, q []Request) { q[3].Prefills[1].AtMS = &negative }, "prefills[1].at_ms is -1"},
		"last before first":   {func(_ *Trial, q []Request) { q[3].FirstItemMS = &late }, "last_item_ms"},
		"tokens fall":         {func(_ *Trial, q []Request) { q[3].TokenMS = []float64{late, 1e8} }, "token_ms"},
	} {
		r := begin(t, p)
		trial, requests := exampleTrial(p, p.slot(0), 1)
		c.change(&trial, requests)
		err := r.Append(trial, requests)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		for _, file := range []string{RawFile, TrialsFile} {
			if b, err := os.ReadFile(filepath.Join(r.Dir(), file)); err != nil || len(b) > 0 {
				t.Errorf("%s: %s has %d bytes (%v), want none", name, file, len(b), err)
			}
		}
		trial, requests = exampleTrial(p, p.slot(0), 1)
		if err := r.Append(trial, requests[:7]); err == nil || !strings.Contains(err.Error(), "7 requests, the plan 8") {
			t.Errorf("a request less: %v", err)
		}
		if err := r.Append(trial, requests); err != nil {
			t.Errorf("%s: the trial as it should be, afterwards: %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// brokenFile fails after some bytes.
type brokenFile struct {
	*os.File
	left int
}

func (b *brokenFile) Write(p []byte) (int, error) {
	if len(p) > b.left {
		n, err := b.File.Write(p[:b.left])
		if err != nil {
			return n, err
		}
		return n, os.ErrDeadlineExceeded
	}
	b.left -= len(p)
	return b.File.Write(p)
}

// A write that fails, in either file, leaves both with whole trials, and the run
// ends there.
func TestFailedWrite(t *testing.T) {
	for _, inTrials := range []bool{false, true} {
		p := examplePlan(2)
		r := begin(t, p)
		trial, requests := exampleTrial(p, p.slot(0), 1)
		if err := r.Append(trial, requests); err != nil {
			t.Fatal(err)
		}
		f := map[bool]*appended{false: r.raw, true: r.trials}[inTrials]
		f.file = &brokenFile{f.file.(*os.File), 100}
		trial, requests = exampleTrial(p, p.slot(1), 1)
		first := r.Append(trial, requests)
		second := r.Append(trial, requests)
		if first == nil || second == nil || first.Error() != second.Error() || !strings.Contains(first.Error(), "trial 2 (round 0, cell 0, arm candidate") {
			t.Errorf("errors %v and %v, want the same twice, with the trial's place", first, second)
		}
		if _, err := r.Finish(exampleOutcome(p)); err == nil {
			t.Error("the run finishes as if nothing had happened")
		}
		read := &Folder{Dir: r.Dir(), Plan: p}
		if err := read.readTrials(); err != nil || len(read.Trials) != 1 || len(read.Requests[0]) != 8 {
			t.Errorf("%d trials read back (%v), want the first whole", len(read.Trials), err)
		}
	}
}

// A run that stops early is incomplete and has no figures; one that stops without a
// word has no result.
func TestIncomplete(t *testing.T) {
	p := examplePlan(2)
	r := begin(t, p)
	trial, requests := exampleTrial(p, p.slot(0), 1)
	if err := r.Append(trial, requests); err != nil {
		t.Fatal(err)
	}
	out := exampleOutcome(p)
	out.Failure = "interrupted"
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Verdict; v.Status != results.StatusIncomplete || v.Decision != results.DecisionNone || v.Failure != "interrupted" || len(result.Figures) > 0 {
		t.Errorf("verdict %+v with %d figures, want incomplete without any", v, len(result.Figures))
	}
	if _, err := Read(r.Dir()); err != nil {
		t.Error(err)
	}
	r = begin(t, p)
	if _, err := r.Finish(exampleOutcome(p)); err == nil || !strings.Contains(err.Error(), "0 of 12 trials") {
		t.Errorf("error %v, want that no trial is there", err)
	}
}

// Every plan that a word is wrong in is refused by its name.
func TestPlanValidate(t *testing.T) {
	shard := 3
	for want, change := range map[string]func(*Plan){
		"schema":                 func(p *Plan) { p.Schema = 2 },
		"tool_version":           func(p *Plan) { p.ToolVersion = "" },
		"reference.spec":         func(p *Plan) { p.Reference.Spec = "" },
		"api":                    func(p *Plan) { p.API = "embed" },
		"requests_sha256":        func(p *Plan) { p.RequestsSHA256 = "" },
		"dataset_sha256":         func(p *Plan) { p.DatasetSHA256 = "x" },
		"tokenizer_sha256":       func(p *Plan) { p.TokenizerSHA256 = "x" },
		"rounds":                 func(p *Plan) { p.Rounds = 0 },
		"warmup":                 func(p *Plan) { p.Warmup = -1 },
		"unique_requests":        func(p *Plan) { p.UniqueRequests = 0 },
		"labels[1]":              func(p *Plan) { p.Labels[1] = -1 },
		"timeout_ms":             func(p *Plan) { p.TimeoutMS = 0 },
		"score_tolerance":        func(p *Plan) { p.ScoreTolerance = math.NaN() },
		"max_failed_pct":         func(p *Plan) { p.MaxFailedPct = 101 },
		"cells[0]: kind":         func(p *Plan) { p.Cells[0].Kind = "burst" },
		"cells[1]: items":        func(p *Plan) { p.Cells[1].Items = 0 },
		"cells[2]: rps":          func(p *Plan) { p.Cells[2].RPS = 0 },
		"cells[2]: seconds":      func(p *Plan) { p.Cells[2].Seconds = -1 },
		"cells[2]: requests":     func(p *Plan) { p.Cells[2].Requests = 4 },
		"cells[0]: requests":     func(p *Plan) { p.Cells[0].Requests = 0 },
		"cells[0]: rps":          func(p *Plan) { p.Cells[0].RPS = 1 },
		"cells[1] is":            func(p *Plan) { p.Cells[1] = p.Cells[0] },
		"first is":               func(p *Plan) { p.First = p.First[:1] },
		"first[1]":               func(p *Plan) { p.First[1] = "control" },
		"schedules is":           func(p *Plan) { p.Schedules = p.Schedules[:1] },
		"schedules[1]: place":    func(p *Plan) { p.Schedules[1].Round = 0 },
		"schedules[0]: sha256":   func(p *Plan) { p.Schedules[0].SHA256 = "x" },
		"schedules[0]: requests": func(p *Plan) { p.Schedules[0].Requests = 0 },
		"have more than":         func(p *Plan) { p.Schedules[0].Requests = MaxRequests },
		"margin_pct":             func(p *Plan) { p.MarginPct = 0 },
		"primary is empty":       func(p *Plan) { p.Primary = nil },
		"primary[0].cell":        func(p *Plan) { p.Primary[0].Cell = 3 },
		"primary[0].metric":      func(p *Plan) { p.Primary[0].Metric = "p42_ms" },
		"primary[0].role":        func(p *Plan) { p.Primary[0].Role = "" },
		"primary[1] is":          func(p *Plan) { p.Primary[1] = p.Primary[0] },
		"shards":                 func(p *Plan) { p.Shards = 2 },
		"shard is 3":             func(p *Plan) { p.Shard, p.Shards = &shard, 3 },
		"cells[0] is \"single":   func(p *Plan) { p.Shard, p.Shards = &shard, 4 },
		"both or none":           func(p *Plan) { p.Shard, p.Shards, p.Parts = &shard, 4, make([]Part, 4) },
		"parts is":               func(p *Plan) { p.Shards, p.Parts = 4, make([]Part, 3) },
	} {
		p := examplePlan(2)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Readers take the one form only, whatever was done to a file.
func TestOneForm(t *testing.T) {
	p := examplePlan(2)
	dir, _ := exampleRun(t, p, nil)
	for _, name := range []string{PlanFile, RawFile, TrialsFile, ResultFile} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string][]byte{
			"a blank":       bytes.Replace(good, []byte(`:`), []byte(` :`), 1),
			"cut short":     good[:len(good)-1],
			"a line more":   append(append([]byte{}, good...), good...),
			"a key more":    bytes.Replace(good, []byte(`{`), []byte(`{"x":1,`), 1),
			"a case":        bytes.Replace(good, []byte(`"r`), []byte(`"R`), 1),
			"empty":         nil,
			"another digit": bytes.Replace(good, []byte(`0`), []byte(`1`), 1),
		} {
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir); err == nil {
				t.Errorf("%s with %s is read", name, what)
			}
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}
