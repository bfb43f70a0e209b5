package counters

import (
	"fmt"
	"io/fs"
	"strings"
)

// Ledger is the sum over the parts of a server.
type Ledger struct {
	Built                       uint64
	Delivered                   uint64
	Dropped                     map[string]uint64 // by reason: router, detokenizer, request_ended, unknown
	Missing, Doubled, Reordered uint64
}

// dropped is what the names of dropped rows begin with; the reason follows.
const dropped = "rows_dropped_"

// InFlight is what is neither delivered nor dropped; negative: more came than was built.
func (l Ledger) InFlight() int64 {
	left := l.Built - l.Delivered
	for _, n := range l.Dropped {
		left -= n
	}
	return int64(left)
}

// ReadLedger adds up the counters of all parts in a server's folder. A folder
// without any is an error, fs.ErrNotExist: a sum of nothing would hold for any server.
func ReadLedger(folder string) (Ledger, error) {
	parts, err := ReadFolder(folder)
	if err != nil {
		return Ledger{}, err
	}
	if len(parts) == 0 {
		return Ledger{}, fmt.Errorf("the ledger of %s: no part has a file NAME%s there: %w", folder, suffix, fs.ErrNotExist)
	}
	return LedgerOf(parts)
}

// LedgerOf adds up what ReadFolder read.
func LedgerOf(parts map[string]map[string]Value) (Ledger, error) {
	l := Ledger{Dropped: map[string]uint64{"router": 0, "detokenizer": 0, "request_ended": 0, "unknown": 0}}
	for part, values := range parts {
		for name, v := range values {
			if !l.add(name, v.Count) {
				continue
			}
			if v.Spec.Kind != KindCounter {
				return Ledger{}, fmt.Errorf("the ledger: %s of %s is a %s, wanted a counter", name, part, v.Spec.Kind)
			}
		}
	}
	return l, nil
}

// add says whether the counter is one of the ledger's.
func (l *Ledger) add(name string, n uint64) bool {
	switch name {
	case rowsBuilt:
		l.Built += n
	case "rows_delivered":
		l.Delivered += n
	case "rows_missing":
		l.Missing += n
	case "rows_doubled":
		l.Doubled += n
	case "rows_reordered":
		l.Reordered += n
	default:
		reason, ok := strings.CutPrefix(name, dropped)
		if ok {
			l.Dropped[reason] += n
		}
		return ok
	}
	return true
}
