//go:build python

package pickle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"testing"
)

// TestAgainstPython has columns of all kinds of objects pickled and their rows
// read by CPython; testdata/columns.py says what it compares.
func TestAgainstPython(t *testing.T) {
	exe := os.Getenv("FANOUTBENCH_PYTHON")
	if exe == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set; it must name a Python 3.11 or later")
	}
	cmd := exec.Command(exe, "testdata/columns.py", "7", "250")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	failed := answer(bufio.NewReader(out), bufio.NewWriter(in))
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("columns.py: %v\n%s", err, stderr.Bytes())
	}
	if failed != nil {
		t.Fatal(failed)
	}
	var compared, refused int

	if _, err := fmt.Sscan(stderr.String(), &compared, &refused); err != nil || compared < 1500 || refused > 100 {
		t.Errorf("columns.py compared %d groups of rows and %d columns were refused (%v), want more than 1500, and few", compared, refused, err)
	}
}

// answer cuts what comes until the end of r.
func answer(r *bufio.Reader, w *bufio.Writer) error {
	var c Column
	for {
		size, err := number(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return err
		}
		groups, err := groups(r)
		if err != nil {
			return err
		}
		if err := c.Parse(data); err != nil {
			reply(w, math.MaxUint32, nil)
			reply(w, len(err.Error()), []byte(err.Error()))
			groups = nil
		}
		for _, rows := range groups {
			row, _ := c.AppendRows(nil, rows)
			reply(w, len(row), row)
		}
		if err := w.Flush(); err != nil {
			return nil // the script says why it ended
		}
	}
}

func groups(r *bufio.Reader) ([][]int32, error) {
	n, err := number(r)
	list := make([][]int32, n)
	for k := range list {
		size, err := number(r)
		if err != nil {
			return nil, err
		}
		list[k] = make([]int32, size)
		if err := binary.Read(r, binary.LittleEndian, list[k]); err != nil {
			return nil, err
		}
	}
	return list, err
}

func number(r *bufio.Reader) (int, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return int(binary.LittleEndian.Uint32(b[:])), err
}

func reply(w *bufio.Writer, n int, data []byte) {
	_, _ = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), data...)) // errors stay in w
}
