package results

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// quiet makes times that are the reference's but for a noise of that spread, from
// the trial's place alone, and the candidate's larger by so much a batch.
func quiet(spread, delayMS float64) func(*Trial) {
	return func(t *Trial) {
		rng := rand.New(rand.NewPCG(uint64(t.Round+2), uint64(t.Count*4+t.Repetition)+uint64(t.Arm[0])<<20))
		ms := float64(t.Count) * math.Exp(spread*rng.NormFloat64())
		if t.Arm == Candidate {
			ms += 3 * delayMS
		}
		t.CompleteMS, t.OuterMS = ms, ms+1
		*t.FirstMS, *t.FirstAllMS, *t.WorkerCPUMS = ms/4, ms/2, ms*1.5
	}
}

// sameArms is a plan of one arm twice, of so many rounds.
func sameArms(rounds int) Plan {
	p := uncontrolled()
	p.Rounds = rounds
	p.First = nil
	for i := range rounds + 1 {
		p.First = append(p.First, []string{Reference, Candidate}[i*i%7%2])
	}
	p.RowsPerRun, p.FencePerRun = p.RowsPerRun/10*(rounds+1), p.FencePerRun/10*(rounds+1)
	p.Candidate = ArmPlan{Spec: p.Reference.Spec, Options: map[string]string{"zmq": "zmtp"}}
	p.MarginPct = MinMargin
	return p
}

func sameExecuted(arms map[string]Arm) { arms[Candidate] = arms[Reference] }

// calibrationRuns are the runs of a calibration whose second delay is that many
// milliseconds a batch.
func calibrationRuns(t *testing.T, rounds int, spread, delayMS float64) []CalibrationInput {
	t.Helper()
	same := gated(t, sameArms(rounds), quiet(spread, 0), sameExecuted)
	inputs := []CalibrationInput{{Kind: RunSame, Name: "a-a", Folder: same}}
	for _, multiple := range []float64{1, 2} {
		p := sameArms(LookRounds)
		p.Candidate.Options[protocol.OptionDelay] = "4000"
		run := gated(t, p, quiet(spread, delayMS*multiple/2), sameExecuted)
		inputs = append(inputs, CalibrationInput{Kind: RunDelay, Name: "delay", Folder: run, Multiple: multiple})
	}
	return inputs
}

var (
	made    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	expires = made.Add(30 * 24 * time.Hour)
)

