package results

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The table of the package documentation.
func TestJudgeReproduction(t *testing.T) {
	said := func(decision string, estimate, low, high float64) RunSaid {
		return RunSaid{Decision: decision, SlowdownPct: &estimate, LowerPct: &low, UpperPct: &high}
	}
	bare := func(decision string) RunSaid { return RunSaid{Decision: decision} }
	improved, regressed := said(DecisionImproved, -50, -60, -40), said(DecisionRegressed, 20, 10, 30)
	equal, open := said(DecisionEquivalent, 0, -2, 2), said(DecisionInconclusive, -3, -20, 20)
	inferior := said(DecisionNotInferior, 1, -9, 4)
	for _, c := range []struct {
		name     string
		old, new RunSaid
		want     string
	}{
		{"the same", improved, improved, Reproduced},
		{"the same without bounds", improved, bare(DecisionImproved), Reproduced},
		{"opposite", improved, regressed, NotReproduced},
		{"opposite by p alone", improved, RunSaid{Decision: DecisionRegressed}, NotReproduced},
		{"faster, then equal", improved, equal, TooImprecise},
		{"faster, then equal but faster", improved, said(DecisionEquivalent, -3, -4, -1), Reproduced},
		{"faster, then equal but slower", improved, said(DecisionEquivalent, 3, 1, 4), NotReproduced},
		{"faster, then open", improved, open, TooImprecise},
		{"slower, then faster", regressed, improved, NotReproduced},
		{"equal, then far", equal, improved, NotReproduced},
		{"equal, then faster at the margin", equal, said(DecisionImproved, -4, -7, -2), TooImprecise},
		{"equal, then faster within the margin", equal, said(DecisionImproved, -3, -4, -2), Reproduced},
		{"equal, beyond the lower margin only by symmetry", equal, said(DecisionInconclusive, -4.8, -4.9, -4.7), TooImprecise},
		{"not inferior, then slower", inferior, said(DecisionRegressed, 9, 6, 12), NotReproduced},
		{"not inferior, then open", inferior, open, TooImprecise},
		{"open, then faster", open, improved, TooImprecise},
		{"insufficient", bare(DecisionInsufficient), improved, TooImprecise},
		{"then insufficient", improved, bare(DecisionInsufficient), TooImprecise},
	} {
		r := Reproduction{Old: c.old, New: c.new}
		r.judge(5, false, false)
		if r.Outcome != c.want || r.Reason == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, r.Outcome, r.Reason, c.want)
		}
		for _, failed := range [][2]bool{{true, false}, {false, true}} {
			r.judge(5, failed[0], failed[1])
			if r.Outcome != TooImprecise || !strings.Contains(r.Reason, "control") {
				t.Errorf("%s with a failed control: %s (%s)", c.name, r.Outcome, r.Reason)
			}
		}
	}
	r := Reproduction{Old: improved, New: said(DecisionImproved, -20, -25, -15)}
	if r.judge(5, false, false); *r.Holds {
		t.Error("bounds of -25 to -15 hold -50")
	}
	if low, high, _ := claim(DecisionEquivalent, 25); low != -20 || high != 25 {
		t.Errorf("a margin of 25 %% claims %v to %v, want -20 to 25: four fifths are as far as five quarters", low, high)
	}
	if low, _, _ := claim(DecisionImproved, 5); !math.IsInf(low, -1) {
		t.Errorf("improved claims from %v", low)
	}
}

// twice writes a run and one that reproduces it.
func twice(t *testing.T, old Plan, change func(*Plan, *Outcome, *Trial)) (*Folder, *Folder) {
	t.Helper()
	var folders []*Folder
	for i, p := range []Plan{old, old} {
		out := exampleOutcome(p)
		if p.Control != nil {
			out.Arms[Control] = out.Arms[Reference]
		}
		if i == 1 {
			p.Seed++
			if len(p.Primary) == 0 {
				p = p.WithFamily()
			}
			change(&p, &out, nil)
		}
		out.VerifiedRows, out.FenceRows, out.WarmupRows, out.FullRows = p.RowsPerRun, p.FencePerRun, p.WarmupRows(), p.FullRows
		r := create(t, p)
		for _, trial := range trialsOf(p, rand.New(rand.NewPCG(uint64(i), 2))) {
			if i == 1 {
				change(nil, nil, &trial)
			}
			if err := r.Append(trial); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Finish(out); err != nil {
			t.Fatal(err)
		}
		f, err := Read(r.Dir())
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, f)
	}
	return folders[0], folders[1]
}

func unchangedRun(*Plan, *Outcome, *Trial) {}

// An old run without a family is judged by the default one.
func TestCompareWithoutFamily(t *testing.T) {
	old, again := twice(t, examplePlan(), func(p *Plan, _ *Outcome, trial *Trial) {
		if p != nil {
			p.Reference.Spec, p.FullRows = "builtin:per-row", 24 // as newer runs have
		}
		if trial != nil && trial.Arm == Candidate && trial.Count == 32 {
			trial.CompleteMS *= 1.5 // from a quarter less to an eighth more
			trial.OuterMS *= 2
		}
	})
	cells, err := Compare(old, again)
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != 3 || cells[0].Outcome != NotReproduced || cells[1].Outcome != Reproduced || cells[2].Outcome != Reproduced {
		t.Errorf("%+v; want complete_ms not reproduced, the others reproduced", cells)
	}
}

