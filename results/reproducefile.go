package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// ReproducesFile is the file of a run that reproduces another.
const ReproducesFile = "reproduces.json"

// MaxReproduces is its longest form, in bytes.
const MaxReproduces = 1 << 20

// Reproduces stands beside a run that was made to reproduce another, and says what
// came of it.
type Reproduces struct {
	Schema    int            `json:"schema"`
	Old       RunHashes      `json:"old"`
	New       RunHashes      `json:"new"`
	MarginPct float64        `json:"margin_pct"` // slow-down, in per cent of the reference, that still counts as equal
	Rebuilt   []string       `json:"rebuilt"`    // how each arm was had again, and what was compared
	Cells     []Reproduction `json:"cells"`
}

// RunHashes name a run by its files.
type RunHashes struct {
	PlanSHA256   string `json:"plan_sha256"`
	RawSHA256    string `json:"raw_sha256"`
	ResultSHA256 string `json:"result_sha256"`
}

func (f *Folder) hashes() (RunHashes, error) {
	result, err := HashFile(filepath.Join(f.Dir, ResultFile))
	return RunHashes{PlanSHA256: f.PlanSHA256, RawSHA256: f.RawSHA256, ResultSHA256: result}, err
}

// WriteReproduces compares the runs and writes the outcome into the new one's folder.
func WriteReproduces(old, new *Folder, rebuilt []string) (r Reproduces, err error) {
	r = Reproduces{Schema: Schema, MarginPct: cmp.Or(new.Plan.MarginPct, DefaultMarginPct), Rebuilt: rebuilt}
	for i, line := range r.Rebuilt {
		r.Rebuilt[i] = Portable(line)
	}
	if r.Cells, err = Compare(old, new); err != nil {
		return r, err
	}
	var oldErr, newErr error
	r.Old, oldErr = old.hashes()
	r.New, newErr = new.hashes()
	if err := errors.Join(oldErr, newErr); err != nil {
		return r, err
	}
	b, err := encodeFile(&r)
	if err == nil {
		err = replace(filepath.Join(new.Dir, ReproducesFile), b)
	}
	if err != nil {
		return r, fmt.Errorf("results: %s: %w", ReproducesFile, err)
	}
	return r, nil
}

func (r *Reproduces) normal() { r.Rebuilt, r.Cells = listed(r.Rebuilt), listed(r.Cells) }

func parseReproduces(b []byte) (r Reproduces, err error) {
	if err := decode(b, &r, encodeFile); err != nil {
		return r, err
	}
	if r.Schema != Schema {
		return r, unwanted("schema", r.Schema, "%d", Schema)
	}
	for _, h := range []RunHashes{r.Old, r.New} {
		if err := errors.Join(checkHash("plan_sha256", h.PlanSHA256), checkHash("raw_sha256", h.RawSHA256), checkHash("result_sha256", h.ResultSHA256)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// reproduction holds reproduces.json, where there is one, against the run that it
// lies beside. The old run is read only where it is named.
func (v *verifier) reproduction() {
	original := v.opt.Original
	if !hasAny(v.dir, ReproducesFile) {
		if original != "" {
			v.check(ReproducesFile, fmt.Errorf("the run has none, so there is nothing to compare with %s: it was not made by reproduce", original), "")
		}
		return
	}
	r, err := v.reproduced()
	compared := "as it says of itself; not compared with that run, whose folder was not given"
	if original != "" {
		compared = "both runs compared anew, that in " + original + " and this one: every outcome agrees"
	}
	v.check(ReproducesFile, err, "%s of the run with raw_sha256 %.12s, %s", counted(len(r.Cells), "primary cell"), r.Old.RawSHA256, compared)
}

func (v *verifier) reproduced() (r Reproduces, err error) {
	if err := needs(v.planErr, v.rawErr, v.resErr); err != nil {
		return r, err
	}
	b, err := readFile(v.dir, ReproducesFile, MaxReproduces)
	if err != nil {
		return r, err
	}
	if r, err = parseReproduces(b); err != nil {
		return r, err
	}
	new := &Folder{Dir: v.dir, Plan: v.plan, Trials: v.trials, Result: v.result, PlanSHA256: v.planSum, RawSHA256: v.rawSum}
	hashes, err := new.hashes()
	if err != nil {
		return r, err
	}
	if hashes != r.New {
		return r, fmt.Errorf("new is %+v, want %+v, the run beside it", r.New, hashes)
	}
	if r.MarginPct != new.Plan.MarginPct {
		return r, unwanted("margin_pct", r.MarginPct, "%v as in %s", new.Plan.MarginPct, PlanFile)
	}
	if v.opt.Original != "" {
		return r, r.againstOriginal(v.opt.Original, new)
	}
	return r, r.againstItself(new)
}

// againstOriginal compares both runs anew.
func (r Reproduces) againstOriginal(dir string, new *Folder) error {
	old, err := Read(dir)
	if err != nil {
		return err
	}
	hashes, err := old.hashes()
	if err != nil {
		return err
	}
	if hashes != r.Old {
		return fmt.Errorf("old is %+v, want %+v, those of %s", r.Old, hashes, dir)
	}
	cells, err := Compare(old, new)
	if err != nil {
		return err
	}
	return sameField("cells", r.Cells, cells)
}

// againstItself judges each cell anew from what stands there of both runs, and wants
// the new one's part to be what its trials say.
func (r Reproduces) againstItself(new *Folder) error {
	family := Plan{MarginPct: r.MarginPct, Kind: new.Plan.Kind}
	for _, c := range r.Cells {
		family.Primary = append(family.Primary, Primary{c.Count, c.Metadata, c.Metric, c.Role})
	}
	if len(family.Primary) == 0 {
		return errors.New("cells is empty, want the primary cells")
	}
	after, err := new.analysisFor(family)
	if err != nil {
		return err
	}
	for i, c := range r.Cells {
		again := c
		again.New, again.Holds = after.Primary[i].said(), nil
		again.judge(r.MarginPct, c.Reason == oldControlFailed, after.controlFailed())
		if err := sameField(fmt.Sprintf("cells[%d]", i), c, again); err != nil {
			return err
		}
	}
	return nil
}

// WriteReproducesText prints what came of a reproduction.
func WriteReproducesText(w io.Writer, r Reproduces) error {
	var b bytes.Buffer
	for _, line := range r.Rebuilt {
		fmt.Fprintf(&b, "rebuilt    %s\n", line)
	}
	count := map[string]int{}
	for _, c := range r.Cells {
		count[c.Outcome]++
	}
	fmt.Fprintf(&b, "outcome    of %d primary cells %d reproduced, %d not reproduced, %d too imprecise\n\n", len(r.Cells), count[Reproduced], count[NotReproduced], count[TooImprecise])
	table := [][]string{{"primary cell", "outcome", "old", "new", "new bounds", "size", "reason"}}
	for _, c := range r.Cells {
		size := "-"
		if c.Holds != nil && *c.Holds {
			size = "the bounds hold the old"
		} else if c.Holds != nil {
			size = "the bounds do not hold the old"
		}
		cell := Primary{c.Count, c.Metadata, c.Metric, c.Role}
		table = append(table, []string{
			cell.String(), c.Outcome, shown(c.Old.SlowdownPct), shown(c.New.SlowdownPct),
			shown(c.New.LowerPct) + " to " + shown(c.New.UpperPct), size, c.Reason,
		})
	}
	writeTable(&b, table, []int{0, 1, 5, 6})
	b.WriteString("\nslow-down of the candidate in per cent, below zero is faster; bounds one-sided, for all primary cells at once\n")
	_, err := w.Write(b.Bytes())
	return err
}
