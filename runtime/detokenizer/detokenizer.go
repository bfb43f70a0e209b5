package detokenizer

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Decoder turns ids into text. It must append valid UTF-8 to dst and return it.
type Decoder interface {
	AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte
}

// Finish says whether and how a row ends its request. At most one of
// MatchedText and MatchedToken is set.
type Finish struct {
	Done         bool
	MatchedText  string // the stop string that was found
	MatchedToken bool   // the last id is the stop token
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
	capacity int
	store    store
	read     []byte // decoded text of the window, scratch
	surr     []byte // decoded text of its surrounding ids, scratch
	needle   []byte // a stop string as bytes, scratch
}

// New makes a Detokenizer without states.
func New(d Decoder, o Options) *Detokenizer {
	if o.Capacity < 1 {
		o.Capacity = defaultCapacity
	}
	return &Detokenizer{decoder: d, capacity: o.Capacity, store: newStore()}
}

// Len is the number of states.
func (d *Detokenizer) Len() int { return d.store.live.n }

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
	if e == nil {
		if r.ReadOffset < 0 || r.ReadOffset > len(r.DecodeIDs) {
			return dst, fmt.Errorf("detokenizer: rid %q: read offset %d of the first row, expected 0 to %d, its number of ids", r.RID, r.ReadOffset, len(r.DecodeIDs))
		}
		e = d.begin(r)
	}
	e.ids = append(e.ids, r.DecodeIDs...)
	fresh := d.decode(e, r)
	if r.Finish.Done {
		dst = d.finish(dst, e, fresh, r)
		d.store.remove(e)
		return dst, nil
	}
	return e.advance(dst, fresh), nil
}

// begin makes the state of a rid's first row, evicting the oldest if need be. A
// request of one row is gone before Append returns, so nobody makes room for it.
func (d *Detokenizer) begin(r Row) *entry {
	if !r.Finish.Done && d.store.live.n >= d.capacity {
		d.store.evict(d.capacity)
	}
	e := d.store.add(r.RID)
	e.readOffset = r.ReadOffset
	e.text = append(e.text, r.DecodedText...)
	return e
}

// decode returns the text of the window behind its surrounding ids. It is valid
// until the next call.
func (d *Detokenizer) decode(e *entry, r Row) []byte {
	ids := e.ids
	if r.Finish.Done && r.Finish.MatchedToken && !r.NoStopTrim && len(ids) > 0 {
		ids = ids[:len(ids)-1]
	}
	d.read = d.decoder.AppendDecode(d.read[:0], ids, r.SkipSpecial, r.SpacesBetween)
	d.surr = d.decoder.AppendDecode(d.surr[:0], e.ids[:e.readOffset], r.SkipSpecial, r.SpacesBetween)
	return skipRunes(d.read, utf8.RuneCount(d.surr))
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

// advance appends what a row that does not finish may show, and moves the window
// if its text is whole.
func (e *entry) advance(dst, fresh []byte) []byte {
	dst = append(dst, e.text[e.sent:]...) // only a first row's text from before is unsent here
	e.sent = len(e.text)
	if len(fresh) == 0 || bytes.HasSuffix(fresh, replacement) {
		shown := printable(fresh)
		dst = append(dst, skipRunes(shown, e.pending)...)
		e.pending = max(e.pending, utf8.RuneCount(shown))
		return dst
	}
	dst = append(dst, skipRunes(fresh, e.pending)...)
	e.text = append(e.text, fresh...)
	e.sent, e.pending = len(e.text), 0
	n := copy(e.ids, e.ids[e.readOffset:])
	e.ids, e.readOffset = e.ids[:n], n
	return dst
}

// Fresh is a Detokenizer of the same decoder and capacity without states.
func (d *Detokenizer) Fresh() *Detokenizer {
	return New(d.decoder, Options{Capacity: d.capacity})
}
