package detok

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
)

// TestServersTokenizer: with the tokenizer of the settings, by both methods, the
// text that it encodes comes back, an id a row.
func TestServersTokenizer(t *testing.T) {
	for _, device := range []string{"cpu", "sim"} {
		for _, method := range []string{"offset", "bytes"} {
			a := defaultArgs()
			a.Device, a.DetokenizeMethod, a.DType = device, method, "auto"
			d := &running{parttest.Start(t, Run, part.Env{ID: part.ID{Kind: part.Detokenizer}, Args: a, Folder: parttest.Folder(t)}), t}
			list, ipcs := inboxes(t, d.Env, 1)
			tok, err := backend.NewTokenizer(a)
			if err != nil {
				t.Fatal(err)
			}
			const text = "a 😀\n\"中文\" é"
			ids, err := tok.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			var batches [][]row
			for i, id := range ids {
				r := row{rid: "rid", ipc: ipcs[0], number: int64(i), ids: []int64{id}}
				if i == len(ids)-1 {
					r.finish = byLength
				}
				batches = append(batches, []row{r})
			}
			postBatches(t, d.Connect("detokenizer-0"), batches)
			if got := join(t, take(t, list[0], len(ids)))["rid"]; got != text {
				t.Errorf("%s, %s: got %q, want %q", device, method, got, text)
			}
			d.Stop("detokenizer-0")
		}
	}
}
