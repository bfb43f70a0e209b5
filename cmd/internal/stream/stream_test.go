package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/fanoutbench/fanoutbench/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/golden.txt anew")

func place(ordinal uint32, count int, metadata string) Place {
	return Place{Cell: protocol.Cell{Count: count, Metadata: metadata}, Ordinal: ordinal}
}

func seed(t testing.TB, seed uint64, p Place, consumers int) protocol.Work {
	t.Helper()
	w, err := Seed(seed, p, consumers)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func hash(t testing.TB, w protocol.Work) string {
	t.Helper()
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// TestGolden: the same bytes in every version, on every machine.
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, p := range []Place{place(0, 1, Plain), place(0, 1, Rich), place(7, 3, Plain), place(7, 3, Rich), place(500_000, 310, Rich)} {
		for _, s := range []uint64{1, 1 << 63} {
			fmt.Fprintf(&got, "seed %d, ordinal %d, count %d, metadata %s: %s\n", s, p.Ordinal, p.Cell.Count, p.Cell.Metadata, hash(t, seed(t, s, p, 4)))
		}
	}
	if *rewrite {
		if err := os.WriteFile("testdata/golden.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// Seed and place decide everything, each part of them something.
func TestPureFunction(t *testing.T) {
	p := place(3, 5, Rich)
	first := hash(t, seed(t, 1, p, 4))
	if again := hash(t, seed(t, 1, p, 4)); again != first {
		t.Errorf("the same place gave %s and %s", first, again)
	}
	for name, other := range map[string]protocol.Work{
		"seed": seed(t, 2, p, 4), "ordinal": seed(t, 1, place(4, 5, Rich), 4), "count": seed(t, 1, place(3, 6, Rich), 4),
		"metadata": seed(t, 1, place(3, 5, Plain), 4), "consumers": seed(t, 1, p, 3),
	} {
		if hash(t, other) == first {
			t.Errorf("another %s gave the same stream", name)
		}
	}
}

// published are the fields of BatchTokenIDOutput from 1 on, in wire order.
var published = []string{
	"rids", "http_worker_ipcs", "finished_reasons", "decoded_texts", "decode_ids", "read_offsets", "output_ids",
	"skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim",
	"prompt_tokens", "reasoning_tokens", "completion_tokens", "cached_tokens",
}

// TestPublished compares every column with the bytes of SGLang's own frames.
// rids and endpoints have other names there.
func TestPublished(t *testing.T) {
	w := seed(t, 1, place(0, 2, Plain), 4)
	if len(w.Stream) != 3 {
		t.Fatalf("%d batches, want the three of the fixture", len(w.Stream))
	}
	for step, b := range w.Stream {
		frame, err := os.ReadFile(fmt.Sprintf("testdata/in-plain-2-step%d.bin", step))
		if err != nil {
			t.Fatal(err)
		}
		d := msgpack.NewDecoder(bytes.NewReader(frame))
		n, err := d.DecodeArrayLen()
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			raw, err := d.DecodeRaw()
			if err != nil {
				t.Fatal(err)
			}
			switch name := fieldName(i); name {
			case "the class":
			case "rids", "http_worker_ipcs":
				var names []string
				if err := msgpack.Unmarshal(raw, &names); err != nil || len(names) != 2 {
					t.Errorf("step %d, %s: got %q, %v, want 2 in the fixture", step, name, names, err)
				}
			case "the tail":
				if raw[0] != 0xc0 {
					t.Errorf("step %d, field %d of the fixture is %x, want nil as in the stream", step, i, raw)
				}
			default:
				if got := onWire(t, name, b.Columns[name]); !bytes.Equal(got, raw) {
					t.Errorf("step %d, %s: got %x (%s), the fixture has %x", step, name, got, b.Columns[name], raw)
				}
				delete(b.Columns, name)
			}
		}
		delete(b.Columns, "rids")
		if len(b.Columns) > 0 {
			t.Errorf("step %d: columns %v are not in the fixture", step, b.Columns)
		}
	}
}

func fieldName(i int) string {
	switch {
	case i == 0:
		return "the class"
	case i <= len(published):
		return published[i-1]
	}
	return "the tail"
}

// onWire is a JSON column in MessagePack, keys in their order, id lists as
// SGLang's integer arrays.
func onWire(t *testing.T, name string, column json.RawMessage) []byte {
	t.Helper()
	var buf bytes.Buffer
	e := msgpack.NewEncoder(&buf)
	e.UseCompactInts(true)
	d := json.NewDecoder(bytes.NewReader(column))
	d.UseNumber()
	if name == "decode_ids" || name == "output_ids" {
		var rows [][]int64
		if err := d.Decode(&rows); err != nil {
			t.Fatal(err)
		}
		buf.WriteByte(0x90 | byte(len(rows)))
		for _, ids := range rows {
			body := append([]byte{0, 0, 0, 2, 0xa1, 'q'}, make([]byte, 8*len(ids))...)
			for i, id := range ids {
				binary.LittleEndian.PutUint64(body[6+8*i:], uint64(id))
			}
			buf.Write(append([]byte{0xc7, byte(len(body)), 1}, body...))
		}
		return buf.Bytes()
	}
	if err := encodeNext(d, e); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return buf.Bytes()
}

// encodeNext writes the next JSON value of d in MessagePack. An integer is what
// is written as one.
func encodeNext(d *json.Decoder, e *msgpack.Encoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return encodeAll(v, d, e)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return e.EncodeInt(n)
		}
		f, err := v.Float64()
		if err != nil {
			return err
		}
		return e.EncodeFloat64(f)
	}
	return e.Encode(token)
}

func encodeAll(open json.Delim, d *json.Decoder, e *msgpack.Encoder) error {
	var inner bytes.Buffer
	n := 0
	for sub := msgpack.NewEncoder(&inner); d.More(); n++ {
		sub.UseCompactInts(true)
		if err := encodeNext(d, sub); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	var err error
	if open == '[' {
		err = e.EncodeArrayLen(n)
	} else {
		err = e.EncodeMapLen(n / 2)
	}
	if err != nil {
		return err
	}
	_, err = e.Writer().Write(inner.Bytes())
	return err
}

// TestShape: rows to consumers, prompt, vocabulary, and the fence.
func TestShape(t *testing.T) {
	for _, consumers := range []int{1, 3, 4, 7} {
		for _, metadata := range []string{Plain, Rich} {
			w := seed(t, 9, place(12, 6, metadata), consumers)
			if want := slices.Repeat([]int64{1}, 10); !slices.Equal(w.PromptIDs, want) {
				t.Errorf("prompt %v, want %v", w.PromptIDs, want)
			}
			var words []string
			for i, token := range w.Vocabulary.Tokens {
				if token.ID != int64(i) || token.Special {
					t.Errorf("token %+v at %d, want plain ones in order", token, i)
				}
				words = append(words, string(token.Bytes))
			}
			if w.Vocabulary.Kind != protocol.VocabularyWords || !slices.Equal(words, []string{"[UNK]", "a", "b", "c"}) {
				t.Errorf("vocabulary %s of %q, want the fixture's words", w.Vocabulary.Kind, words)
			}
			checkPart(t, "stream", w.Stream, 6, consumers, metadata == Rich)
			checkPart(t, "fence", w.Fence, consumers, consumers, false)
		}
	}
}

func checkPart(t *testing.T, part string, batches []protocol.Batch, rows, consumers int, rich bool) {
	t.Helper()
	if len(batches) != Steps {
		t.Fatalf("%s: %d batches, want %d", part, len(batches), Steps)
	}
	for step, b := range batches {
		var got, want []int
		for i := range rows {
			want = append(want, i%consumers)
		}
		if got = b.Consumers; !slices.Equal(got, want) {
			t.Errorf("%s, batch %d: rows go to %v, want %v", part, step, got, want)
		}
		_, info := b.Columns["customized_info"]
		_, times := b.Columns["time_stats"]
		if info != rich || times != rich {
			t.Errorf("%s, batch %d: customized_info %t, time_stats %t, want %t", part, step, info, times, rich)
		}
		var ids [][]int64
		if err := json.Unmarshal(b.Columns["decode_ids"], &ids); err != nil || len(ids) != rows || !reflect.DeepEqual(ids[rows-1], []int64{int64(step + 1)}) {
			t.Errorf("%s, batch %d: decode_ids %s, %v, want %d of [%d]", part, step, b.Columns["decode_ids"], err, rows, step+1)
		}
		if !bytes.Equal(b.Columns["rids"], batches[0].Columns["rids"]) {
			t.Errorf("%s, batch %d: rids %s, want those of batch 0", part, step, b.Columns["rids"])
		}
	}
}

func TestBadPlaces(t *testing.T) {
	for _, test := range []struct {
		place     Place
		consumers int
		want      string
	}{
		{place(0, 0, Plain), 4, "rows of a batch is 0"},
		{place(0, -1, Rich), 4, "rows of a batch is -1"},
		{place(0, maxRows+1, Plain), 4, "rows of a batch is 131073"},
		{place(0, 1, Plain), 0, "consumers is 0"},
		{place(0, 1, Plain), -4, "consumers is -4"},
		{place(0, 1, Plain), maxRows + 1, "consumers is 131073"},
		{place(maxBatches/Steps, 1, Plain), 4, "ordinal of the trial is 699050, want 0 to 699049"},
		{place(1<<32-1, 1, Plain), 4, "ordinal of the trial is 4294967295"},
		{place(0, 1, ""), 4, `metadata ""`},
		{place(0, 1, "RICH"), 4, `metadata "RICH", want "plain" or "rich"`},
	} {
		w, err := Seed(1, test.place, test.consumers)
		if err == nil || !strings.Contains(err.Error(), test.want) || w.Stream != nil {
			t.Errorf("%+v: got %v, want %q and no stream", test.place, err, test.want)
		}
	}
}

// TestSize: a work file grows with its rows and with nothing else.
func TestSize(t *testing.T) {
	for _, count := range []int{1, 32, 310, 5000} {
		for _, metadata := range []string{Plain, Rich} {
			w := seed(t, 1, place(699_049, count, metadata), 4)
			b, err := json.Marshal(w)
			if err != nil || !json.Valid(b) {
				t.Fatalf("%d rows: %v, valid JSON %t", count, err, json.Valid(b))
			}
			if limit := 8<<10 + Steps*count*600; len(b) > limit {
				t.Errorf("%d %s rows take %d bytes, want at most %d", count, metadata, len(b), limit)
			}
		}
	}
}
