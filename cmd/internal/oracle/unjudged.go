package oracle

import (
	"maps"
	"slices"
)

// inputOnly are the columns of a batch that a worker uses up: they have no field
// in the message that consumers get.
var inputOnly = map[string]bool{
	"decoded_texts": true, "decode_ids": true, "read_offsets": true,
	"skip_special_tokens": true, "spaces_between_special_tokens": true, "no_stop_trim": true,
}

// Unjudged lists, in order of names, the fields that the trial's rows must have
// and that an arm's message has no place for. Check cannot judge them.
func (e *Expectation) Unjudged(l Layout) []string {
	wanted := map[string]bool{fieldText: !l.IDs}
	for _, rows := range e.byRID {
		for name := range rows[0].fields {
			wanted[name] = l.IDs || !inputOnly[name]
		}
	}
	var lacking []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, ok := l.Defaults[name]; !ok && wanted[name] {
			lacking = append(lacking, name)
		}
	}
	return lacking
}
