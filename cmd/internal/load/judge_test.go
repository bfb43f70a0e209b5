package load

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// queue plays one server that answers one request at a time; the sender is on time.
func queue(s Schedule, service func() float64) Result {
	sent := make([]Sent, len(s.At))
	free := 0.0
	for i, at := range s.At {
		sentAt, done := at, max(at, free)+service()
		free = done
		sent[i] = Sent{Index: i, Request: s.Request[i], Intended: at, Sent: &sentAt, FirstByte: &done, Done: &done, Status: 200}
	}
	return Result{Sent: sent, Wall: free}
}

func steady(seconds float64) func() float64 { return func() float64 { return seconds } }

// exponential service times of a mean, always the same ones for a seed.
func exponential(seed uint64, mean float64) func() float64 {
	r := rand.New(rand.NewPCG(seed, 99))
	return func() float64 { return r.ExpFloat64() * mean }
}

// shift sends every request later than it was due.
func shift(r Result, by func(i int) float64) Result {
	for i := range r.Sent {
		at := r.Sent[i].Intended + by(i)
		r.Sent[i].Sent = &at
	}
	return r
}

func TestLatencies(t *testing.T) {
	at, first, done := 2.5, 3.0, 4.0
	x := Sent{Intended: 2, Sent: &at, FirstByte: &first, Done: &done}
	none := Sent{Intended: 2}
	for _, test := range []struct {
		name string
		of   func(Sent) (float64, bool)
		want float64
	}{
		{"latency, from the intended time", Sent.Latency, 2}, {"first byte, from the intended time", Sent.FirstByteLatency, 1},
		{"service, from the send", Sent.Service, 1.5}, {"lateness", Sent.Lateness, 0.5},
	} {
		if got, ok := test.of(x); !ok || got != test.want {
			t.Errorf("%s: %v, %v; want %v", test.name, got, ok, test.want)
		}
		if got, ok := test.of(none); ok {
			t.Errorf("%s of a request never sent: %v, want none", test.name, got)
		}
	}
}

