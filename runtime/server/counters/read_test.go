package counters

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A file of which an end is missing, or that has something behind its end, is
// refused by name at every length.
func TestCutFile(t *testing.T) {
	folder := t.TempDir()
	_, path := create(t, folder, "worker-0", all)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(folder, "cut.counters")
	for n := range len(whole) {
		_, err := readBytes(t, cut, whole[:n])
		wantError(t, err, "counters "+cut)
	}
	_, err = readBytes(t, cut, append(bytes.Clone(whole), 0))
	wantError(t, err, cut, "bytes, wanted", "and 9 words")
	if _, err := readBytes(t, cut, whole); err != nil {
		t.Fatal(err)
	}
}

func readBytes(t testing.TB, path string, data []byte) (map[string]Value, error) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

func TestReadRefuses(t *testing.T) {
	const head = "fanoutbench counters 1\n"
	words := strings.Repeat("\x00", 8)
	line := func(rest string) string { return head + "1\n" + rest + "\n" }
	for name, c := range map[string]struct{ file, want string }{
		"empty":          {"", `begins with "", wanted "fanoutbench counters 1\n"`},
		"version":        {strings.Replace(line(""), "1", "2", 1), `begins with "fanoutbench counters 2\n"`},
		"no number":      {head, "ends before the number of metrics"},
		"number":         {head + "-1\n", `number of metrics "-1", wanted 1 to 1000`},
		"large number":   {head + "99999999999999999999999999\n", `number of metrics "99999999999999999999"`},
		"too few lines":  {head + "2\n" + `{"name":"a","help":"A.","kind":"counter"}` + "\n", "ends within metric 1 of 2"},
		"no JSON":        {line("a"), "metric 0: invalid character"},
		"bound":          {line(`{"name":"a","help":"A.","kind":"histogram","buckets":[1e999]}`), "metric 0: json:"},
		"double":         {head + "2\n" + strings.Repeat(`{"name":"a","help":"A.","kind":"counter"}`+"\n", 2), "two metrics are named a"},
		"name":           {line(`{"name":"a:b","help":"A.","kind":"counter"}`), `the name "a:b", wanted snake_case`},
		"kind":           {line(`{"name":"a","help":"A.","kind":"c"}`), `kind "c"`},
		"unknown field":  {line(`{"name":"a","help":"A.","kind":"counter","x":1}`), "are not written as"},
		"a second time":  {line(`{"name":"b","name":"a","help":"A.","kind":"counter"}`), "are not written as"},
		"plus":           {head + "+1\n" + `{"name":"a","help":"A.","kind":"counter"}` + "\n" + words, "are not written as"},
		"no UTF-8":       {line("{\"name\":\"a\",\"help\":\"\xff\",\"kind\":\"counter\"}"), "are not written as"},
		"padding missed": {line(`{"name":"a","help":"A.","kind":"counter"}`), "end before their padding"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.counters")
			_, err := readBytes(t, path, []byte(c.file))
			wantError(t, err, "counters "+path+": ", c.want)
		})
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	folder := t.TempDir()
	_, err := Read(filepath.Join(folder, "none.counters"))
	wantError(t, err, "none.counters", "no such file")

	_, err = Read(folder)
	wantError(t, err, folder, "is no regular file")

	// A beat's fourth state does not exist.
	s, path := create(t, folder, "worker-0", all)
	s.metrics["loop"].words[0].Store(3)
	_, err = Read(path)
	wantError(t, err, path, "the beat loop has the state 3, wanted 0 to 2")
}

// A pipe of that name would block the reader for ever if it were opened plainly.
func TestReadDoesNotWaitForAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.counters")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(path)
	wantError(t, err, path, "is no regular file")
}

// A file that is cut under the reader is an error, not the end of the process.
func TestCutWhileItIsRead(t *testing.T) {
	_, path := create(t, t.TempDir(), "worker-0", all)
	p, err := openPart(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	wantError(t, p.read(beforeBuilt), path, "was cut short while it was read")
}

// Other panics are not taken for a cut file.
func TestGuardLetsOtherPanicsThrough(t *testing.T) {
	defer func() {
		if recover() != "mine" {
			t.Error("the panic did not come through")
		}
	}()
	t.Error(guard("x", func() { panic("mine") }))
}

// FuzzRead gives the parser anything. A file comes in only where one was taken:
// what was read of it is what Create makes, and nothing else is taken for one of ours.
func FuzzRead(f *testing.F) {
	_, path := create(f, f.TempDir(), "worker-0", all)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte(magic + "1\n{\"name\":\"a\",\"help\":\"A.\",\"kind\":\"histogram\",\"buckets\":[1,2]}\n\x00\x00"))
	f.Add([]byte(magic + "1000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		specs, header, err := parse(data)
		if err != nil {
			return
		}
		folder := t.TempDir()
		_, made := create(t, folder, "made", specs)
		again, err := os.ReadFile(made)
		if err != nil || !bytes.Equal(again[:header], data[:header]) || len(again) != header+8*total(specs) {
			t.Errorf("%v: Create makes %q of what was read from %q", err, again, data)
		}
		given := filepath.Join(folder, "given.counters")
		values, err := readBytes(t, given, data)
		if len(data) != len(again) {
			wantError(t, err, given, "bytes, wanted")
		} else if err != nil {
			wantError(t, err, given, "has the state 3")
		} else if len(values) != len(specs) {
			t.Errorf("%d metrics read, %d parsed", len(values), len(specs))
		}
	})
}
