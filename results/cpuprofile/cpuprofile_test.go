package cpuprofile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// stack is one sample: functions from the innermost on, the number of samples,
// and a label's value.
type stack struct {
	functions []string
	samples   int64
	plane     string
}

// made is a profile of those samples.
func made(t testing.TB, stacks ...stack) []byte {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		Mapping: []*profile.Mapping{{ID: 1, Start: 1, Limit: 1 << 40, File: "/some/where/fanoutbench"}}, Comments: []string{"of /some/where"},
	}
	known := map[string]*profile.Location{}
	for _, s := range stacks {
		sample := &profile.Sample{Value: []int64{s.samples, s.samples * 10_000_000}, Label: map[string][]string{}}
		if s.plane != "" {
			sample.Label[protocol.ProfilePlane] = []string{s.plane}
		}
		for _, name := range s.functions {
			if known[name] == nil {
				f := &profile.Function{ID: uint64(len(known) + 1), Name: name, Filename: "/some/where/" + name + ".go"}
				known[name] = &profile.Location{ID: f.ID, Mapping: p.Mapping[0], Address: 100 * f.ID, Line: []profile.Line{{Function: f, Line: 3}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, known[name])
			}
			sample.Location = append(sample.Location, known[name])
		}
		p.Sample = append(p.Sample, sample)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestKeepAndRead(t *testing.T) {
	raw := made(t, stack{[]string{"decode", "main"}, 3, ""}, stack{[]string{"json", "main"}, 100, protocol.ProfileControl},
		stack{[]string{"main"}, 2, "measured"}, stack{[]string{"decode", "other"}, 1, ""}, stack{nil, 4, ""})
	kept, err := Keep([][]byte{raw})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(kept)
	want := Profile{Samples: 10, CPUNS: 100_000_000, Flat: map[string]int64{"decode": 4, "main": 2, "unknown": 4}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	z, err := gzip.NewReader(bytes.NewReader(kept))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	if text := plain.String(); strings.Contains(text, "some/where") || !strings.Contains(text, "decode.go") || strings.Contains(text, "json") {
		t.Errorf("kept is %q; want files without folders, and nothing of the control plane", text)
	}
}

// The profiles of several processes are one; without one there is none.
func TestKeepSeveral(t *testing.T) {
	one := made(t, stack{[]string{"decode", "main"}, 3, ""}, stack{[]string{"json"}, 9, protocol.ProfileControl})
	two := made(t, stack{[]string{"route", "main"}, 4, ""}, stack{[]string{"decode", "main"}, 1, ""})
	kept, err := Keep([][]byte{one, two, one})
	if err != nil {
		t.Fatal(err)
	}
	want := Profile{Samples: 11, CPUNS: 110_000_000, Flat: map[string]int64{"decode": 7, "route": 4}}
	if got, err := Read(kept); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for name, parts := range map[string][][]byte{"none": nil, "process 1: ": {one, []byte("text")}} {
		if _, err := Keep(parts); err == nil || name != "none" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What runtime/pprof writes can be read. This test's profile may have no sample.
func TestReadsTheRuntimesOwn(t *testing.T) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Fatal(err)
	}
	pprof.StopCPUProfile()
	kept, err := Keep([][]byte{b.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Read(kept); err != nil || p.Samples < 0 || p.CPUNS != 10_000_000*p.Samples {
		t.Errorf("%+v, %v", p, err)
	}
}

// Changed against a list of all differences, sorted without it.
func TestChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	draw := func() Profile {
		p := Profile{Flat: map[string]int64{}}
		for range rng.IntN(15) {
			n := rng.Int64N(5)
			p.Flat[fmt.Sprintf("f%02d", rng.IntN(20))] += n
			p.Samples += n
		}
		return p
	}
	for range 300 {
		r, c := draw(), draw()
		got := Changed(r, c, 10)
		names := maps.Clone(r.Flat)
		maps.Copy(names, c.Flat)
		var lines []string
		for name := range names {
			share := func(p Profile) float64 {
				if p.Samples == 0 {
					return 0
				}
				return 100 * float64(p.Flat[name]) / float64(p.Samples)
			}
			cross := r.Flat[name]*max(1, c.Samples) - c.Flat[name]*max(1, r.Samples)
			lines = append(lines, fmt.Sprintf("%020d %s %v %v", 1_000_000-max(cross, -cross), name, share(r), share(c)))
		}
		slices.Sort(lines)
		var want, have []string
		for _, l := range lines[:min(10, len(lines))] {
			want = append(want, l[21:])
		}
		for _, g := range got {
			have = append(have, fmt.Sprintf("%s %v %v", g.Function, g.Reference, g.Candidate))
		}
		if !slices.Equal(have, want) {
			t.Fatalf("reference %v, candidate %v:\n got %q\nwant %q", r.Flat, c.Flat, have, want)
		}
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"runtime.mallocgc": "runtime.mallocgc",
		"github.com/fanoutbench/fanoutbench/runtime/wire.(*View).item":                                          "runtime/wire.(*View).item",
		"github.com/fanoutbench/fanoutbench/runtime/wire.checked[go.shape.d56,go.shape.*example.org/x.Y].func1": "runtime/wire.checked[...].func1",
		"example.org/github.com/x.F[int]":                                                                       "example.org/github.com/x.F[int]",
	} {
		if got := Short(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	good := made(t, stack{[]string{"main"}, 1, ""})
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for range MaxUnpacked>>20 + 1 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	negative := made(t, stack{[]string{"main"}, -1, ""})
	huge := made(t, stack{[]string{"main"}, 1 << 38, ""}, stack{[]string{"main"}, math.MaxInt64 / 10_000_000, ""}, stack{[]string{"main"}, math.MaxInt64 / 10_000_000, ""})
	var heap bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing": {nil, "want a gzip file"}, "text": {[]byte("profile"), "want a gzip file"}, "cut short": {good[:len(good)-9], "unexpected EOF"},
		"too large": {make([]byte, MaxFile+1), "want at most 16777216"}, "a bomb": {bomb.Bytes(), "more than 67108864 bytes unpacked"},
		"below zero": {negative, "none below 0"}, "beyond 63 bits": {huge, "within 63 bits"}, "a heap profile": {heap.Bytes(), "want a CPU profile"},
	} {
		if _, err := Read(k.b); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v, want %q", name, err, k.want)
		}
	}
}

// No bytes break it; what is kept can be read, and shares add up to 100.
func FuzzRead(f *testing.F) {
	unpacked := func(b []byte) []byte {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			f.Fatal(err)
		}
		var plain bytes.Buffer
		if _, err := plain.ReadFrom(z); err != nil {
			f.Fatal(err)
		}
		return plain.Bytes()
	}
	f.Add(unpacked(made(f, stack{[]string{"decode", "main"}, 3, ""}, stack{[]string{"json"}, 7, "control"})))
	f.Add([]byte("\x0a\x04\x08\x01\x10\x02"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		kept, err := Keep([][]byte{b.Bytes()})
		if err != nil {
			return
		}
		p, err := Read(kept)
		if err != nil {
			return
		}
		sum := 0.0
		for _, c := range Changed(p, Profile{}, math.MaxInt) {
			sum += c.Reference
		}
		if p.Samples > 0 && math.Abs(sum-100) > 1e-6 {
			t.Errorf("shares add up to %v", sum)
		}
	})
}
