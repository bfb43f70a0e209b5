package htmlreport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
	"github.com/fanoutbench/fanoutbench/results/form"
)

const loadRequests = 50

// loadTimes are the arrivals in a made-up run, in milliseconds.
func loadTimes() []float64 {
	var at []float64
	for i := range loadRequests {
		at = append(at, 100*float64(i))
	}
	return at
}

// loadRun makes a run of two rounds with a single and an open cell; change may alter
// each trial.
func loadRun(t testing.TB, change func(*batchrun.Plan), alter func(*batchrun.Trial, []batchrun.Request)) *batchrun.Folder {
	t.Helper()
	seconds := make([]float64, loadRequests)
	for i, at := range loadTimes() {
		seconds[i] = at / 1000
	}
	schedule, err := json.Marshal(map[string]any{
		"schema": "batchsend-schedule/1", "seed": 1, "distribution": "constant", "rps": 10, "seconds": 5, "unique": 1, "shard": 0, "shards": 1,
		"at": seconds, "request": make([]int, loadRequests),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := batchrun.Plan{
		Schema: batchrun.Schema, ToolVersion: "test", Rounds: 2, First: []string{batchrun.Reference, batchrun.Candidate},
		Reference: batchrun.PlanArm{Spec: "builtin:individual"}, Candidate: batchrun.PlanArm{Spec: "builtin:batch"},
		Cells: []batchrun.Cell{{Kind: batchrun.KindSingle, Items: 50, Requests: 6}, {Kind: batchrun.KindConstant, Items: 50, RPS: 10, Seconds: 5}},
		API:   batchrun.APIScore, UniqueRequests: 1, RequestsSHA256: form.Sum(nil), TimeoutMS: 1000, MaxFailedPct: 10,
	}
	for round := range p.Rounds {
		p.Schedules = append(p.Schedules, batchrun.ScheduleRef{Round: round, Cell: 1, Seed: 1, Requests: loadRequests, SHA256: form.Sum(schedule)})
	}
	if change != nil {
		change(&p)
	}
	r, err := batchrun.Create(filepath.Join(t.TempDir(), "run"), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Schedules {
		if err := os.WriteFile(filepath.Join(r.Dir(), batchrun.ScheduleName(s.Round, s.Cell)), schedule, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for s := range p.Trials() {
		trial, requests := loadTrial(p, s)
		if alter != nil {
			alter(&trial, requests)
		}
		if err := r.Append(trial, requests); err != nil {
			t.Fatal(err)
		}
	}
	arm := func(asked batchrun.PlanArm) batchrun.Arm {
		return batchrun.Arm{Kind: "builtin", Restart: batchrun.RestartRound, Spec: asked.Spec, Options: asked.Options, Command: []string{"fanoutserve"}, BinarySHA256: []string{form.Sum(nil)}}
	}
	out := batchrun.Outcome{Arms: map[string]batchrun.Arm{batchrun.Reference: arm(p.Reference), batchrun.Candidate: arm(p.Candidate)}, Environment: results.Environment{Command: []string{"batchsend"}}}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	f, err := batchrun.Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func loadTrial(p batchrun.Plan, s batchrun.Slot) (batchrun.Trial, []batchrun.Request) {
	trial := batchrun.Trial{Round: s.Round, Cell: s.Cell, Arm: s.Arm, Position: s.Position, StartedAt: time.Unix(1e9, 0), Valid: true, WallMS: 5000, Evidence: batchrun.EvidenceAdmissions}
	var requests []batchrun.Request
	for i := range p.RequestsOf(s.Round, s.Cell) {
		at, took, zero := loadTimes()[i], 40+float64(i), 0.0
		later := took / 2
		spread := []batchrun.Spread{{Batch: 2 * i, Items: 10, AtMS: &zero}, {Batch: 2*i + 1, Items: 40, AtMS: &later}}
		if s.Arm == batchrun.Candidate {
			took, spread = took/2, []batchrun.Spread{{Batch: i, Items: 50, AtMS: &zero}}
		}
		sent, done := at+0.25, at+took
		requests = append(requests, batchrun.Request{
			Round: s.Round, Cell: s.Cell, Arm: s.Arm, Index: i, IntendedMS: at, SentMS: &sent, DoneMS: &done, Status: 200, ScoreDifference: &zero, Prefills: spread,
		})
	}
	return trial, requests
}

// lateAndReset makes the trials of the open cell invalid, and one of their requests fail.
func lateAndReset(trial *batchrun.Trial, q []batchrun.Request) {
	if trial.Cell == 1 {
		trial.Valid, trial.Reasons = false, []string{"lateness: <b>late</b>"}
		q[3].Error, q[3].DoneMS, q[3].Status = "reset", nil, 0
	}
}

func loadPageOf(t testing.TB, f *batchrun.Folder) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteLoad(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wellFormed reads the page as XML would be, but for what HTML may leave open.
func wellFormed(t testing.TB, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Every table of the report and every drawing of every cell is on the page, once.
func TestLoadPage(t *testing.T) {
	f := loadRun(t, nil, nil)
	page := loadPageOf(t, f)
	wellFormed(t, page)
	for _, s := range f.Sections() {
		for _, want := range []string{">" + s.Title + "</h2>", s.Lines[0][0]} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
	for cell := range f.Plan.Cells {
		for _, drawing := range []string{"time", "percentiles", "arrivals", "inflight", "prefills"} {
			id := fmt.Sprintf(`id="cell-%d-%s-title"`, cell, drawing)
			if n := strings.Count(page, id); n != 1 {
				t.Errorf("%s is there %d times, want once", id, n)
			}
		}
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("id %s is there twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, want := range []string{"n too small", "6 requests: a line", "40 requests: a line", "80 of the reference (circles), 40 of the candidate", "batchsend verify"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// An invalid run says why before anything else; one that ended early has no figures.
func TestLoadPageOfBadRuns(t *testing.T) {
	f := loadRun(t, func(p *batchrun.Plan) { p.Candidate.Spec = "launch:<script>alert(1)</script>" }, lateAndReset)
	page := loadPageOf(t, f)
	wellFormed(t, page)
	if strings.Contains(page, "<script>") || strings.Contains(page, "<b>late") || !strings.Contains(page, "INVALID") {
		t.Error("words of the run are markup, or the page does not say INVALID")
	}
	if at, tables := strings.Index(page, `id="invalid"`), strings.Index(page, "<table"); at < 0 || tables < at {
		t.Errorf("the reasons stand at %d, the first table at %d", at, tables)
	}
	f.Result.Figures = slices.Clone(f.Result.Figures)
	f.Result.Figures[0].Failed = 9
	if err := WriteLoad(io.Discard, f); err == nil {
		t.Error("a figure that does not follow is shown")
	}
}

// No drawing has more than it may, and the slowest requests stay.
func TestSlowest(t *testing.T) {
	var points []point
	for i := range 10_000 {
		points = append(points, point{float64(i), math.Mod(float64(i)*7919, 1000)})
	}
	points[5123].y = 1e6
	kept := slowest(points)
	if len(kept) != mostPoints || !slices.Contains(kept, points[5123]) || !slices.IsSortedFunc(kept, func(a, b point) int { return int(a.x - b.x) }) {
		t.Errorf("%d points kept, want %d in order with the slowest", len(kept), mostPoints)
	}
	if got := slowest(points[:mostPoints]); !slices.Equal(got, points[:mostPoints]) {
		t.Error("few points are thinned out")
	}
}

// The curve is at the nearest rank and ends at the slowest.
func TestCurve(t *testing.T) {
	sorted := make([]float64, 1000)
	for i := range sorted {
		sorted[i] = float64(i + 1)
	}
	c := curve(sorted)
	if c[0] != (point{0, 1}) || c[len(c)-1].y != 1000 || math.Abs(c[len(c)-1].x-3) > 1e-9 {
		t.Errorf("from %v to %v, want from the fastest to the slowest at 3", c[0], c[len(c)-1])
	}
	for _, at := range c[1 : len(c)-1] {
		if above := 1000 - at.y; above > 1000*math.Pow(10, -at.x)+1e-6 || above < 1000*math.Pow(10, -at.x)-1-1e-6 {
			t.Errorf("at %v: %v requests above %v", at.x, above, at.y)
		}
	}
}

// What is in flight rises with each request that is due, falls with each answer, and
// ends at none.
func TestSteps(t *testing.T) {
	ends := []float64{30, 25, 60}
	var requests []batchrun.Request
	for i, at := range []float64{0, 20, 25} {
		requests = append(requests, batchrun.Request{IntendedMS: at, DoneMS: &ends[i]})
	}
	requests = append(requests, batchrun.Request{IntendedMS: 26, Error: "reset"})
	want := []point{{0, 1}, {0.02, 2}, {0.025, 1}, {0.025, 2}, {0.03, 1}, {0.06, 0}}
	if got := steps(requests); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A number in flight holds until it changes: no line slants.
func TestStairs(t *testing.T) {
	got := stairs([]point{{1, 1}, {2, 0}, {4, 3}})
	if want := []point{{1, 1}, {2, 1}, {2, 0}, {4, 0}, {4, 3}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if stairs(nil) != nil {
		t.Error("a line of no points")
	}
}

func TestWholeTicks(t *testing.T) {
	for _, k := range []struct {
		low, high float64
		want      string
	}{{0, 1.06, "0 1"}, {-0.5, 4, "0 1 2 3 4"}, {0, 60, "0 10 20 30 40 50 60"}, {0, 0.5, "0"}} {
		var got []string
		for _, tick := range (whole{}).Ticks(k.low, k.high) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != k.want {
			t.Errorf("%v to %v: %q, want %q", k.low, k.high, got, k.want)
		}
	}
}

func TestShortTicks(t *testing.T) {
	for high, want := range map[float64]string{57: "0 25 50", 0.37: "0 0.1 0.2 0.3", 200.3: "0 100 200"} {
		var got []string
		for _, tick := range (short{}).Ticks(0, high) {
			if tick.Label != "" {
				got = append(got, tick.Label)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("to %v: %q, want %q", high, got, want)
		}
	}
}

// The marks at the ends of the axes have room.
func TestFrame(t *testing.T) {
	p := axes("x", "y")
	highest, ok := frame(p, []point{{1, 7}}, []point{{3, 5}})
	if !ok || highest != 7 || p.X.Max <= 3 || p.Y.Max <= 7 || p.X.Max > 3.3 || p.Y.Max > 8 {
		t.Errorf("highest %v, %v, axes to %v and %v", highest, ok, p.X.Max, p.Y.Max)
	}
	if _, ok := frame(axes("x", "y"), nil, []point{{0, 0}}); ok {
		t.Error("axes around nothing")
	}
}
