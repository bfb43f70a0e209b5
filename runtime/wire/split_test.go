package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The fields as SGLang 0.5.21 to 0.5.23 declare them.
const (
	tail = `input_token_logprobs_val input_token_logprobs_idx output_token_logprobs_val output_token_logprobs_idx
		input_top_logprobs_val input_top_logprobs_idx output_top_logprobs_val output_top_logprobs_idx
		input_token_ids_logprobs_val input_token_ids_logprobs_idx output_token_ids_logprobs_val output_token_ids_logprobs_idx
		output_token_entropy_val output_token_sampling_mask output_hidden_states routed_experts indexer_topk
		placeholder_tokens_idx placeholder_tokens_val retraction_counts beam_search_output weight_versions token_steps
		customized_info cached_tokens_details dp_ranks time_stats image_tokens audio_tokens video_tokens
		spec_verify_ct spec_num_correct_drafts spec_num_block_accept_tokens spec_num_cap_tokens
		spec_correct_drafts_histogram spec_cap_lens_histogram
		input_top_logprobs_val_flat input_top_logprobs_idx_flat input_top_logprobs_flat_null_prefix`
	tokenFields = `rids http_worker_ipcs finished_reasons decoded_texts decode_ids read_offsets output_ids skip_special_tokens
		spaces_between_special_tokens no_stop_trim prompt_tokens reasoning_tokens completion_tokens cached_tokens ` + tail
	strFields = `rids http_worker_ipcs finished_reasons output_strs output_ids
		prompt_tokens completion_tokens reasoning_tokens cached_tokens ` + tail
	embeddingFields = `rids http_worker_ipcs finished_reasons embeddings prompt_tokens cached_tokens placeholder_tokens_idx
		placeholder_tokens_val retraction_counts cached_tokens_details time_stats pooled_hidden_states`
)

func TestFields(t *testing.T) {
	for class, want := range map[string]string{"BatchTokenIDOutput": tokenFields, "BatchStrOutput": strFields, "BatchEmbeddingOutput": embeddingFields} {
		var got []string
		for _, f := range Fields(class) {
			got = append(got, f.Name)
			if f.Opaque != (f.Name == "customized_info" || f.Name == "time_stats") {
				t.Errorf("%s.%s: Opaque is %v", class, f.Name, f.Opaque)
			}
		}
		if !reflect.DeepEqual(got, strings.Fields(want)) {
			t.Errorf("%s: got %v", class, got)
		}
	}
	if Fields("FreezeGCReq") != nil {
		t.Error("got fields for a class that is not here")
	}
}

// A field that cannot be split does not compile into a program that starts.
func TestNewClassRefusesUnknownFields(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct {
			Extra []int32 `wire:"extra"`
		}](),
		reflect.TypeFor[struct{ Extra []Map }](),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", typ)
				}
			}()
			newClass(typ)
		}()
	}
}

// marked fills a message so that each field of each row holds a value of its
// own. Two rows, as a bool has no third value.
func marked(t *testing.T, m Message, native bool) {
	t.Helper()
	s := reflect.ValueOf(m).Elem()
	for i := range s.NumField() {
		f := s.Field(i)
		if f.Type() == reflect.TypeFor[*Opaque]() {
			o := &Opaque{Native: []Value{int64(1000*i + 0), int64(1000*i + 1)}}
			if i%2 == 0 {
				o.Native = Map{{"k", o.Native}}
			}
			if !native {
				var err error
				if o, err = Wrap(o.Native); err != nil {
					t.Fatal(err)
				}
			}
			f.Set(reflect.ValueOf(o))
			continue
		}
		f.Set(reflect.MakeSlice(f.Type(), 2, 2))
		for row := range 2 {
			mark(t, f.Index(row), 1000*i+row)
		}
	}
}

