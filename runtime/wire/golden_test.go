package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle/pickletest"
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
// i mod workers = w, with http_worker_ipcs null. Pickles are equal once read: ours
// have no frames and leave the list and the dict around a row out of the memo.
// All other bytes are the same.
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
			got, err := Take(out, []int{i}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got.HTTPWorkerIPCs = nil
			if strings.HasPrefix(name, "rich") && (want.CustomizedInfo == nil || want.TimeStats.Wrapper != PickleWrapper) {
				t.Fatalf("%s row %d has no pickles", name, i)
			}
			byTake := mustEncode(t, got)
			if byView := view.AppendRow(nil, i, []byte(text), nil); !bytes.Equal(byTake, byView) {
				t.Fatalf("%s row %d: Take gives\n%q\nView\n%q", name, i, byTake, byView)
			}
			sizes(t, got, want)
			if g, w := rebased(t, got), rebased(t, want); !bytes.Equal(g, w) {
				t.Fatalf("%s row %d: got\n%q\nwant\n%q", name, i, g, w)
			}
			seen++
		}
	}
	if seen != count {
		t.Fatalf("%s: %d rows in the files, want %d", name, seen, count)
	}
}

// rebased is a message's frame with its pickles read, and times rounded.
func rebased(t *testing.T, m *BatchStrOutput, more ...func(string) string) []byte {
	t.Helper()
	for _, o := range []**Opaque{&m.CustomizedInfo, &m.TimeStats} {
		v, err := openAny(*o)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			continue
		}
		if list, ok := v.([]Value); ok {
			for i := range list {
				text := pickletest.RoundTimes(list[i].(string))
				for _, f := range more {
					text = f(text)
				}
				list[i] = text
			}
		}
		*o = &Opaque{Native: v}
	}
	return mustEncode(t, m)
}

// sizes makes sure that a row's pickles are no larger than SGLang's.
func sizes(t *testing.T, got, want *BatchStrOutput) {
	t.Helper()
	for k, o := range []*Opaque{got.CustomizedInfo, got.TimeStats} {
		w := []*Opaque{want.CustomizedInfo, want.TimeStats}[k]
		if o != nil && len(o.Data) > len(w.Data) {
			t.Errorf("a pickle of %d bytes, SGLang's has %d", len(o.Data), len(w.Data))
		}
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
	want, err := Take(out, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	want.RIDs = got.RIDs
	// 0.5.23 has two fields more before the clock's offset, which was another one.
	start := func(text string) string { before, _, _ := strings.Cut(text, " #10="); return before }
	if a, b := rebased(t, want, start), rebased(t, got, start); !bytes.Equal(a, b) {
		t.Fatalf("got\n%q\nwant\n%q", a, b)
	}
}
