package oracle

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// requestsOf reads the requests of a work, for the twins to decode.
func requestsOf(t testing.TB, w protocol.Work) map[string]*request {
	t.Helper()
	all := map[string]*request{}
	for _, b := range append(slices.Clone(w.Stream), w.Fence...) {
		var c struct {
			rids    []string
			ids     [][]int64
			offsets []int
			before  []string
			skip    []bool
			keep    []bool
			reasons []*struct {
				Type    string          `json:"type"`
				Matched json.RawMessage `json:"matched"`
			}
		}
		for name, into := range map[string]any{
			"rids": &c.rids, "decode_ids": &c.ids, "read_offsets": &c.offsets, "decoded_texts": &c.before,
			"skip_special_tokens": &c.skip, "no_stop_trim": &c.keep, "finished_reasons": &c.reasons,
		} {
			if err := json.Unmarshal(b.Columns[name], into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for i, rid := range c.rids {
			q := all[rid]
			if q == nil {
				q = &request{vocab: w.Vocabulary, prompt: c.offsets[i], before: c.before[i], skip: c.skip[i]}
				all[rid] = q
			}
			q.steps = append(q.steps, c.ids[i])
			q.keep = c.keep[i]
			if r := c.reasons[i]; r != nil && r.Type == "stop" {
				q.reason = reason{"stop", matched(r.Matched)}
			}
		}
	}
	return all
}

// matched is a text, or the id of a token, or nil.
func matched(raw json.RawMessage) any {
	var text string
	var id int64
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &id) == nil:
		return id
	}
	return nil
}

// textsOf is each request's text: everything decoded at once, then trimmed.
func textsOf(t testing.TB, w protocol.Work) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for rid, q := range requestsOf(t, w) {
		var ids []int64
		for _, step := range q.steps {
			ids = append(ids, step...)
		}
		prompt := len(q.decode(ids[:q.prompt]))
		all := q.decode(q.withoutToken(ids))
		texts[rid] = string(q.trimmed([]rune(q.before + string(all[min(len(all), prompt):]))))
	}
	return texts
}

func rowsByRID(t testing.TB, w protocol.Work) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for rid, q := range requestsOf(t, w) {
		rows[rid] = len(q.steps)
	}
	return rows
}
