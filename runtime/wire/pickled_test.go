package wire

import "github.com/fanoutbench/fanoutbench/runtime/wire/pickle/pickletest"

// openAny is Open for any wrapper: rows of a pickle are texts that can be
// compared, read by its dumb twin.
func openAny(o *Opaque) (Value, error) {
	if o == nil || o.Wrapper != PickleWrapper {
		return o.Open()
	}
	list, entries, err := pickletest.Rows(o.Data)
	switch {
	case err != nil || list == nil && entries == nil:
		return nil, err
	case list != nil:
		return list, nil
	}
	m := make(Map, len(entries))
	for k, e := range entries {
		m[k].Key = e.Key
		if e.List != nil {
			m[k].Value = e.List
		}
	}
	return m, nil
}
