//go:build python

package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPicklesInPython has CPython read the pickles of our rows and those that
// SGLang's own worker made of the same batches.
func TestPicklesInPython(t *testing.T) {
	exe := os.Getenv("FANOUTBENCH_PYTHON")
	if exe == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set; it must name a Python 3.11 or later")
	}
	var pairs bytes.Buffer
	for _, count := range []int{1, 2, 32, 310} {
		for step := range 3 {
			writePairs(t, &pairs, fmt.Sprintf("rich-%d-step%d", count, step))
		}
	}
	cmd := exec.Command(exe, "testdata/pairs.py")
	cmd.Stdin = &pairs
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintln(2 * 3 * (1 + 2 + 32 + 310)); err != nil || string(out) != want {
		t.Errorf("pairs.py: %v, %s, want %s", err, out, want)
	}
}

// writePairs writes the pickles of every row of a batch, ours and SGLang's.
func writePairs(t *testing.T, w *bytes.Buffer, name string) {
	t.Helper()
	view := &View{}
	if err := view.Parse(frames(t, "testdata/in-"+name+".bin")[0]); err != nil {
		t.Fatal(err)
	}
	for _, path := range files(t, "out-"+name+"-worker*") {
		var worker int
		if _, err := fmt.Sscanf(path[strings.Index(path, "-worker"):], "-worker%d", &worker); err != nil {
			t.Fatal(err)
		}
		for k, frame := range frames(t, path) {
			ours, err := DecodeStr(view.AppendRow(nil, worker+4*k, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := DecodeStr(frame)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []*Opaque{ours.CustomizedInfo, theirs.CustomizedInfo, ours.TimeStats, theirs.TimeStats} {
				w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(o.Data))))
				w.Write(o.Data)
			}
		}
	}
}