func mark(t *testing.T, v reflect.Value, id int) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = fmt.Sprint(id)
	case *Opt[string]:
		*p = Some(fmt.Sprint(id))
	case *Opt[bool]:
		*p = Some(id%1000 == 1)
	case *Opt[int64]:
		*p = Some(int64(id))
	case *Opt[float64]:
		*p = Some(float64(id))
	case *Opt[IntArray]:
		*p = Some(IntArray{'q', []int64{int64(id)}})
	case *Opt[Ext]:
		*p = Some(Ext{2, []byte(fmt.Sprint(id))})
	case *Map:
		*p = Map{{"type", int64(id)}}
	case *Value:
		*p = int64(id)
	case *Embedding:
		*p = []Value{float64(id)}
	default:
		if v.Kind() != reflect.Slice {
			t.Fatalf("no marks for type %s: add them", v.Type())
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		mark(t, v.Index(0), id)
	}
}

// cutByHand is what every field of row i must become: found with reflection
// alone, without the codecs.
func cutByHand(t *testing.T, f reflect.Value, i int) any {
	if f.Type() != reflect.TypeFor[*Opaque]() {
		return f.Slice(i, i+1).Interface()
	}
	o := f.Interface().(*Opaque)
	v, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := v.(Map); ok {
		v = Map{{m[0].Key, m[0].Value.([]Value)[i : i+1]}}
	} else {
		v = v.([]Value)[i : i+1]
	}
	if o.Wrapper == "" {
		return &Opaque{Native: v}
	}
	o, err = Wrap(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTakeSplitsEveryField(t *testing.T) {
	for _, native := range []bool{false, true} {
		in, out, embedding := &BatchTokenIDOutput{}, &BatchStrOutput{}, &BatchEmbeddingOutput{}
		marked(t, in, native)
		marked(t, out, native)
		marked(t, embedding, native)
		for i := range 2 {
			rowIn, err := Take(in, []int{i}, nil)
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, in, rowIn, i, nil)
			rowOut, err := Take(out, []int{i}, nil)
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, out, rowOut, i, nil)
			rowEmbedding, err := Take(embedding, []int{i}, nil)
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, embedding, rowEmbedding, i, nil)
		}
	}
}

// everyFieldIsRow holds the fields of row against those of m by name, except
// those that have a reason not to be there.
func everyFieldIsRow(t *testing.T, m, row Message, i int, except map[string]string) {
	t.Helper()
	all, cut := reflect.ValueOf(m).Elem(), reflect.ValueOf(row).Elem()
	place := classes[row.Class()].byName
	for k, f := range classes[m.Class()].fields {
		at, ok := place[f.name]
		same := ok && reflect.DeepEqual(cut.Field(at).Interface(), cutByHand(t, all.Field(k), i))
		reason, excepted := except[f.name]
		switch {
		case !same && !excepted:
			t.Errorf("%s.%s is not row %d of the batch", row.Class(), f.name, i)
		case same && excepted:
			t.Errorf("%s.%s is split, though it is excepted: %s", row.Class(), f.name, reason)
		}
	}
}

// What a detokenizer does not pass on as it came.
var notPassedOn = map[string]string{
	"decoded_texts":                 "for the detokenizer only",
	"decode_ids":                    "for the detokenizer only",
	"read_offsets":                  "for the detokenizer only",
	"skip_special_tokens":           "for the detokenizer only",
	"spaces_between_special_tokens": "for the detokenizer only",
	"no_stop_trim":                  "for the detokenizer only",
	"routed_experts":                "tensors would have to become text; null here",
	"indexer_topk":                  "tensors would have to become text; null here",
}

func TestViewSplitsEveryField(t *testing.T) {
	for _, native := range []bool{false, true} {
		in := &BatchTokenIDOutput{}
		marked(t, in, native)
		in.RoutedExperts, in.IndexerTopK = make([]Opt[Ext], 2), make([]Opt[Ext], 2)
		v := &View{}
		if err := v.Parse(mustEncode(t, in)); err != nil {
			t.Fatal(err)
		}
		marked(t, in, native) // the excepted fields are no longer what the row has
		single := map[string]string{"http_worker_ipcs": "null on messages of one row, as SGLang sends them"}
		for name, reason := range notPassedOn {
			single[name] = reason
		}
		for i := range 2 {
			text := fmt.Sprint("text", i)
			row, err := DecodeStr(v.AppendRow(nil, i, []byte(text), nil))
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, in, row, i, single)
			group, err := DecodeStr(v.AppendRows(nil, []int32{int32(i)}, func(int) []byte { return []byte(text) }, nil))
			if err != nil {
				t.Fatal(err)
			}
			everyFieldIsRow(t, in, group, i, notPassedOn)
			for _, got := range []*BatchStrOutput{row, group} {
				if !reflect.DeepEqual(got.OutputStrs, []Opt[string]{Some(text)}) {
					t.Errorf("row %d: output_strs is %v", i, got.OutputStrs)
				}
			}
			allFieldsSet(t, row, "http_worker_ipcs")
			allFieldsSet(t, group)
		}
	}
}