func TestCalibrate(t *testing.T) {
	c, err := Calibrate(calibrationRuns(t, 27, 0.03, 4), made, expires)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Passed || c.Looks != 3 || c.FalseAlarms != 0 || len(c.Delays) != 2 || !c.Delays[1].Found || len(c.Runs) != 3 {
		t.Errorf("%+v, want it to pass with three looks and two delays", c)
	}
	if len(c.Cells) != 4*len(Metrics) {
		t.Errorf("%d cells, want every metric of four", len(c.Cells))
	}
	primary := 0
	for _, cell := range c.Cells {
		if cell.Primary {
			primary++
		}
		if cell.Metric == "complete_ms" && (cell.SpreadPct == nil || *cell.SpreadPct < 1 || *cell.SpreadPct > 9 || len(cell.P) != 3 || cell.PExcess == nil || cell.Lag1 == nil || cell.PositionP == nil) {
			t.Errorf("%+v, want a spread of about 3 %% in two arms and repetitions, and everything else", cell)
		}
		if cell.Metric == "complete_ms" && (cell.SmallestEffectPct == nil || *cell.SmallestEffectPct < *cell.SpreadPct) {
			t.Errorf("%+v, want a smallest effect above the spread", cell)
		}
	}
	if primary != 3 {
		t.Errorf("%d primary cells, want 3", primary)
	}
	if pct, ok := c.Spread(Primary{32, MetadataRich, "complete_ms", RoleSuperiority}); !ok || pct <= 0 {
		t.Errorf("spread %v, %v", pct, ok)
	}
	if _, ok := c.Spread(Primary{310, MetadataRich, "complete_ms", RoleSuperiority}); ok {
		t.Error("there is a spread of a cell that was not measured")
	}
	text := string(c.Text(made))
	for _, want := range []string{"passed", "0 of 3 looks", "4000 us a batch (2 x the smallest effect) in 32 rich complete_ms: found", "holds until 2026-03-31"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
}

func TestCalibrationFails(t *testing.T) {
	c, err := Calibrate(calibrationRuns(t, 27, 0.2, 0), made, expires)
	if err != nil {
		t.Fatal(err)
	}
	if c.Passed || !strings.Contains(c.Reason, "was not found in 32 rich complete_ms") {
		t.Errorf("passed %v: %s; want that no delay was found", c.Passed, c.Reason)
	}
	inputs := calibrationRuns(t, 27, 0.01, 4)
	inputs[0].Folder = gated(t, sameArms(27), quiet(0.01, 4), sameExecuted)
	if c, err = Calibrate(inputs, made, expires); err != nil {
		t.Fatal(err)
	}
	if c.Passed || c.FalseAlarms != 3 || !strings.Contains(c.Reason, "3 of 3 looks at nothing raised an alarm") {
		t.Errorf("passed %v: %s; want three alarms", c.Passed, c.Reason)
	}
	inputs = calibrationRuns(t, 9, 0.01, 4)[:1]
	if c, err = Calibrate(inputs, made, expires); err != nil || c.Passed || !strings.Contains(c.Reason, "no delay of twice") {
		t.Errorf("%+v, %v; want it to fail without a positive control", c, err)
	}
}

func TestCalibrateRefuses(t *testing.T) {
	runs := calibrationRuns(t, 9, 0.01, 4)
	_, err := Calibrate(runs[1:], made, expires)
	wantError(t, err, `"a-a" first`)
	short := runs[0]
	short.Folder = gated(t, sameArms(8), quiet(0.01, 0), sameExecuted)
	_, err = Calibrate([]CalibrationInput{short}, made, expires)
	wantError(t, err, short.Folder.Dir, "8 rounds", "at least 9")
	hole := runs[0]
	hole.Folder = gated(t, sameArms(9), func(trial *Trial) {
		quiet(0.01, 0)(trial)
		if trial.Round == 4 {
			zero := 0.0
			trial.WorkerCPUMS = &zero
		}
	}, sameExecuted)
	_, err = Calibrate([]CalibrationInput{hole}, made, expires)
	wantError(t, err, hole.Folder.Dir, "worker_cpu_ms in round 4")
	_, err = Calibrate(runs, made, made)
	wantError(t, err, "expires_at")
}

func TestCalibrationIsKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, err := Calibrate(calibrationRuns(t, 9, 0.01, 4), time.Now().Round(0), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	not := func(want string, parts ...string) {
		t.Helper()
		_, err := LoadCalibration(c.Host, time.Now())
		var refused *CalibrationError
		if !errors.As(err, &refused) || refused.Why != want {
			t.Errorf("%v, want that it is %s", err, want)
		}
		wantError(t, err, append(parts, c.Fingerprint+".json")...)
	}
	not(CalibrationMissing)
	path, err := CalibrationPath(c.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadCalibration(c.Host, time.Now())
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("read %+v, %v; want what was saved", got, err)
	}

	other := Host(exampleEnvironment())
	other["kernel"] = "9.9"
	_, err = ReadCalibrationFor(path, other, time.Now())
	wantError(t, err, path, CalibrationForeign, `kernel is "" there, "9.9" here`)
	_, err = ReadCalibrationFor(path, c.Host, c.ExpiresAt)
	wantError(t, err, path, CalibrationExpired, c.ExpiresAt.Format(time.RFC3339))

	c.Passed, c.Reason = false, "made to fail"
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	not(CalibrationFailed, "made to fail")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(string) string{
		"another host under this name": func(s string) string { return strings.Replace(s, `"cpus": "2"`, `"cpus": "64"`, 1) },
		"an unknown key":               func(s string) string { return strings.Replace(s, `"schema"`, `"more": 1, "schema"`, 1) },
		"half of it":                   func(s string) string { return s[:len(s)/2] },
		"nothing":                      func(string) string { return "" },
		"a time below zero":            func(s string) string { return strings.Replace(s, `"round_seconds": `, `"round_seconds": -`, 1) },
	} {
		if err := os.WriteFile(path, []byte(change(string(b))), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		not(CalibrationBroken)
	}
}

// The fingerprint has nothing in it that a reboot or the minute changes, and
// everything that a machine differs by.
func TestFingerprint(t *testing.T) {
	e := exampleEnvironment()
	want := Fingerprint(Host(e))
	e.Conditions = map[string]string{"loadavg.before": "9"}
	e.StealTicks, e.EndedAt = nil, time.Now()
	if got := Fingerprint(Host(e)); got != want {
		t.Errorf("load and time change the fingerprint")
	}
	for name, change := range map[string]func(*Environment){
		"cpu": func(e *Environment) { e.CPU = "another" }, "cpus": func(e *Environment) { e.CPUs++ }, "kernel": func(e *Environment) { e.Kernel = "7" },
		"governor": func(e *Environment) { e.Governor = "powersave" }, "turbo": func(e *Environment) { e.Turbo = "off" }, "smt": func(e *Environment) { e.SMT = "off" },
		"cpu.max": func(e *Environment) { e.Cgroup = map[string]string{"cpu.max": "1 2"} }, "go": func(e *Environment) { e.Go = "go2" },
	} {
		e := exampleEnvironment()
		change(&e)
		if Fingerprint(Host(e)) == want {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
	if _, err := CalibrationPath(filepath.Join("..", "x")); err == nil {
		t.Error("a path is taken as a fingerprint")
	}
}

func FuzzReadCalibration(f *testing.F) {
	f.Add([]byte(`{"schema": 1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), CalibrationFile)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCalibration(path)
		if err == nil {
			c.Text(time.Now())
			if err := c.check(); err != nil {
				t.Error(err)
			}
		}
	})
}