func TestSpreadIsByNearestRank(t *testing.T) {
	x := make([]float64, 1000)
	for i := range x {
		x[(i*7)%1000] = float64(i + 1)
	}
	if got, want := SpreadOf(x), (Spread{N: 1000, P50: 500, P90: 900, P99: 990, P999: 999, Max: 1000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := SpreadOf([]float64{3}); got != (Spread{N: 1, P50: 3, P90: 3, P99: 3, P999: 3, Max: 3}) {
		t.Errorf("of one value: %+v", got)
	}
	if got := SpreadOf(nil); got != (Spread{}) {
		t.Errorf("of none: %+v", got)
	}
}

func TestJudgeRules(t *testing.T) {
	s := newSchedule(t, poisson(5, 100, 10))
	good := func() Result { return queue(s, steady(0.005)) }
	with := func(r Result, change func(*Sent), which ...int) Result {
		for _, i := range which {
			change(&r.Sent[i])
		}
		return r
	}
	tests := []struct {
		name   string
		result Result
		limits Limits
		want   []string // the beginnings of the reasons
	}{
		{"as it should be", good(), DefaultLimits(), nil},
		{"a record missing", Result{Sent: good().Sent[1:]}, DefaultLimits(), []string{"unsent: "}},
		{"one unsent", with(good(), func(x *Sent) { *x = Sent{Err: "not sent: no descriptors"} }, 3), DefaultLimits(), []string{"unsent: 1 of"}},
		{"two fail", with(good(), func(x *Sent) { x.Err, x.Done = "status 500", nil }, 3, 9), DefaultLimits(), []string{"errors: 2 of"}},
		{"two may fail", with(good(), func(x *Sent) { x.Err = "status 500" }, 3, 9), Limits{Lateness: 1, Failures: 0.01}, nil},
		{"late beyond 1 ms", shift(queue(s, steady(0.005)), func(int) float64 { return 0.0011 }), NullLimits(), []string{"lateness: "}},
		{"late within 1 ms", shift(good(), func(int) float64 { return 0.0009 }), NullLimits(), nil},
		{"late beyond a twentieth of the median", shift(good(), func(int) float64 { return 0.0009 }), DefaultLimits(), []string{"lateness: "}},
		{"quick failures say nothing of the median", shift(with(good(), func(x *Sent) {
			x.Err, x.FirstByte, x.Done = "status 503", &x.Intended, &x.Intended
		}, firstN(800)...), func(int) float64 { return 0.0002 }), Limits{Lateness: 1e-3, LatenessShare: 0.05, Late: 0.01, Failures: 1}, nil},
		{"fewer than one in a hundred late", shift(good(), func(i int) float64 { return 0.5 * float64(1-min(i%150, 1)) }), NullLimits(), nil},
		{"one in ten late, of a trial", shift(queue(s, steady(0.005)), func(i int) float64 { return 0.5 * float64(1-min(i%11, 1)) }), DefaultLimits(), nil},
		{"more than one in ten late", shift(queue(s, steady(0.005)), func(i int) float64 { return 0.5 * float64(1-min(i%9, 1)) }), DefaultLimits(), []string{"lateness: 1"}},
		{"a sender at half the rate", shift(good(), func(i int) float64 { return s.At[i] }), Limits{Lateness: 100}, []string{"rate: requests were sent"}},
		{"a server at half the rate", queue(s, steady(0.02)), DefaultLimits(), []string{"saturation: requests were answered", "saturation: requests in flight grew"}},
		{"a stall in the middle", queue(s, stallAt(400, 0.5)), NullLimits(), nil},
	}
	for _, test := range tests {
		v := Judge(s, test.result, test.limits)
		ok := len(v.Reasons) == len(test.want) && v.Valid == (len(test.want) == 0)
		for i := range min(len(v.Reasons), len(test.want)) {
			ok = ok && strings.HasPrefix(v.Reasons[i], test.want[i])
		}
		if !ok {
			t.Errorf("%s: valid %v, reasons %q; want %q", test.name, v.Valid, v.Reasons, test.want)
		}
	}
}

// Short loops in which every answer takes its own time, whatever else is in flight, do not saturate anything.
func TestJudgeShortLoops(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	for seed := range uint64(2000) {
		s := newSchedule(t, poisson(seed, 37, 1))
		sent := make([]Sent, len(s.At))
		for i, at := range s.At {
			sentAt, done := at, at+0.1+0.04*random.ExpFloat64()
			sent[i] = Sent{Index: i, Intended: at, Sent: &sentAt, FirstByte: &done, Done: &done, Status: 200}
		}
		if v := Judge(s, Result{Sent: sent}, NullLimits()); !v.Valid {
			t.Errorf("seed %d: %q, want it valid", seed, v.Reasons)
		}
	}
}

func firstN(n int) []int {
	which := make([]int, n)
	for i := range which {
		which[i] = i
	}
	return which
}

// stallAt is a fast server that takes long for one request.
func stallAt(request int, seconds float64) func() float64 {
	i := -1
	return func() float64 {
		if i++; i == request {
			return seconds
		}
		return 0.001
	}
}

// The rate is judged against the schedule's own: one whose realised rate is far from the one asked for is valid.
func TestOfferedIsTheRealisedRate(t *testing.T) {
	for seed := range uint64(1000) {
		s := newSchedule(t, poisson(seed, 10, 4))
		if len(s.At) < 60 {
			continue
		}
		v := Judge(s, queue(s, steady(0.001)), NullLimits())
		if !v.Valid || v.Offered != float64(len(s.At))/4 {
			t.Errorf("%d requests where 40 were asked for: offered %v, reasons %q; want it valid", len(s.At), v.Offered, v.Reasons)
		}
		return
	}
	t.Error("no seed gives 60 requests for 40; want one to test")
}

// How often the rules of saturation speak, by load, of 300 schedules of 1,000 requests at a server with exponential service
// times. The seeds are fixed, so the counts are too.
func TestSaturationByLoad(t *testing.T) {
	for _, test := range []struct {
		load       float64
		least, top int
	}{{0.3, 0, 0}, {0.5, 0, 0}, {0.7, 0, 3}, {0.8, 0, 9}, {0.9, 0, 30}, {1.1, 150, 300}, {1.2, 285, 300}, {1.5, 300, 300}, {2, 300, 300}} {
		invalid := 0
		for seed := range uint64(300) {
			s := newSchedule(t, poisson(seed, 100, 10))
			if !Judge(s, queue(s, exponential(seed, test.load/100)), NullLimits()).Valid {
				invalid++
			}
		}
		if invalid < test.least || invalid > test.top {
			t.Errorf("load %v: %d of 300 invalid, want %d to %d", test.load, invalid, test.least, test.top)
		}
	}
}

// Judging is pure: the records stay as they are, and give the same verdict again.
func TestJudgeChangesNothing(t *testing.T) {
	s := newSchedule(t, poisson(2, 100, 3))
	r := queue(s, exponential(1, 0.009))
	before, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Clone(s.At)
	v := Judge(s, r, DefaultLimits())
	after, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) || !slices.Equal(at, s.At) {
		t.Error("the records or the schedule were changed")
	}
	if again := Judge(s, r, DefaultLimits()); !slices.Equal(again.Reasons, v.Reasons) || again.InFlight != v.InFlight {
		t.Errorf("%+v, and judged again %+v", v, again)
	}
}
