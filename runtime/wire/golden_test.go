package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// frames reads the messages of a file in testdata.
func frames(t testing.TB, path string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(path) == ".bin" {
		return [][]byte{data}
	}
	var out [][]byte
	for len(data) > 0 {
		if len(data) < 4 || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-4) {
			t.Fatalf("%s: cut off", path)
		}
		n := 4 + binary.BigEndian.Uint32(data)
		out = append(out, data[4:n])
		data = data[n:]
	}
	return out
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("testdata/%s: %d files, error %v", pattern, len(paths), err)
	}
	return paths
}

func realFiles(t testing.TB) []string {
	return append(files(t, "*.bin"), files(t, "*.lpf")...)
}

// Every frame from SGLang decodes into typed fields and encodes again to the
// same bytes.
func TestRealFramesRoundTrip(t *testing.T) {
	n := 0
	for _, path := range realFiles(t) {
		for i, frame := range frames(t, path) {
			m, err := Decode(frame)
			if err != nil {
				t.Fatalf("%s, message %d: %v", path, i, err)
			}
			if got := mustEncode(t, m); !bytes.Equal(got, frame) {
				t.Fatalf("%s, message %d: got\n%x\nwant\n%x", path, i, got, frame)
			}
			rows, err := CountRows(frame)
			if err != nil || rows != m.Rows() || rows == 0 {
				t.Fatalf("%s, message %d: CountRows %d, %v; the message has %d", path, i, rows, err, m.Rows())
			}
			n++
		}
	}
	if n < 1000 {
		t.Fatalf("only %d frames", n)
	}
}

// SGLang's own rows: worker w's messages are the rows i of the batch with
// i mod workers = w, with http_worker_ipcs null.
func TestSplitGivesSGLangsRows(t *testing.T) {
	for _, kind := range []string{"plain", "rich"} {
		for _, count := range []int{1, 2, 32, 310} {
			if kind == "plain" && count == 310 {
				continue // not captured
			}
			for step, text := range []string{"a", " b", " c"} {
				name := fmt.Sprintf("%s-%d-step%d", kind, count, step)
				compareRows(t, name, count, text)
			}
		}
	}
}

func compareRows(t *testing.T, name string, count int, text string) {
	t.Helper()
	in, err := DecodeTokenID(frames(t, "testdata/in-"+name+".bin")[0])
	if err != nil {
		t.Fatal(err)
	}
	in.CustomizedInfo, in.TimeStats = nil, nil // pickles cannot be cut
	view := &View{}
	if err := view.Parse(mustEncode(t, in)); err != nil {
		t.Fatal(err)
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = text
	}
	out, err := in.Str(texts)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range files(t, "out-"+name+"-worker*") {
		var worker int
		if _, err := fmt.Sscanf(path[strings.Index(path, "-worker"):], "-worker%d", &worker); err != nil {
			t.Fatal(err)
		}
		for k, frame := range frames(t, path) {
			i := worker + 4*k
			want, err := DecodeStr(frame)
			if err != nil {
				t.Fatal(err)
			}
			want.CustomizedInfo, want.TimeStats = nil, nil
			got, err := Take(out, []int{i}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got.HTTPWorkerIPCs = nil
			wantFrame := mustEncode(t, want)
			if g := mustEncode(t, got); !bytes.Equal(g, wantFrame) {
				t.Fatalf("%s row %d by Take: got\n%q\nwant\n%q", name, i, g, wantFrame)
			}
			if g := view.AppendRow(nil, i, []byte(text), nil); !bytes.Equal(g, wantFrame) {
				t.Fatalf("%s row %d by View: got\n%q\nwant\n%q", name, i, g, wantFrame)
			}
			seen++
		}
	}
	if seen != count {
		t.Fatalf("%s: %d rows in the files, want %d", name, seen, count)
	}
}

// SGLang's grouped message is the rows 0, 4, 8, ... of its batch. The batch
// itself was not captured, so its columns are held against those of a batch of
// the same stream; the rids differ.
func TestGroupedFrame(t *testing.T) {
	got, err := DecodeStr(frames(t, "testdata/grouped-0523-rich-310-worker0.bin")[0])
	if err != nil {
		t.Fatal(err)
	}
	in, err := DecodeTokenID(frames(t, "testdata/in-rich-310-step0.bin")[0])
	if err != nil {
		t.Fatal(err)
	}
	in.CustomizedInfo, in.TimeStats = got.CustomizedInfo, got.TimeStats
	var rows []int
	for i := 0; i < in.Rows(); i += 4 {
		rows = append(rows, i)
	}
	texts := make([]string, in.Rows())
	for i := range texts {
		texts[i] = "a"
	}
	out, err := in.Str(texts)
	if err != nil {
		t.Fatal(err)
	}
	open := func(string, *Opaque) (Value, error) { return nil, nil }
	want, err := Take(out, rows, open)
	if err != nil {
		t.Fatal(err)
	}
	want.RIDs, want.CustomizedInfo, want.TimeStats = got.RIDs, got.CustomizedInfo, got.TimeStats
	if a, b := mustEncode(t, want), mustEncode(t, got); !bytes.Equal(a, b) {
		t.Fatalf("got\n%q\nwant\n%q", a, b)
	}
}
