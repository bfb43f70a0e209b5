//go:build sglang

package request

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func setting(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("%s is not set; scripts/test sets it", variable)
	}
	return value
}

// ofSGLang says whether SGLang has the class, with the same fields.
func ofSGLang(m Message) bool {
	switch m.(type) {
	case *GetInternalStateReqOutput, *GetAdmissionsReq, *GetAdmissionsReqOutput:
		return false
	}
	return true
}

// TestSGLang has SGLang's structs decode our frames, and holds the committed
// frames against what it writes today.
func TestSGLang(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	for name, g := range goldens {
		write(t, filepath.Join(in, name+".bin"), mustEncode(t, g.m))
	}
	var sent []Message
	var packed []byte
	g := gen{newGen(3).Rand, true}
	for i := 0; len(sent) < 500; i++ {
		m := g.message(i)
		if !ofSGLang(m) {
			continue
		}
		sent = append(sent, m)
		frame := mustEncode(t, m)
		packed = append(binary.BigEndian.AppendUint32(packed, uint32(len(frame))), frame...)
	}
	write(t, filepath.Join(in, "random.lpf"), packed)
	tree := filepath.Join(setting(t, "FANOUTBENCH_SGLANG_TREES"), "sglang-0.5.23")
	cmd := exec.Command(setting(t, "FANOUTBENCH_SGLANG_PYTHON"), "-B", "testdata/frames.py", tree, out, in)
	if said, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(said), "17 messages are the same\n") {
		t.Fatalf("frames.py: %v\n%s", err, said)
	}
	fresh(t, out)
	back(t, filepath.Join(out, "random.lpf"), sent)
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fresh compares the committed files with those in dir.
func fresh(t *testing.T, dir string) {
	t.Helper()
	names := []string{"fields.jsonl"}
	for name := range goldens {
		names = append(names, name+".bin")
	}
	for _, name := range names {
		if !bytes.Equal(read(t, filepath.Join(dir, name)), read(t, filepath.Join("testdata", name))) {
			t.Errorf("testdata/%s is not what frames.py writes", name)
		}
	}
}

// back decodes what SGLang made of the messages.
func back(t *testing.T, path string, sent []Message) {
	t.Helper()
	packed := read(t, path)
	for i, m := range sent {
		if len(packed) < 4 {
			t.Fatalf("%d frames came back, want %d", i, len(sent))
		}
		n := binary.BigEndian.Uint32(packed)
		got, err := Decode(packed[4 : 4+n])
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		packed = packed[4+n:]
		if !reflect.DeepEqual(ordered(got), ordered(m)) {
			t.Fatalf("message %d:\n got %+v\nsent %+v", i, got, m)
		}
	}
}

// ordered has SGLang's view of stop token ids: a set, and none where it is empty.
func ordered(m Message) Message {
	switch m := m.(type) {
	case *TokenizedGenerateReqInput:
		orderStops(m)
	case *BatchTokenizedGenerateReqInput:
		for i := range m.Batch {
			orderStops(&m.Batch[i])
		}
	}
	return m
}

func orderStops(m *TokenizedGenerateReqInput) {
	ids := slices.Sorted(slices.Values(m.SamplingParams.StopTokenIDs))
	m.SamplingParams.StopTokenIDs = slices.Compact(ids)
}
