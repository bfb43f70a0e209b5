package detokenizer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// TestForceCutsAnywhere plays bytes, a token each, in rows that all end in
// U+FFFD, so that the window moves only because it is too long: with the cut at
// every place in and between characters.
func TestForceCutsAnywhere(t *testing.T) {
	var vocab []tokenizer.Token
	for id := range int64(256) {
		vocab = append(vocab, tokenizer.Token{ID: id, Bytes: []byte{byte(id)}})
	}
	d, err := tokenizer.NewBytes(vocab)
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{"😀", "€", "é", "a ", "\xff", "\x80", "\xf0\x9f\x98", "\xe2\x82"}
	forced := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 17))
		var raw []byte
		for len(raw) < 20+rng.IntN(100) {
			raw = append(raw, pieces[rng.IntN(len(pieces))]...)
		}
		out := source{want: string(d.AppendDecode(nil, ids(raw), true, true))}
		from := 0
		for k := 1; k <= len(raw); k++ {
			ends := bytes.HasSuffix(d.AppendDecode(nil, ids(raw[:k]), true, true), replacement)
			if k == len(raw) || ends && rng.IntN(3) == 0 {
				out.rows = append(out.rows, Row{RID: "r", DecodeIDs: ids(raw[from:k]), Finish: Finish{Done: k == len(raw)}})
				from = k
			}
		}
		what := fmt.Sprintf("seed %d, %x", seed, raw)
		lengths := playSource(t, what, MethodOffset, d, out)
		playSource(t, what, MethodBytes, d, out)
		if len(lengths) > 1 && lengths[len(lengths)-2] > 0 {
			forced++
		}
	}
	if forced < 300 {
		t.Errorf("the window moved in %d streams only", forced)
	}
}

func ids(raw []byte) []int64 {
	out := make([]int64, len(raw))
	for i, b := range raw {
		out[i] = int64(b)
	}
	return out
}
