package controller

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

const captured = "../../../runtime/wire/testdata"

const wordsFile = `{"kind":"words","tokens":[{"id":0,"bytes":"Pw==","special":false},{"id":1,"bytes":"YQ==","special":false}]}`

// recordingOf writes files into a folder and reads it.
func recordingOf(t testing.TB, files map[string][]byte) (*stream.Recording, error) {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return ReadRecording(dir)
}

func frameFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(captured, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func prefixed(frames ...[]byte) []byte {
	var b []byte
	for _, f := range frames {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	return b
}

// replayed encodes a batch as a trial would, for the given consumers.
func replayed(t testing.TB, b protocol.Batch, transport string, endpoints []string) []byte {
	t.Helper()
	c := &controller{ends: endpoints}
	c.hello.Transport = transport
	o, err := c.message(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := o.encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestReplay: a frame of SGLang's, read and sent again to the same consumers, has
// the same bytes; in what order files, and frames in a file, were read shows in
// the batches.
func TestReplay(t *testing.T) {
	var frames [][]byte
	for step := range 3 {
		frames = append(frames, frameFile(t, fmt.Sprintf("in-plain-32-step%d.bin", step)))
	}
	rec, err := recordingOf(t, map[string][]byte{
		"b.lpf": prefixed(frames[1], frames[2]), "a.bin": frames[0], "vocabulary.json": []byte(wordsFile), "README.md": []byte("captured"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Cell() != (protocol.Cell{Count: 32, Metadata: stream.Plain}) || rec.Consumers() != 4 || rec.Rows() != 96 || len(rec.SHA256) != 64 || len(rec.Vocabulary.Tokens) != 2 {
		t.Errorf("%+v, %d consumers, %d rows", rec.Cell(), rec.Consumers(), rec.Rows())
	}
	m, err := wire.DecodeTokenID(frames[0])
	if err != nil {
		t.Fatal(err)
	}
	var endpoints []string
	for _, ipc := range m.HTTPWorkerIPCs[:4] {
		endpoints = append(endpoints, ipc.V)
	}
	for step, b := range rec.Batches {
		if got := replayed(t, b, protocol.TransportMsgpack, endpoints); !bytes.Equal(got, frames[step]) {
			t.Errorf("batch %d is sent as\n%x, captured was\n%x", step, got, frames[step])
		}
	}
}

// ours is a frame of this module's own with opaque columns.
func ours(t testing.TB, wrap bool, change func(*wire.BatchTokenIDOutput)) []byte {
	t.Helper()
	w, err := stream.Mixed(1, stream.Place{Cell: protocol.Cell{Count: 6, Metadata: stream.Rich}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	transport := protocol.TransportNative
	if wrap {
		transport = protocol.TransportMsgpack
	}
	m, err := wire.DecodeTokenID(replayed(t, w.Stream[0], transport, []string{"ipc:///x", "ipc:///y", "ipc:///z"}))
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	frame, err := wire.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestOwnFrames: frames of this module come back as the columns they were made
// of, wrapped or not.
func TestOwnFrames(t *testing.T) {
	w, err := stream.Mixed(1, stream.Place{Cell: protocol.Cell{Count: 6, Metadata: stream.Rich}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrap := range []bool{true, false} {
		rec, err := recordingOf(t, map[string][]byte{"a.bin": ours(t, wrap, func(*wire.BatchTokenIDOutput) {}), "vocabulary.json": []byte(wordsFile)})
		if err != nil {
			t.Fatal(err)
		}
		got, want := rec.Batches[0], w.Stream[0]
		for name := range want.Columns {
			if g, w := compact(t, got.Columns[name]), compact(t, want.Columns[name]); g != w {
				t.Errorf("wrapped %t: %s is\n%s, want\n%s", wrap, name, g, w)
			}
		}
		if len(got.Columns) != len(want.Columns) || rec.Cell().Metadata != stream.Rich {
			t.Errorf("%d columns, want %d", len(got.Columns), len(want.Columns))
		}
		numbers := map[int]int{} // consumers are numbered by appearance
		for i, c := range want.Consumers {
			if n, seen := numbers[c]; seen && n != got.Consumers[i] {
				t.Errorf("rows go to %v, want them as in %v", got.Consumers, want.Consumers)
			}
			numbers[c] = got.Consumers[i]
		}
		if got.Consumers[0] != 0 {
			t.Errorf("the first row goes to %d, want 0", got.Consumers[0])
		}
	}
}

// compact is JSON with floats as they come back, without the zero of a whole one.
func compact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBadRecordings: every error names the file, and the field if there is one.
func TestBadRecordings(t *testing.T) {
	good := frameFile(t, "in-plain-2-step0.bin")
	for name, k := range map[string]struct {
		file string
		b    []byte
		want string
	}{
		"no frame":          {"a.bin", []byte("nonsense"), "a.bin: wire: "},
		"half a frame":      {"a.bin", good[:50], "a.bin: wire: "},
		"half a length":     {"a.lpf", append(prefixed(good), 0, 0), fmt.Sprintf("a.lpf: frame 1 at byte %d: 2 bytes are left", 4+len(good))},
		"a length too long": {"a.lpf", []byte{0, 0, 1, 0, 7}, "a.lpf: frame 0 at byte 0: a length of 256, and 1 bytes are left"},
		"an empty frame":    {"a.lpf", prefixed(good, nil), fmt.Sprintf("a.lpf: frame 1 at byte %d: wire: ", 4+len(good))},
		"pickled":           {"a.bin", frameFile(t, "in-rich-1-step0.bin"), "a.bin: customized_info: wire: frame: cannot open a PickleWrapper"},
		"pickled times":     {"a.bin", ours(t, true, func(m *wire.BatchTokenIDOutput) { m.TimeStats.Wrapper = wire.PickleWrapper }), "a.bin: time_stats: wire: frame: cannot open a PickleWrapper"},
		"a tensor":          {"a.bin", ours(t, true, func(m *wire.BatchTokenIDOutput) { m.RoutedExperts = []wire.Opt[wire.Ext]{wire.Some(wire.Ext{Type: 2})} }), "a.bin: routed_experts: [0]: a tensor (extension type 2) cannot be replayed"},
		"a large integer":   {"a.bin", ours(t, true, func(m *wire.BatchTokenIDOutput) { m.DPRanks = wire.Somes([]int64{1 << 60}) }), "a.bin: dp_ranks: [0]: the integer 1152921504606846976 cannot be replayed"},
		"no consumer":       {"a.bin", ours(t, true, func(m *wire.BatchTokenIDOutput) { m.HTTPWorkerIPCs[2].OK = false }), "a.bin: http_worker_ipcs[2] is null, want the consumer of rid"},
		"no consumers":      {"a.bin", ours(t, true, func(m *wire.BatchTokenIDOutput) { m.HTTPWorkerIPCs = nil }), "a.bin: http_worker_ipcs[0] is null"},
		"no rows":           {"a.bin", ours(t, true, func(m *wire.BatchTokenIDOutput) { *m = wire.BatchTokenIDOutput{} }), "a.bin: a batch of no rows"},
		"info as a list":    {"a.bin", ours(t, false, func(m *wire.BatchTokenIDOutput) { m.CustomizedInfo.Native = []wire.Value{} }), "a.bin: customized_info: got []interface {}, want a map of lists"},
		"info too short": {"a.bin", ours(t, false, func(m *wire.BatchTokenIDOutput) {
			m.CustomizedInfo.Native = wire.Map{{Key: "k", Value: []wire.Value{nil}}}
		}), "a.bin: customized_info: key k is not a list of 6 values"},
		"times as numbers": {"a.bin", ours(t, false, func(m *wire.BatchTokenIDOutput) { m.TimeStats.Native = slices.Repeat([]wire.Value{int64(1)}, 6) }), "a.bin: time_stats: row 0: got int64, want a map"},
		"times too short":  {"a.bin", ours(t, false, func(m *wire.BatchTokenIDOutput) { m.TimeStats.Native = []wire.Value{wire.Map{}} }), "a.bin: time_stats: got []interface {}, want a list of 6 maps"},
		"another file":     {"a.txt", []byte("x"), "a.txt: want vocabulary.json, or frames in files that end in .bin or .lpf"},
		"no vocabulary":    {"vocabulary.json", nil, "vocabulary.json: EOF"},
		"two vocabularies": {"vocabulary.json", []byte(wordsFile + "{}"), "vocabulary.json: more than one JSON value"},
		"another kind":     {"vocabulary.json", []byte(`{"kind":"glyphs","tokens":[]}`), `vocabulary.json: kind "glyphs" with 0 tokens`},
		"no tokens":        {"vocabulary.json", []byte(`{"kind":"words","tokens":[]}`), `vocabulary.json: kind "words" with 0 tokens`},
		"another key":      {"vocabulary.json", []byte(`{"kind":"words","words":[]}`), `vocabulary.json: json: unknown field "words"`},
	} {
		files := map[string][]byte{"b.bin": good, "vocabulary.json": []byte(wordsFile)}
		files[k.file] = k.b
		if _, err := recordingOf(t, files); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: got %v, want %q", name, err, k.want)
		}
	}
	for want, files := range map[string]map[string][]byte{
		"vocabulary.json is not there": {"a.bin": good},
		"has no frames":                {"vocabulary.json": []byte(wordsFile)},
	} {
		if _, err := recordingOf(t, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a.bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecording(dir); err == nil || !strings.Contains(err.Error(), "a.bin: a d") {
		t.Errorf("got %v, want the folder refused", err)
	}
}

// FuzzRecordedFrames: what can be read can be sent.
func FuzzRecordedFrames(f *testing.F) {
	f.Add(prefixed(frameFile(f, "in-plain-2-step0.bin")))
	f.Add(prefixed(frameFile(f, "in-plain-1-step0.bin"), frameFile(f, "in-plain-1-step2.bin")))
	f.Add(prefixed(frameFile(f, "full-token-id-output.bin")))
	f.Add(prefixed(ours(f, true, func(*wire.BatchTokenIDOutput) {})))
	f.Add(prefixed(ours(f, false, func(*wire.BatchTokenIDOutput) {})))
	f.Add([]byte{0, 0, 0, 9, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := recorder{rec: &stream.Recording{}, consumers: map[string]int{}}
		if r.frames(b) != nil {
			return
		}
		endpoints := make([]string, len(r.consumers))
		for ipc, n := range r.consumers {
			endpoints[n] = ipc
		}
		for _, batch := range r.rec.Batches {
			replayed(t, batch, protocol.TransportMsgpack, endpoints)
		}
	})
}

// TestFullHasEveryField: the full stream sets every field that a detokenizer is
// sent and passes on, but for those that are named as tensors.
func TestFullHasEveryField(t *testing.T) {
	w, err := stream.Full(1, 4)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]bool{}
	for _, f := range wire.Fields((&wire.BatchTokenIDOutput{}).Class()) {
		in[f.Name] = true
	}
	for _, b := range w.Stream {
		for _, f := range wire.Fields((&wire.BatchStrOutput{}).Class()) {
			sent := b.Columns[f.Name] != nil
			if want := in[f.Name] && f.Name != fieldIPC && !slices.Contains(stream.Tensors, f.Name); sent != want {
				t.Errorf("%s is sent: %t, want %t", f.Name, sent, want)
			}
		}
	}
	for _, name := range stream.Tensors {
		if !in[name] {
			t.Errorf("%s is no field", name)
		}
	}
}

// TestVocabularyFile: the vocabulary is written when it changes, and only then.
func TestVocabularyFile(t *testing.T) {
	dir := t.TempDir()
	var v vocabularyFile
	one := protocol.Vocabulary{Kind: "words", Tokens: []protocol.Token{{ID: 1, Bytes: []byte("a")}}}
	other := protocol.Vocabulary{Kind: "bytes", Tokens: slices.Repeat([]protocol.Token{{ID: 1, Bytes: bytes.Repeat([]byte("x"), 100)}}, protocol.MaxLine/100)}
	first, err := v.write(dir, one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(first.Path); err != nil {
		t.Fatal(err)
	}
	again, err := v.write(dir, protocol.Vocabulary{Kind: "words", Tokens: slices.Clone(one.Tokens)})
	if err != nil || again != first {
		t.Errorf("the same vocabulary is %+v, %v, want %+v", again, err, first)
	}
	if _, err := os.Stat(first.Path); err == nil {
		t.Error("the same vocabulary was written again")
	}
	large, err := v.write(dir, other)
	if err != nil || large.Bytes <= protocol.MaxLine || large.SHA256 == first.SHA256 {
		t.Errorf("another vocabulary is %+v, %v, want more than a line", large, err)
	}
	var back protocol.Vocabulary
	if err := protocol.ReadFile(large, &back); err != nil || len(back.Tokens) != len(other.Tokens) {
		t.Errorf("%d tokens, %v", len(back.Tokens), err)
	}
}