func TestReproducesIsVerified(t *testing.T) {
	old, again := twice(t, withFamily(), unchangedRun)
	r, err := WriteReproduces(old, again, []string{"reference: as it was"})
	if err != nil {
		t.Fatal(err)
	}
	verifies(t, again.Dir)
	checks, err := Verify(again.Dir, VerifyOptions{Original: old.Dir})
	said := checks[slices.IndexFunc(checks, func(c Check) bool { return c.Name == ReproducesFile })].Detail
	if err != nil || slicesHasFail(checks) || !strings.Contains(said, "that in "+old.Dir+" and this one: every outcome agrees") {
		t.Errorf("%v, %+v", err, checks)
	}
	failing(t, old.Dir, VerifyOptions{Original: again.Dir}, ReproducesFile)
	failing(t, again.Dir, VerifyOptions{Original: again.Dir}, ReproducesFile)
	var text bytes.Buffer
	if err := WriteReproducesText(&text, r); err != nil || !strings.Contains(text.String(), "of 3 primary cells 3 reproduced, 0 not reproduced, 0 too imprecise") {
		t.Errorf("%v\n%s", err, &text)
	}
	file := content(t, again.Dir, ReproducesFile)
	for _, c := range []struct{ old, new string }{
		{`"outcome": "reproduced"`, `"outcome": "not reproduced"`},
		{r.New.RawSHA256, r.Old.PlanSHA256},
		{`"schema": 1`, `"schema": 7`},
		{`"margin_pct": 5`, `"margin_pct": 0.2`},
	} {
		overwrite(t, again.Dir, ReproducesFile, strings.Replace(file, c.old, c.new, 1))
		failing(t, again.Dir, VerifyOptions{}, ReproducesFile)
	}
}

func TestCompareRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Plan, out *Outcome)
		want   string
	}{
		{"pace", func(p *Plan, _ *Outcome) { p.Pace = "none" }, `pace is "arrived" and "none"`},
		{"seed", func(p *Plan, _ *Outcome) { p.Seed-- }, "seed is 7 in both"},
		{"margin", func(p *Plan, _ *Outcome) { p.MarginPct = 7 }, "margin_pct"},
		{"packages", func(_ *Plan, out *Outcome) {
			a := out.Arms[Reference]
			a.Packages = map[string]string{"go": "go1.27.0"}
			out.Arms[Reference], out.Arms[Control] = a, a
		}, "arms.reference packages"},
		{"option", func(_ *Plan, out *Outcome) {
			a := out.Arms[Reference]
			a.Options = map[string]string{"zmq": "zmq4", "router": "none"}
			out.Arms[Reference], out.Arms[Control] = a, a
		}, `option zmq is "zmtp" and "zmq4"`},
		{"sources", func(_ *Plan, out *Outcome) {
			a := out.Arms[Reference]
			a.Sources = append([]Source{{Path: "cmd/new.go", SHA256: sum(nil)}}, a.Sources...)
			out.Arms[Reference], out.Arms[Control] = a, a
		}, "arms.reference sources: cmd/new.go is new"},
	} {
		old, again := twice(t, withFamily(), func(p *Plan, out *Outcome, _ *Trial) {
			if p != nil {
				c.change(p, out)
			}
		})
		_, err := Compare(old, again)
		wantError(t, err, old.Dir, again.Dir, c.want)
	}
	old, again := twice(t, withFamily(), unchangedRun)
	again.Result.Verdict.Status = StatusInvalid
	_, err := Compare(old, again)
	wantError(t, err, filepath.Base(again.Dir), "invalid")
}

// How a program of this module was built decides what version it is stamped with; of
// another's runtime the version says what it is.
func TestRebuiltUnderAnotherStamp(t *testing.T) {
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"fanoutbench v0.0.0-20261201001542-39900eace6e1", "fanoutbench (devel)", true},
		{"sglang 0.5.21", "sglang 0.5.23", false},
		{"fanoutbench (devel)", "sglang 0.5.23", false},
	} {
		if found := rebuiltOtherwise(Arm{Runtime: c.old}, Arm{Runtime: c.new}); (len(found) == 0) != c.same {
			t.Errorf("%s and %s: %q, want them the same: %v", c.old, c.new, found, c.same)
		}
	}
}

func FuzzReproduces(f *testing.F) {
	f.Add([]byte(`{"schema": 1}`))
	r := Reproduces{Schema: Schema, Old: RunHashes{sum(nil), sum(nil), sum(nil)}, New: RunHashes{sum(nil), sum(nil), sum(nil)}, Cells: []Reproduction{{Count: 1}}}
	good, err := encodeFile(&r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseReproduces(b)
		if err != nil {
			return
		}
		if again, err := encodeFile(&r); err != nil || !bytes.Equal(again, b) {
			t.Errorf("what was read is written otherwise: %v", err)
		}
	})
}
