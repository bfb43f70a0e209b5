package request

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// golden is a message that testdata/frames.py has under the same name.
type golden struct {
	m     Message
	exact bool // our frame is SGLang's byte for byte
}

const (
	ipc0 = "ipc:///run/http-0"
	ipc1 = "ipc:///run/http-1"
)

func generate(rid string, change func(*TokenizedGenerateReqInput)) *TokenizedGenerateReqInput {
	m := &TokenizedGenerateReqInput{
		RID: rid, HTTPWorkerIPC: ipc0, InputIDs: []int64{1, 2, 300, -4, 1 << 40},
		SamplingParams: NewSamplingParams(), LogprobStartLen: -1, Stream: true,
	}
	change(m)
	return m
}

func rich(m *TokenizedGenerateReqInput) {
	seed := int64(-1 << 63)
	m.SamplingParams = SamplingParams{
		MaxNewTokens: 16, Stop: []string{"\n\n", "END", "é語🙂"}, StopTokenIDs: []int64{151643},
		Temperature: 0.75, TopP: 0.95, TopK: 40, MinP: 0.05,
		FrequencyPenalty: 0.5, PresencePenalty: -0.5, RepetitionPenalty: 1.25, MinNewTokens: 3,
		IgnoreEOS: true, NoStopTrim: true, StreamInterval: 8,
		LogitBias: map[int64]float64{17: -100, 9454: 2.5}, SamplingSeed: &seed,
	}
}

// scoring has SGLang's form of greedy, temperature 1 and top_k 1, and the empty
// list of stop strings that normalised parameters have.
func scoring(rid string) *TokenizedGenerateReqInput {
	return generate(rid, func(m *TokenizedGenerateReqInput) {
		m.InputText, m.ReturnLogprob, m.TokenIDsLogprob, m.Stream = "query item", true, []int64{9454, 2753}, false
		m.SamplingParams.MaxNewTokens, m.SamplingParams.TopK, m.SamplingParams.Stop = 0, 1, []string{}
	})
}

var goldens = map[string]golden{
	"generate-default": {generate("r", func(*TokenizedGenerateReqInput) {}), true},
	"generate-rich": {generate("rid-é", func(m *TokenizedGenerateReqInput) {
		rich(m)
		m.TopLogprobsNum, m.ExtraKey, m.CacheSalt, m.NoLogs = 5, "tenant", "salt", true
	}), false}, // stop_strs repeats stop
	"generate-normalized": {generate("rid-n", rich), false}, // stop_strs in place of stop
	"generate-one-stop": {generate("rid-s", func(m *TokenizedGenerateReqInput) {
		m.SamplingParams.Stop, m.InputIDs = []string{"one"}, []int64{}
	}), false}, // a string
	"generate-no-limit": {generate("rid-m", func(m *TokenizedGenerateReqInput) {
		m.SamplingParams.MaxNewTokens = everything
	}), false}, // null
	"score": {scoring("rid-0"), false}, // normalised
	"batch": {&BatchTokenizedGenerateReqInput{
		Batch: []TokenizedGenerateReqInput{*scoring("rid-0"), *scoring("rid-1")},
	}, false},
	"batch-rids": {&BatchTokenizedGenerateReqInput{
		RIDs: []string{"rid-0"}, HTTPWorkerIPCs: []string{ipc0, ""}, Batch: []TokenizedGenerateReqInput{*scoring("rid-0")},
	}, false},
	"abort":     {&AbortReq{RID: "rid-0", HTTPWorkerIPC: ipc1}, true},
	"abort-all": {&AbortReq{AbortAll: true}, true},
	"abort-reason": {&AbortReq{
		RID: "rid-0", HTTPWorkerIPC: ipc1, AbortMessage: "queue full",
		FinishedReason: &FinishReason{Type: "abort", Message: "queue full", StatusCode: 503},
	}, true},
	"flush-cache":         {&FlushCacheReqInput{}, true},
	"flush-cache-timeout": {&FlushCacheReqInput{RID: "f", TimeoutS: 1.5}, true},
	"flush-cache-output":  {&FlushCacheReqOutput{HTTPWorkerIPC: ipc1, Success: true}, true},
	"flush-cache-failed":  {&FlushCacheReqOutput{Message: "busy"}, true},
	"internal-state":      {&GetInternalStateReq{HTTPWorkerIPC: ipc1}, true},
	"registration":        {&TokenizerWorkerRegistrationReq{WorkerIPCName: ipc1}, true},
}

func goldenFrame(t testing.TB, name string) []byte {
	t.Helper()
	frame, err := os.ReadFile(filepath.Join("testdata", name+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestGoldens reads what SGLang's own structs were encoded to, and writes it.
func TestGoldens(t *testing.T) {
	for name, g := range goldens {
		frame := goldenFrame(t, name)
		got, err := Decode(frame)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(got, g.m) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, g.m)
		}
		ours := mustEncode(t, g.m)
		if bytes.Equal(ours, frame) != g.exact {
			t.Errorf("%s: exact %v:\n ours %q\ntheir %q", name, g.exact, ours, frame)
		}
	}
	if committed, _ := filepath.Glob("testdata/*.bin"); len(committed) != len(goldens) {
		t.Errorf("%d frames in testdata, %d in the test", len(committed), len(goldens))
	}
}

// TestFields holds the tables against the names and defaults of SGLang's structs.
func TestFields(t *testing.T) {
	raw, err := os.ReadFile("testdata/fields.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	count := map[*layout]int{}
	for line := range strings.Lines(string(raw)) {
		class, name, def := parseField(t, line)
		l := byClass[class]
		if class == "SamplingParams" {
			l = samplingLayout
		}
		i := count[l]
		count[l]++
		if i >= len(l.fields) || l.fields[i].name != name {
			t.Fatalf("%s: field %d is %s, not in the table at this place", class, i, name)
		}
		if def == "" && i >= l.least {
			t.Errorf("%s.%s may not be left out", class, name)
		}
		if got := defaultOf(t, l, i); def != "" && got != def && !(class == "AbortReq" && name == "rid") { // "" after decoding
			t.Errorf("%s.%s is %s by default, want %s", class, name, got, def)
		}
	}
	for l, n := range count {
		if n != len(l.fields) {
			t.Errorf("%v has %d fields, want %d", l.of, len(l.fields), n)
		}
	}
	if len(count) != 8 {
		t.Errorf("got %d classes, want 8", len(count))
	}
}

// parseField reads a line; def is the default as JSON, "" for none.
func parseField(t *testing.T, line string) (class, name, def string) {
	t.Helper()
	var field []json.RawMessage
	if err := json.Unmarshal([]byte(line), &field); err != nil || len(field) < 2 {
		t.Fatalf("%s: %v", line, err)
	}
	for i, to := range []*string{&class, &name} {
		if err := json.Unmarshal(field[i], to); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if len(field) > 2 {
		def = string(field[2])
	}
	return class, name, def
}

// defaultOf is what is written of a field that a frame had left out, as JSON.
func defaultOf(t *testing.T, l *layout, i int) string {
	t.Helper()
	m := reflect.New(l.of)
	if l == samplingLayout {
		m.Elem().Set(reflect.ValueOf(NewSamplingParams()))
	}
	v := encoded(t, l.fields[i].codec, l.fields[i].at(m.Elem()))
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
