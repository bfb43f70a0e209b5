package detokenizer

import "bytes"

// longest is how many surrounding ids, and how many new ones, a window keeps
// from one row to the next.
const longest = 32

// margin is how many ids with text separate two that cannot change each other's
// text: each has at least one byte, and a character has at most four.
const margin = 3

// decode adds the row's ids to the window and returns the text behind the
// surrounding ones. It is valid until the next call.
func (d *Detokenizer) decode(e *entry, r Row, first bool) []byte {
	if first {
		e.readOffset = r.ReadOffset
	}
	e.ids = append(e.ids, r.DecodeIDs...)
	ids := e.ids
	if r.stops() {
		ids = ids[:len(ids)-1]
	}
	d.read = d.decoder.AppendDecode(d.read[:0], ids, r.SkipSpecial, r.SpacesBetween)
	d.surr = d.decoder.AppendDecode(d.surr[:0], e.ids[:e.readOffset], r.SkipSpecial, r.SpacesBetween)
	return skipRunes(d.read, countRunes(d.surr))
}

// advance appends what a row that does not finish may show, and moves the window
// if its text is whole or if it has grown too long.
func (d *Detokenizer) advance(dst []byte, e *entry, fresh []byte, r Row) []byte {
	dst = append(dst, e.text[e.sent:]...) // only a first row's text from before is unsent here
	e.sent = len(e.text)
	if len(fresh) > 0 && !bytes.HasSuffix(fresh, replacement) {
		dst = append(dst, skipRunes(fresh, e.pending)...)
		e.text = append(e.text, fresh...)
		e.sent, e.pending = len(e.text), 0
		e.drop(e.readOffset, len(e.ids))
	} else {
		dst = d.wait(dst, e, fresh, r)
	}
	d.shorten(e, r)
	return dst
}

// wait appends the printable part of text that is not whole yet.
func (d *Detokenizer) wait(dst []byte, e *entry, fresh []byte, r Row) []byte {
	if len(fresh) == 0 || len(e.ids)-e.readOffset > longest {
		d.dropTextless(e, r)
	}
	if len(e.ids)-e.readOffset > longest {
		dst, fresh = d.force(dst, e, fresh, r)
	}
	shown := printable(fresh)
	dst = append(dst, skipRunes(shown, e.pending)...)
	e.pending = max(e.pending, countRunes(shown))
	return dst
}

// force commits the text of all new ids but the last few, where a character may
// still be unfinished, and returns the text that is left. An unfinished
// character has less than four bytes, so it lies within margin ids; text that
// is cut inside a character is cut behind it, as it counts as one character on
// both sides.
func (d *Detokenizer) force(dst []byte, e *entry, fresh []byte, r Row) (out, rest []byte) {
	cut := len(e.ids) - margin
	before := countRunes(d.surr)
	d.surr = d.decoder.AppendDecode(d.surr[:0], e.ids[:cut], r.SkipSpecial, r.SpacesBetween)
	n := max(0, countRunes(d.surr)-before)
	rest = skipRunes(fresh, n)
	whole := fresh[:len(fresh)-len(rest)]
	dst = append(dst, skipRunes(whole, e.pending)...)
	e.text = append(e.text, whole...)
	e.sent, e.pending = len(e.text), max(0, e.pending-n)
	e.drop(cut-margin, cut)
	return dst, rest
}

// drop takes the first n ids from the window; those before readOffset surround
// the others from now on.
func (e *entry) drop(n, readOffset int) {
	kept := copy(e.ids, e.ids[n:])
	e.ids, e.readOffset = e.ids[:kept], readOffset-n
}

// dropTextless takes the new ids without text from the window.
func (d *Detokenizer) dropTextless(e *entry, r Row) {
	kept := e.ids[:e.readOffset]
	for _, id := range e.ids[e.readOffset:] {
		if !d.textless(id, r) {
			kept = append(kept, id)
		}
	}
	e.ids = kept
}

// shorten leaves of the surrounding ids the last few that have text, when there
// are too many to decode them with every row.
func (d *Detokenizer) shorten(e *entry, r Row) {
	if e.readOffset <= longest {
		return
	}
	at := e.readOffset // where those that stay begin
	for i := e.readOffset - 1; i >= 0 && e.readOffset-at < margin; i-- {
		if !d.textless(e.ids[i], r) {
			at--
			e.ids[at] = e.ids[i]
		}
	}
	e.drop(at, e.readOffset)
}

// textless says whether id adds nothing to any text. It is decoded twice over: a
// word that is empty has no text alone, but a blank before it.
func (d *Detokenizer) textless(id int64, r Row) bool {
	d.pair = [2]int64{id, id}
	d.probe = d.decoder.AppendDecode(d.probe[:0], d.pair[:], r.SkipSpecial, r.SpacesBetween)
	return len(d.probe) == 0
}
