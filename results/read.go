package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Limits of the files of a run folder, in bytes.
const (
	MaxPlan    = 8 << 20
	MaxLine    = 64 << 10
	MaxRaw     = 640 << 20
	MaxResult  = 64 << 20
	MaxSummary = 64 << 20
)

// Folder is a run folder as read. The hashes are those of the files.
type Folder struct {
	Dir        string
	Plan       Plan
	Trials     []Trial
	Result     Result
	PlanSHA256 string
	RawSHA256  string
}

// Read reads a run folder and checks that plan, trials and result are each in
// the form this program writes, fit each other, and have the hashes that the
// result names. It recomputes no figure; Verify and Report do.
func Read(dir string) (*Folder, error) {
	f, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("results: run folder %s: %w", dir, err)
	}
	return f, nil
}

func read(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	var err error
	if f.Plan, f.PlanSHA256, err = readPlan(dir); errors.Is(err, fs.ErrNotExist) && hasAny(dir, MergedFile) {
		return nil, fmt.Errorf("it has %s: several runs that were merged, without trials of their own, want the folder of one run. "+
			"verify checks a merged one, merge prints what it says; report, explain, history and gate take the runs that were merged, one by one", MergedFile)
	}
	if err != nil {
		return nil, err
	}
	if f.Trials, f.RawSHA256, err = readRaw(dir, f.Plan); err != nil {
		return nil, err
	}
	if f.Result, err = readResult(dir, f.Plan); err != nil {
		return nil, err
	}
	if f.Result.PlanSHA256 != f.PlanSHA256 {
		return nil, fmt.Errorf("%s has sha256 %s, %s says %s", PlanFile, f.PlanSHA256, ResultFile, f.Result.PlanSHA256)
	}
	if f.Result.RawSHA256 != f.RawSHA256 {
		return nil, fmt.Errorf("%s has sha256 %s, %s says %s", RawFile, f.RawSHA256, ResultFile, f.Result.RawSHA256)
	}
	return f, nil
}

// ReadPlan reads the plan of a run folder.
func ReadPlan(dir string) (Plan, error) {
	p, _, err := readPlan(dir)
	if err != nil {
		return Plan{}, fmt.Errorf("results: run folder %s: %w", dir, err)
	}
	return p, nil
}

// ReadTrials reads raw.jsonl of a run folder, which may end anywhere in the
// plan. With an error it returns the trials before the bad line.
func ReadTrials(dir string, p Plan) ([]Trial, error) {
	trials, _, err := readRaw(dir, p)
	if err != nil {
		return trials, fmt.Errorf("results: run folder %s: %w", dir, err)
	}
	return trials, nil
}

func readPlan(dir string) (Plan, string, error) {
	b, err := readFile(dir, PlanFile, MaxPlan)
	if err != nil {
		return Plan{}, "", err
	}
	p, err := parsePlan(b)
	return p, sum(b), err
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

func readRaw(dir string, p Plan) ([]Trial, string, error) {
	b, err := readFile(dir, RawFile, MaxRaw)
	if err != nil {
		return nil, "", err
	}
	trials, err := parseRaw(b, p)
	return trials, sum(b), err
}

// parseRaw reads lines until one is bad, and returns the trials before it.
func parseRaw(b []byte, p Plan) ([]Trial, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var trials []Trial
	s := newSequence(p)
	for number := 1; len(b) > 0; number++ {
		t, rest, err := parseLine(b)
		if err == nil {
			err = s.take(t)
		}
		if err != nil {
			return trials, fmt.Errorf("%s:%d: %w", RawFile, number, err)
		}
		trials, b = append(trials, t), rest
	}
	return trials, nil
}

func parseLine(b []byte) (t Trial, rest []byte, err error) {
	end := bytes.IndexByte(b, '\n') + 1
	switch {
	case end > MaxLine || end == 0 && len(b) > MaxLine:
		return t, nil, fmt.Errorf("a line of more than %d bytes", MaxLine)
	case end == 0:
		return t, nil, errors.New("the last line has no line end: its writer died while writing it")
	}
	return t, b[end:], decode(b[:end], &t, encodeLine)
}

func readResult(dir string, p Plan) (Result, error) {
	b, err := readFile(dir, ResultFile, MaxResult)
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
