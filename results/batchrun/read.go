package batchrun

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// Limits of the files of a run folder, in bytes.
const (
	MaxPlan       = 64 << 20
	MaxLine       = 4 << 20 // of a stream's request: one number for each token
	MaxRaw        = 2 << 30
	MaxTrialsFile = 256 << 20
	MaxSchedule   = 256 << 20
	MaxResult     = 256 << 20
	MaxSummary    = 64 << 20
)

// Folder is a run folder as read. The hashes are those of the files.
type Folder struct {
	Dir          string
	Plan         Plan
	Trials       []Trial
	Requests     [][]Request // by trial
	Result       Result
	PlanSHA256   string
	RawSHA256    string
	TrialsSHA256 string
}

// Read reads a run folder and checks that its files are each in the form this
// program writes, fit each other, and have the hashes that the result names. It
// recomputes no figure; Verify and Report do.
func Read(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("batchrun: run folder %s: %w", dir, err)
	}
	return f, nil
}

func (f *Folder) read() (err error) {
	if err := noRun(f.Dir); err != nil {
		return err
	}
	if f.Plan, f.PlanSHA256, err = readPlan(f.Dir); err != nil {
		return err
	}
	if err := f.readTrials(); err != nil {
		return err
	}
	if f.Result, err = readResult(f.Dir, f.Plan); err != nil {
		return err
	}
	return f.sameHashes()
}

func (f *Folder) sameHashes() error {
	for _, h := range [][3]string{
		{PlanFile, f.PlanSHA256, f.Result.PlanSHA256}, {RawFile, f.RawSHA256, f.Result.RawSHA256}, {TrialsFile, f.TrialsSHA256, f.Result.TrialsSHA256},
	} {
		if h[1] != h[2] {
			return form.Unwanted("the sha256 of "+h[0], h[1], "%s as in %s", h[2], ResultFile)
		}
	}
	return nil
}

// ReadPlan reads the plan of a run folder.
func ReadPlan(dir string) (Plan, error) {
	p, _, err := readPlan(dir)
	if err != nil {
		return Plan{}, fmt.Errorf("batchrun: run folder %s: %w", dir, err)
	}
	return p, nil
}

func readPlan(dir string) (Plan, string, error) {
	b, err := form.ReadFile(dir, PlanFile, MaxPlan)
	if err != nil {
		return Plan{}, "", err
	}
	p, err := parsePlan(b)
	return p, form.Sum(b), err
}

func parsePlan(b []byte) (Plan, error) {
	var p Plan
	if err := decode(b, &p, encodeFile); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", PlanFile, err)
	}
	if err := p.Validate(); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", PlanFile, err)
	}
	return p, nil
}

// readTrials reads trials.jsonl and raw.jsonl, which may end after any trial of
// the plan.
func (f *Folder) readTrials() error {
	b, err := form.ReadFile(f.Dir, TrialsFile, MaxTrialsFile)
	if err != nil {
		return err
	}
	f.TrialsSHA256 = form.Sum(b)
	raw, err := form.ReadFile(f.Dir, RawFile, MaxRaw)
	if err != nil {
		return err
	}
	f.RawSHA256 = form.Sum(raw)
	f.Trials, f.Requests, err = parseTrials(f.Plan, b, raw)
	return err
}

// parseTrials reads the lines of both files until one is bad.
func parseTrials(p Plan, trials, raw []byte) (read []Trial, requests [][]Request, err error) {
	line := 0 // of raw
	for number := 0; len(trials) > 0; number++ {
		var t Trial
		if trials, err = nextLine(trials, &t); err != nil {
			return read, requests, fmt.Errorf("%s:%d: %w", TrialsFile, number+1, err)
		}
		var of []Request
		for range min(max(t.Requests, 0), MaxRequests) {
			line++
			var q Request
			if raw, err = nextLine(raw, &q); err != nil {
				return read, requests, fmt.Errorf("%s:%d: %w", RawFile, line, err)
			}
			of = append(of, q)
		}
		if err := p.check(number, t, of); err != nil {
			return read, requests, fmt.Errorf("%s:%d: %w", TrialsFile, number+1, err)
		}
		read, requests = append(read, t), append(requests, of)
	}
	if len(raw) > 0 {
		return read, requests, fmt.Errorf("%s:%d: requests of no trial in %s", RawFile, line+1, TrialsFile)
	}
	return read, requests, nil
}

func nextLine(b []byte, r record) (rest []byte, err error) {
	end := bytes.IndexByte(b, '\n') + 1
	switch {
	case len(b) == 0:
		return nil, errors.New("the file ends before the last request of its trial")
	case end > MaxLine || end == 0 && len(b) > MaxLine:
		return nil, fmt.Errorf("a line of more than %d bytes", MaxLine)
	case end == 0:
		return nil, errors.New("the last line has no line end: its writer died while writing it")
	}
	return b[end:], decode(b[:end], r, encodeLine)
}

func readResult(dir string, p Plan) (Result, error) {
	b, err := form.ReadFile(dir, ResultFile, MaxResult)
	if err != nil {
		return Result{}, err
	}
	return parseResult(b, p)
}

func parseResult(b []byte, p Plan) (Result, error) {
	var r Result
	if err := decode(b, &r, encodeFile); err != nil {
		return Result{}, fmt.Errorf("%s: %w", ResultFile, err)
	}
	if err := r.check(p); err != nil {
		return Result{}, fmt.Errorf("%s: %w", ResultFile, err)
	}
	return r, nil
}
