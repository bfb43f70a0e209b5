package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// sampled is a CPU profile whose samples are those of single functions.
func sampled(t testing.TB, samples map[string]int64) []byte {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
	}
	for name, n := range samples {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{n, 10_000_000 * n}})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// profiledRun has profiles of two cells, in one of them of both arms.
func profiledRun(t testing.TB) string {
	dir := exampleRun(t)
	for _, k := range []struct {
		count   int
		arm     string
		samples map[string]int64
	}{
		{1, Reference, map[string]int64{"runtime.futex": 2}},
		{32, Reference, map[string]int64{"runtime.mallocgc": 60, "a|b": 20, "runtime.futex": 20, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}},
		{32, Candidate, map[string]int64{"runtime.mallocgc": 10, "a|b": 80, "runtime.futex": 10}},
	} {
		if err := KeepProfile(dir, k.count, "rich", k.arm, [][]byte{sampled(t, k.samples)}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestProfileGoldens(t *testing.T) {
	dir := profiledRun(t)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "markdown"} {
		golden(t, "profiled."+endings[format], reported(t, f, format))
	}
	plain, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"csv", "json"} {
		if reported(t, f, format) != reported(t, plain, format) {
			t.Errorf("%s shows profiles", format)
		}
	}
	if names, details := failed(t, dir, VerifyOptions{}); len(names) > 0 {
		t.Error(details)
	}
}

// A profile that cannot be read is an error, and nothing is put into a run folder
// that could not be read again.
func TestProfileRefused(t *testing.T) {
	dir := profiledRun(t)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, KeepProfile(dir, 1, "plain", Candidate, [][]byte{[]byte("no profile")}), "1-plain-candidate.pb.gz", "gzip")
	if _, err := os.Lstat(filepath.Join(dir, profileName(1, "plain", Candidate))); err == nil {
		t.Error("it is there all the same")
	}
	overwrite(t, dir, profileName(32, "rich", Candidate), "no profile")
	var b bytes.Buffer
	wantError(t, Report(&b, f, "text"), "32-rich-candidate.pb.gz", "gzip")
	if b.Len() > 0 {
		t.Errorf("wrote %q all the same", b.String())
	}
	broken := brokenRun(t, StatusInvalid)
	if err := KeepProfile(broken, 1, "rich", Reference, [][]byte{sampled(t, map[string]int64{"f": 1})}); err != nil {
		t.Fatal(err)
	}
	overwrite(t, broken, profileName(1, "plain", Reference), "no profile") // nor does it look at one
	if f, err = Read(broken); err != nil {
		t.Fatal(err)
	}
	if got := reported(t, f, "text"); strings.Contains(got, "profile") {
		t.Errorf("a run that is not verified shows a profile:\n%s", got)
	}
}
