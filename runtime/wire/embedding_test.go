package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// The real frame is what the typed fields say; TestRealFramesRoundTrip has its
// bytes.
func TestEmbeddingFrame(t *testing.T) {
	got, err := DecodeEmbedding(frames(t, "testdata/embedding-output.bin")[0])
	if err != nil {
		t.Fatal(err)
	}
	stop := Map{{"type", "stop"}, {"matched", nil}}
	want := &BatchEmbeddingOutput{
		RIDs:             []string{"rid-full-0", "rid-full-1"},
		HTTPWorkerIPCs:   Somes([]string{"ipc:///run/fanout-golden1/http-0", "ipc:///run/fanout-golden1/http-1"}),
		FinishedReasons:  []Map{stop, stop},
		Embeddings:       []Embedding{[]Value{0.5, -1.5, 2.0}, []Value{3.0, 4.25, -5.0}},
		PromptTokens:     Somes([]int64{7, 8}),
		CachedTokens:     Somes([]int64{0, 1}),
		RetractionCounts: Somes([]int64{0, 0}),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Every form comes back from its bytes as it was, integers as integers and
// float32 as float32.
func TestEmbeddingForms(t *testing.T) {
	for raw, want := range map[string]Embedding{
		"\xc0": nil,
		"\x90": []Value{},
		"\x92\xcb?\xe0\x00\x00\x00\x00\x00\x00\x03": []Value{0.5, int64(3)},
		"\x92\x91\xca?\x00\x00\x00\x91\x01":         []Value{[]Value{Float32(0.5)}, []Value{int64(1)}},
		"\x92\x90\x02":                              []Value{[]Value{}, int64(2)},
		"\x80":                                      Map{},
		"\x82\x07\x01\xff\xca?\x00\x00\x00":         Map{{int64(7), int64(1)}, {int64(-1), Float32(0.5)}},
		"\xcb?\xe0\x00\x00\x00\x00\x00\x00":         0.5,
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff":      uint64(1<<64 - 1),
	} {
		frame := frameWith(embeddingClass, embeddingClass.byName["embeddings"], "\x91"+raw)
		m, err := DecodeEmbedding(frame)
		if err != nil || !reflect.DeepEqual(m.Embeddings, []Embedding{want}) {
			t.Errorf("%x: got %#v, %v, want %#v", raw, m, err, want)
			continue
		}
		if again := mustEncode(t, m); !bytes.Equal(again, frame) {
			t.Errorf("%x: encodes as %x", frame, again)
		}
	}
}

func TestEmbeddingErrors(t *testing.T) {
	for raw, want := range map[string]string{
		"\x91\xa1x":                "[0] at byte 26: got string, want null or int or float or array or map",
		"\x92\x90\x93\x01\xc0\x02": "[1][1] at byte 27: got null, want a number or a list of numbers",
		"\x91\x92\x01\x92\x02\x90": "[0][1][1] at byte 26: got array, want a number",
		"\x91\x81\xa1k\x01":        "[0] at byte 26: got a key of type string, want an integer",
		"\x91\x81\x07\xc3":         "[0][7] at byte 26: got bool, want a number",
		"\x91\xc3":                 "[0] at byte 26: got bool, want null or int or float or array or map",
	} {
		_, err := Decode(frameWith(embeddingClass, embeddingClass.byName["embeddings"], raw))
		if got, want := errorText(err), "wire: BatchEmbeddingOutput.embeddings"+want; got != want {
			t.Errorf("%x:\n got %s\nwant %s", raw, got, want)
		}
	}
	m := &BatchEmbeddingOutput{RIDs: []string{"r"}, Embeddings: []Embedding{"text"}}
	if _, err := Encode(nil, m); errorText(err) != "wire: BatchEmbeddingOutput.embeddings[0]: got string, want a number, a list or a map" {
		t.Error(err)
	}
	if err := Set(m, "embeddings", []Value{[]Value{true}}); errorText(err) != "wire: BatchEmbeddingOutput.embeddings[0][0]: got bool, want a number or a list of numbers" {
		t.Error(err)
	}
	if err := Set(m, "embeddings", []Value{[]Value{0.5}}); err != nil || !reflect.DeepEqual(m.Embeddings, []Embedding{[]Value{0.5}}) {
		t.Errorf("got %v, %v", m.Embeddings, err)
	}
	if _, err := DecodeEmbedding(mustEncode(t, &BatchStrOutput{})); errorText(err) != "wire: frame at byte 3: got class BatchStrOutput, want BatchEmbeddingOutput" {
		t.Error(err)
	}
}

// A View of embeddings splits every field.
func TestViewSplitsEveryFieldOfEmbeddings(t *testing.T) {
	for _, native := range []bool{false, true} {
		m, v := &BatchEmbeddingOutput{}, &View{}
		marked(t, m, native)
		if err := v.Parse(mustEncode(t, m)); err != nil {
			t.Fatal(err)
		}
		if v.Class() != "BatchEmbeddingOutput" || v.Rows() != 2 {
			t.Errorf("a view of %d rows of %q", v.Rows(), v.Class())
		}
		for i := range 2 {
			row, err := DecodeEmbedding(v.AppendRow(nil, i, []byte("ignored"), nil))
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, m, row, i, map[string]string{"http_worker_ipcs": "null on messages of one row, as SGLang sends them"})
			group, err := DecodeEmbedding(v.AppendRows(nil, []int32{int32(i)}, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, m, group, i, nil)
		}
	}
}

// The rows a View makes of embeddings are Take's, byte for byte, with one View
// for batches of both classes.
func TestViewOfEmbeddingsEqualsTake(t *testing.T) {
	v := &View{}
	for seed := range uint64(400) {
		g := newGen(seed)
		if g.chance(3) {
			m := &BatchTokenIDOutput{}
			g.message(t, m, 1+g.IntN(6))
			if err := v.Parse(mustEncode(t, m)); err != nil || v.Class() != "BatchTokenIDOutput" {
				t.Fatalf("seed %d: %q, %v", seed, v.Class(), err)
			}
		}
		m := &BatchEmbeddingOutput{}
		g.message(t, m, 1+g.IntN(20))
		if err := v.Parse(mustEncode(t, m)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range m.Rows() {
			want, err := Take(m, []int{i}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want.HTTPWorkerIPCs = nil
			if got, want := v.AppendRow([]byte("before"), i, nil, nil), mustEncode(t, want); !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Fatalf("seed %d, row %d: got\n%q\nwant\n%q", seed, i, got, want)
			}
		}
		rows := someRows(g, m.Rows())
		var rows32 []int32
		for _, i := range rows {
			rows32 = append(rows32, int32(i))
		}
		want, err := Take(m, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := v.AppendRows(nil, rows32, nil, nil), mustEncode(t, want); !bytes.Equal(got, want) {
			t.Fatalf("seed %d, rows %v: got\n%q\nwant\n%q", seed, rows, got, want)
		}
	}
}

// What a View of embeddings has not, it says.
func TestViewOfEmbeddingsErrors(t *testing.T) {
	v := &View{}
	if v.Class() != "" {
		t.Errorf("class %q before Parse", v.Class())
	}
	if err := v.Parse(frames(t, "testdata/embedding-output.bin")[0]); err != nil {
		t.Fatal(err)
	}
	if v.RID(1) != "rid-full-1" || string(v.IPC(0)) != "ipc:///run/fanout-golden1/http-0" || v.DecodedText(0) != nil {
		t.Errorf("rid %q, ipc %q, text %q", v.RID(1), v.IPC(0), v.DecodedText(0))
	}
	if kind, matched, err := v.Finish(0); string(kind) != "stop" || matched.Kind != MatchNone || err != nil {
		t.Errorf("finish %q, %v, %v", kind, matched, err)
	}
	_, ids := v.DecodeIDs(nil, 0)
	_, offset := v.ReadOffset(0)
	_, skip := v.SkipSpecial(0)
	for field, err := range map[string]error{"decode_ids": ids, "read_offsets": offset, "skip_special_tokens": skip} {
		if want := fmt.Sprintf("wire: BatchEmbeddingOutput: the class has no field %s", field); errorText(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for raw, want := range map[string]string{
		"\x92\xabFreezeGCReq\xc0":              `wire: frame at byte 1: got class "FreezeGCReq", want BatchTokenIDOutput or BatchEmbeddingOutput`,
		string(frameWith(strClass, 0, "\xc0")): `wire: frame at byte 3: got class "BatchStrOutput", want BatchTokenIDOutput or BatchEmbeddingOutput`,
		string(frameWith(embeddingClass, embeddingClass.byName["embeddings"], "\x91\xa1x")):                      "wire: BatchEmbeddingOutput.embeddings[0] at byte 26: got string, want null or int or float or array or map",
		string(frameWith(embeddingClass, embeddingClass.byName["time_stats"], "\x92\xadPickleWrapper\xc4\x01.")): "wire: BatchEmbeddingOutput.time_stats at byte 32: inside the PickleWrapper: pickle: STOP at byte 0: want PROTO with 4 or 5 at the start",
	} {
		if err := v.Parse([]byte(raw)); errorText(err) != want || v.Rows() != 0 || v.Class() != "" {
			t.Errorf("got %v, %d rows of %q\nwant %s", err, v.Rows(), v.Class(), want)
		}
	}
}
