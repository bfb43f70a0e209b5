package api

import (
	"strconv"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// name reads what tells items apart: rid, and the keys without which equal
// prompts share their prefixes. Each is one for all items, or where the prompts
// were a list, a list with one for each.
func name(f *fields, items []manager.Item, batch bool) {
	f.each("extra_key", len(items), batch, false, func(own *fields, i int) { items[i].ExtraKey = own.text("extra_key", "") })
	f.each("cache_salt", len(items), batch, false, func(own *fields, i int) { items[i].CacheSalt = own.text("cache_salt", "") })
	rids(f, items, batch)
}

// rids reads rid: a list has one for each item, a string for several items is the
// beginning of theirs.
func rids(f *fields, items []manager.Item, batch bool) {
	raw, has := f.get("rid")
	if !has {
		return
	}
	if batch && raw[0] != '[' {
		rid := f.name("rid", "")
		for i := range items {
			if rid != "" {
				items[i].RID = rid + "_" + strconv.Itoa(i)
			}
		}
		return
	}
	seen := map[string]bool{}
	f.each("rid", len(items), batch, false, func(own *fields, i int) {
		it := &items[i]
		it.RID = own.name("rid", "")
		if seen[it.RID] && it.RID != "" {
			own.fail("rid", "is %s, expected each only once", quote(it.RID))
		}
		seen[it.RID] = true
	})
}