// allFieldsSet: no field of a row is null but the given ones, so none that only
// the row's class has was forgotten either.
func allFieldsSet(t *testing.T, m Message, null ...string) {
	t.Helper()
	s := reflect.ValueOf(m).Elem()
	for _, f := range classes[m.Class()].fields {
		want := false
		for _, name := range null {
			want = want || name == f.name
		}
		if got := f.column.null(f.at(s)); got != want {
			t.Errorf("%s.%s: null is %v, want %v", m.Class(), f.name, got, want)
		}
	}
}

// Random messages of every class come back from their bytes as they were.
func TestRandomRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		g := newGen(seed)
		g.tensors = true
		for _, m := range []Message{&BatchTokenIDOutput{}, &BatchStrOutput{}, &BatchEmbeddingOutput{}} {
			g.message(t, m, g.IntN(5))
			frame := mustEncode(t, m)
			got, err := Decode(frame)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(got, m) {
				t.Fatalf("seed %d: got %+v\nwant %+v", seed, got, m)
			}
			if again := mustEncode(t, got); !bytes.Equal(again, frame) {
				t.Fatalf("seed %d: other bytes the second time", seed)
			}
		}
	}
}

// Row j of a Take of some rows is the row of the batch, as plain values; nothing
// of the batch changes, also when the taken columns are written over.
func TestTakeRandom(t *testing.T) {
	randomBatches(t, 200, true, func(t *testing.T, g *gen, m *BatchTokenIDOutput) {
		before := mustEncode(t, m)
		opened := openAll(t, m)
		opens := map[string]int{}
		rows := someRows(g, m.Rows())
		part, err := Take(m, rows, func(field string, o *Opaque) (Value, error) {
			opens[field]++
			return opened[field], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for field, o := range map[string]*Opaque{"customized_info": m.CustomizedInfo, "time_stats": m.TimeStats} {
			if want := btoi(o != nil && o.Wrapper != ""); opens[field] != want {
				t.Errorf("%s was opened %d times, want %d", field, opens[field], want)
			}
		}
		parts := openAll(t, part)
		for k, i := range rows {
			want := mustRow(t, m, i, opened)
			if got := mustRow(t, part, k, parts); !reflect.DeepEqual(got, want) {
				t.Errorf("row %d of %v: got %v\nwant %v", k, rows, got, want)
			}
		}
		scribble(part)
		if !bytes.Equal(mustEncode(t, m), before) {
			t.Error("Take shares a column with the batch")
		}
		for field, v := range openAll(t, m) {
			if !reflect.DeepEqual(v, opened[field]) {
				t.Errorf("Take changed the opened %s", field)
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func someRows(g *gen, n int) []int {
	rows := make([]int, g.IntN(n+2))
	for k := range rows {
		rows[k] = g.IntN(n)
	}
	return rows
}

func openAll(t *testing.T, m Message) map[string]Value {
	t.Helper()
	out := map[string]Value{}
	s := reflect.ValueOf(m).Elem()
	for _, f := range classes[m.Class()].fields {
		if f.opaque {
			v, err := s.Field(f.index).Interface().(*Opaque).Open()
			if err != nil {
				t.Fatal(err)
			}
			out[f.name] = v
		}
	}
	return out
}

func mustRow(t *testing.T, m Message, i int, opened map[string]Value) map[string]Value {
	t.Helper()
	row, err := Row(m, i, opened)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// scribble overwrites every entry of every column, and the opaque structs.
func scribble(m Message) {
	s := reflect.ValueOf(m).Elem()
	for i := range s.NumField() {
		f := s.Field(i)
		if o, ok := f.Interface().(*Opaque); ok {
			if o != nil {
				*o = Opaque{}
			}
			continue
		}
		for k := range f.Len() {
			f.Index(k).SetZero()
		}
	}
}
