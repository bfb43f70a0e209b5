package detokenizer

import (
	"bytes"
	"fmt"
	"strings"
)

// Decoder turns ids into text. It must append valid UTF-8 to dst and return it.
// The package documentation says which ids' text the offset method takes for
// independent of each other.
type Decoder interface {
	AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte
}

// Finish says whether and how a row ends its request. At most one of
// MatchedText and MatchedToken is set.
type Finish struct {
	Done         bool
	MatchedText  string // the stop string that was found
	MatchedToken bool   // the row's last id is the stop token
}

// Row is one request's part of a batch.
type Row struct {
	RID           string
	DecodeIDs     []int64 // ids since the last row; a first row's begin with the end of the prompt
	ReadOffset    int     // how many of a first row's ids are the prompt's
	DecodedText   []byte  // text decoded before a first row
	SkipSpecial   bool
	SpacesBetween bool
	NoStopTrim    bool
	Finish        Finish
}

// EvictedError is the answer to rows whose state made room for others.
type EvictedError struct {
	RID      string
	Capacity int
}

func (e *EvictedError) Error() string {
	return fmt.Sprintf("detokenizer: the state of rid %q was evicted at the capacity of %d requests; the request cannot go on", e.RID, e.Capacity)
}

// defaultCapacity is SGLang's DETOKENIZER_MAX_STATES.
const defaultCapacity = 65536

// Options of New.
type Options struct {
	Capacity int // states kept, and rids of evicted ones remembered; below 1: 65,536
}

// Detokenizer holds the state of every request that streams.
type Detokenizer struct {
	decoder  Decoder
	bytes    ByteDecoder // of MethodBytes, else nil
	capacity int
	evicted  int // states so far
	store    store
	read     []byte   // decoded text of the window, or bytes to make text of, scratch
	surr     []byte   // decoded text of its surrounding ids, or text of read, scratch
	needle   []byte   // a stop string as bytes, scratch
	pair     [2]int64 // one id twice, scratch
	probe    []byte   // its text, scratch
}

// New makes a Detokenizer without states that uses the offset method.
func New(d Decoder, o Options) *Detokenizer {
	if o.Capacity < 1 {
		o.Capacity = defaultCapacity
	}
	return &Detokenizer{decoder: d, capacity: o.Capacity, store: newStore()}
}

// Len is the number of states.
func (d *Detokenizer) Len() int { return d.store.live.n }

// Evicted is the number of states that have made room for others so far.
func (d *Detokenizer) Evicted() int { return d.evicted }

// Append appends the text that row r adds to dst. On an error dst is returned
// as it was.
func (d *Detokenizer) Append(dst []byte, r Row) ([]byte, error) {
	e := d.store.find(r.RID)
	if e != nil && e.evicted {
		if r.Finish.Done {
			d.store.remove(e)
		}
		return dst, &EvictedError{RID: strings.Clone(r.RID), Capacity: d.capacity}
	}
	first := e == nil
	if first {
		if r.ReadOffset < 0 || r.ReadOffset > len(r.DecodeIDs) {
			return dst, fmt.Errorf("detokenizer: rid %q: read offset %d of the first row, expected 0 to %d, its number of ids", r.RID, r.ReadOffset, len(r.DecodeIDs))
		}
		e = d.begin(r)
	}
	var fresh []byte
	if d.bytes != nil {
		fresh = d.follow(e, r, first)
	} else {
		fresh = d.decode(e, r, first)
	}
	switch {
	case r.Finish.Done:
		dst = d.finish(dst, e, fresh, r)
		d.store.remove(e)
	case d.bytes != nil:
		e.text = append(e.text, fresh...)
		dst = append(dst, e.text[e.sent:]...)
		e.sent = len(e.text)
	default:
		dst = d.advance(dst, e, fresh, r)
	}
	return dst, nil
}

// begin makes the state of a rid's first row, evicting the oldest if need be. A
// request of one row is gone before Append returns, so nobody makes room for it.
func (d *Detokenizer) begin(r Row) *entry {
	if !r.Finish.Done && d.store.live.n >= d.capacity {
		d.store.evict(d.capacity)
		d.evicted++
	}
	e := d.store.add(r.RID)
	e.text = append(e.text, r.DecodedText...)
	return e
}

// stops says whether the row's last id is a stop token that is not decoded.
func (r *Row) stops() bool {
	return r.Finish.Done && r.Finish.MatchedToken && !r.NoStopTrim && len(r.DecodeIDs) > 0
}

// finish appends everything of the request that was not sent, without the
// matched stop.
func (d *Detokenizer) finish(dst []byte, e *entry, fresh []byte, r Row) []byte {
	sent := e.sent
	if e.pending > 0 {
		sent = len(e.text) + len(fresh) - len(skipRunes(fresh, e.pending))
	}
	e.text = append(e.text, fresh...)
	end := len(e.text)
	if r.Finish.MatchedText != "" {
		d.needle = append(d.needle[:0], r.Finish.MatchedText...)
		if at := bytes.Index(e.text, d.needle); at >= 0 {
			end = at
			if r.NoStopTrim {
				end += len(d.needle)
			}
		}
	}
	if sent >= end {
		return dst
	}
	return append(dst, e.text[sent:end]...)
}

// Fresh is a Detokenizer of the same method, decoder and capacity without states.
func (d *Detokenizer) Fresh() *Detokenizer {
	f := New(d.decoder, Options{Capacity: d.capacity})
	f.bytes = d.bytes
	return f
}
