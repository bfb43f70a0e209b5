package protocol

import (
	"strings"
	"testing"
	"time"
)

func TestParseRouting(t *testing.T) {
	for options, want := range map[string]Routing{
		"":                           {1, RouterNone},
		"detokenizers=1":             {1, RouterNone},
		"detokenizers=1 router=rid":  {1, RouterNone},
		"detokenizers=1 router=none": {1, RouterNone},
		"router=ipc":                 {1, RouterNone},
		"detokenizers=2":             {2, RouterRID},
		"detokenizers=64 router=ipc": {64, RouterIPC},
		"zmq=zmtp detokenizers=3":    {3, RouterRID},
	} {
		if got, err := ParseRouting(fields(options)); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", options, got, err, want)
		}
	}
	for options, want := range map[string]string{
		"detokenizers=0":             `detokenizers is "0", want 1 to 64`,
		"detokenizers=65":            `detokenizers is "65"`,
		"detokenizers=two":           `detokenizers is "two"`,
		"detokenizers=":              `detokenizers is ""`,
		"router=luck":                `router is "luck", want "rid" or "ipc"`,
		"detokenizers=2 router=none": `router is "none" with 2 detokenizers`,
	} {
		if got, err := ParseRouting(fields(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want an error with %q", options, got, err, want)
		}
	}
}

func fields(options string) map[string]string {
	m := map[string]string{}
	for _, o := range strings.Fields(options) {
		k, v, _ := strings.Cut(o, "=")
		m[k] = v
	}
	return m
}

func TestTarget(t *testing.T) {
	const crc = 0xcbf43926 // of 123456789, the check value of zlib's crc32
	for _, n := range []int{2, 3, 7, 64} {
		if got := (Routing{n, RouterRID}).Target("123456789", "other"); got != crc%n {
			t.Errorf("by rid, of %d: %d, want %d", n, got, crc%n)
		}
		if got := (Routing{n, RouterIPC}).Target("other", "123456789"); got != crc%n {
			t.Errorf("by ipc, of %d: %d, want %d", n, got, crc%n)
		}
	}
	for _, r := range []Routing{{}, {1, RouterNone}} {
		if got := r.Target("123456789", "x"); got != 0 || r.PathsPerConsumer() != 1 {
			t.Errorf("%+v: target %d, %d paths", r, got, r.PathsPerConsumer())
		}
	}
	if (Routing{5, RouterRID}).PathsPerConsumer() != 5 || (Routing{5, RouterIPC}).PathsPerConsumer() != 1 {
		t.Error("a consumer gets rows of every detokenizer by rid, of one by ipc")
	}
}

func TestPace(t *testing.T) {
	for pace, want := range map[string]float64{PaceArrived: 0, PaceNone: 0, "rate:100": 100, "rate:0.5": 0.5, "rate:1e+06": 1e6} {
		got, err := ParsePace(pace)
		if err != nil || got != want || got != 0 && RatePace(got) != pace {
			t.Errorf("%q: %v, %v, want %v", pace, got, err, want)
		}
	}
	for _, pace := range []string{"", "slow", "100", "rate:", "rate:0", "rate:-1", "rate:x", "rate:nan", "rate:1e-04", "rate:+Inf", "rate:1000001", "rate:1.0", "rate: 1"} {
		if got, err := ParsePace(pace); err == nil {
			t.Errorf("%q: %v, want an error", pace, got)
		}
	}
	if got := Intended(4, 3); got != 750*time.Millisecond {
		t.Errorf("batch 3 at 4 a second is due after %v, want 750ms", got)
	}
}
