package sim

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// clock is a time that passes only when something sleeps, or a call of Now takes
// some.
type clock struct {
	now   float64
	call  float64   // what each call of Now takes
	over  []float64 // how much too long each sleep is
	slept []float64 // the deadlines
	fail  error
}

func (c *clock) Now() float64 {
	c.now += c.call
	return c.now
}

func (c *clock) SleepUntil(seconds float64) error {
	over := 0.0
	if n := len(c.slept); n < len(c.over) {
		over = c.over[n]
	}
	c.slept = append(c.slept, seconds)
	c.now = max(c.now, seconds) + over
	return c.fail
}

func device(t testing.TB, c Config) *Model {
	t.Helper()
	if c.Clock == nil {
		c.Clock = &clock{}
	}
	c.ContextLength = 10000
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func work(rid string, prompt, start int, tokens ...int64) model.Work {
	return model.Work{RID: rid, Tokens: tokens, IDs: tokens[start:], Start: start, Prompt: prompt, Next: -1, Sample: true}
}

func forward(t *testing.T, m *Model, works ...model.Work) model.Output {
	t.Helper()
	out, err := m.Forward(&model.Batch{Work: works})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Numbers are sums of powers of two, so the sums are exact.
func TestStepTime(t *testing.T) {
	c := &clock{now: 8}
	m := device(t, Config{Clock: c, Step: StepTime{Base: 1, PerToken: 0.25, PerContext: 0.125}})
	forward(t, m, work("a", 4, 0, 1, 2, 3, 4), work("b", 2, 2, 1, 2, 3)) // 5 tokens, 4 + 3 of context
	if want := 8 + 1 + 1.25 + 0.875; c.now != want {
		t.Errorf("returned at %g, want %g", c.now, want)
	}
	if got, want := m.Stats(), (Stats{Steps: 1, Seconds: 3.125}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A sleep that is too long makes the next step shorter, by as much.
func TestLatenessDoesNotAddUp(t *testing.T) {
	c := &clock{over: []float64{0.25, 0, 0.5, 0.125}}
	m := device(t, Config{Clock: c, Step: StepTime{Base: 1}})
	var ends []float64
	for range 5 {
		forward(t, m, work("a", 1, 0, 1))
		ends = append(ends, c.now)
	}
	for i, want := range []float64{1.25, 2, 3.5, 4.125, 5} {
		if ends[i] != want {
			t.Errorf("steps ended at %v, want %g for number %d", ends, want, i)
		}
	}
	if got, want := m.Stats(), (Stats{Steps: 5, Seconds: 5, Late: 0.875, WorstLate: 0.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// What the caller does in between counts.
	c.now += 3
	forward(t, m, work("a", 1, 0, 1))
	if c.now != 9 {
		t.Errorf("ended at %g, want 9", c.now)
	}
}

// A step whose deadline is over before it sleeps does not sleep, and is counted;
// those after it catch up.
func TestMissedDeadlines(t *testing.T) {
	c := &clock{over: []float64{2.5}}
	m := device(t, Config{Clock: c, Step: StepTime{Base: 1}})
	for range 4 {
		forward(t, m, work("a", 1, 0, 1))
	}
	if got, want := m.Stats(), (Stats{Steps: 4, Seconds: 4, Late: 2.5 + 1.5 + 0.5, WorstLate: 2.5, Missed: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(c.slept) != 2 || c.now != 4 {
		t.Errorf("slept until %v, ended at %g; want two sleeps, and 4", c.slept, c.now)
	}
}

// Drawing the tokens is a part of the step: the sleep ends when it would without.
func TestWorkCountsTowardsTheDeadline(t *testing.T) {
	c := &clock{call: 0.25}
	m := device(t, Config{Clock: c, Step: StepTime{Base: 4}})
	forward(t, m, work("a", 1, 0, 1))
	if len(c.slept) != 1 || c.slept[0] != 4.25 {
		t.Errorf("slept until %v, want 4.25: the step's time after its begin", c.slept)
	}
}

func TestForwardErrors(t *testing.T) {
	stopped := errors.New("the service ends")
	early := &clock{over: []float64{-0.5}}
	all := work("r", 1, 0, 1)
	all.Sampling = &model.Sampling{MinNewTokens: 1}
	for id := range int64(vocabSize) {
		all.Sampling.StopTokenIDs = append(all.Sampling.StopTokenIDs, id)
	}
	twice, none, few := work("r", 1, 0, 1, 2), work("r", 1, 0, 1), work("r", 5, 0, 1)
	twice.Start = 1
	none.IDs = nil
	scores := work("r", 1, 0, 1)
	scores.Logprobs = model.Logprobs{Want: true, Top: vocabSize + 1}
	for want, test := range map[string]struct {
		clock *clock
		works []model.Work
	}{
		"a batch without work":                                 {&clock{}, nil},
		`rid "r": 2 ids behind 1 are the end of 2 tokens`:      {&clock{}, []model.Work{twice}},
		`rid "r": 0 ids behind 0 are the end of 1 tokens`:      {&clock{}, []model.Work{none}},
		`rid "r": 5 tokens of the prompt, expected 0 to all 1`: {&clock{}, []model.Work{few}},
		"a step of 1 s: the service ends":                      {&clock{fail: stopped}, []model.Work{work("r", 1, 0, 1)}},
		"the clock woke at 0.5 s, expected not before 1 s":     {early, []model.Work{work("r", 1, 0, 1)}},
		"min_new_tokens is 1, and every printable":             {&clock{}, []model.Work{all}},
		"top_logprobs_num is 265, expected 0 to 264":           {&clock{}, []model.Work{scores}},
	} {
		m := device(t, Config{Clock: test.clock, Step: StepTime{Base: 1}, Shares: Shares{Stop: 1}})
		if _, err := m.Forward(&model.Batch{Work: test.works}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	nan := math.NaN()
	for want, c := range map[string]Config{
		"the context length is 1, expected at least 2":                       {ContextLength: 1},
		"the base of the step time is -1 s, expected 0 to 3600 s":            {Step: StepTime{Base: -1}},
		"the step time per token is NaN s, expected 0 to 3600 s":             {Step: StepTime{PerToken: nan}},
		"the step time per token of context is +Inf s, expected 0 to 3600 s": {Step: StepTime{PerContext: math.Inf(1)}},
		"the share of multi-byte tokens is 1.5, expected 0 to 1":             {Shares: Shares{MultiByte: 1.5}},
		"the share of empty tokens is -0.1, expected 0 to 1":                 {Shares: Shares{Empty: -0.1}},
		"the share of special tokens is NaN, expected 0 to 1":                {Shares: Shares{Special: nan}},
		"the share of stop tokens is 2, expected 0 to 1":                     {Shares: Shares{Stop: 2}},
		"the shares of tokens are 1.25 together, expected at most 1":         {Shares: Shares{MultiByte: 0.5, Empty: 0.5, Special: 0.25}},
	} {
		c.Clock = &clock{}
		if c.ContextLength == 0 {
			c.ContextLength = 100
		}
		if _, err := New(c); err == nil || err.Error() != "sim: "+want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := New(Config{ContextLength: 9}); err == nil || !strings.Contains(err.Error(), "no clock") {
		t.Errorf("error %v for no clock", err)
	}
}

// The real clock keeps the order of events; how long it takes is not looked at.
func TestWall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := NewWall(ctx)
	deadline := w.Now() + 1e-4
	if err := w.SleepUntil(deadline); err != nil || w.Now() < deadline {
		t.Errorf("%v; %g s, before the deadline %g s", err, w.Now(), deadline)
	}
	if err := w.SleepUntil(-5); err != nil {
		t.Error(err)
	}
	end := errors.New("the service ends")
	cancel(end)
	if err := w.SleepUntil(w.Now() + 1e12); !errors.Is(err, end) {
		t.Errorf("error %v, want %v", err, end)
	}
}
