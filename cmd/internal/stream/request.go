package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Ways for a request of a mixed stream to end; they take turns.
const (
	endLength = iota
	endAbort
	endToken     // by a stop token, which is trimmed
	endTokenKept // by one that no_stop_trim keeps
	endText      // by a stop string, which is trimmed
	endTextKept
	endings
)

// request is one request of a mixed stream, row by row.
type request struct {
	rows   [][]int64 // output ids of each row that it has
	prompt []int64   // the end of the prompt, in front of the first row's ids
	before string    // text from before the first row
	skip   bool
	spaces bool
	keep   bool // no_stop_trim
	reason any  // of the last row
}

// finishStop and finishAbort are reasons as SGLang has them.
type finishStop struct {
	Type    string `json:"type"`
	Matched any    `json:"matched"`
}

type finishAbort struct {
	Type       string  `json:"type"`
	Message    string  `json:"message"`
	StatusCode *int    `json:"status_code"`
	ErrType    *string `json:"err_type"`
}

// author writes the ids of one request.
type author struct {
	r       *rand.Rand
	l       *lexicon
	skip    bool
	stop    string // whose beginnings are strewn in
	pending []byte // text not yet turned into ids
}

// maxTries bounds how often a request is drawn. A text that has its stop string
// by accident before its end is drawn again; that is rare.
const maxTries = 1000

func (l *lexicon) request(r *rand.Rand, end int, counts []int) (request, error) {
	for range maxTries {
		if q, ok := l.draw(r, end, counts); ok {
			return q, nil
		}
	}
	return request{}, fmt.Errorf("stream: no request whose stop string comes at its end in %d tries", maxTries)
}

// draw makes a request with so many ids in each row. It is no good if its stop
// string comes before the place where it was put.
func (l *lexicon) draw(r *rand.Rand, end int, counts []int) (request, bool) {
	q := request{
		skip: r.IntN(3) > 0, spaces: r.IntN(2) > 0,
		keep: end == endTokenKept || end == endTextKept || end == endLength && r.IntN(2) > 0,
	}
	if r.IntN(8) == 0 {
		q.before = "vor é "
	}
	a := author{r: r, l: l, skip: q.skip}
	q.prompt = a.ids(1 + r.IntN(5))
	if end == endText || end == endTextKept {
		a.stop = pick(r, stopStrings)
	}
	for _, n := range counts {
		q.rows = append(q.rows, a.ids(n))
	}
	switch end {
	case endAbort:
		q.reason = finishAbort{Type: "abort", Message: "aborted é"}
	case endToken, endTokenKept:
		q.reason = finishStop{"stop", a.stopToken(q.rows)}
	case endText, endTextKept:
		at := a.stopText(q.rows, q.keep)
		q.reason = finishStop{"stop", a.stop}
		return q, bytes.Index(l.raw(q), []byte(a.stop)) == len(q.before)+at
	default:
		q.reason = finish{"length", q.outputs()}
	}
	return q, true
}

// ids are n ids: mostly text, and now and then a token of nothing, a special
// one, a byte that begins or goes on with a character, an id that is none.
func (a *author) ids(n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		switch a.r.IntN(40) {
		case 0, 1:
			ids[i] = pick(a.r, a.l.empties)
		case 2:
			ids[i] = pick(a.r, a.l.specials)
		case 3:
			ids[i] = firstByte + 0x80 + a.r.Int64N(0x80)
		case 4:
			ids[i] = a.l.outside + a.r.Int64N(1000)
		default:
			ids[i] = a.text()
		}
	}
	return ids
}

// text is the next id of text.
func (a *author) text() int64 {
	if len(a.pending) == 0 {
		a.pending = []byte(phrase(a.r, 1))
		if a.stop != "" && a.r.IntN(6) == 0 { // a false start
			a.pending = []byte("." + a.stop[:1+a.r.IntN(len(a.stop)-1)] + ".")
		}
	}
	for n := min(len(a.pending), 1+a.r.IntN(longest)); n > 1; n-- {
		if id, ok := a.l.ids[string(a.pending[:n])]; ok {
			a.pending = a.pending[n:]
			return id
		}
	}
	id := firstByte + int64(a.pending[0])
	a.pending = a.pending[1:]
	return id
}

// spelled is the ids of a text, with a token of nothing among them at times.
func (a *author) spelled(text string) []int64 {
	var ids []int64
	for a.pending = []byte(text); len(a.pending) > 0; {
		ids = append(ids, a.text())
		if a.r.IntN(8) == 0 {
			ids = append(ids, pick(a.r, a.l.empties))
		}
	}
	return ids
}

// stopToken makes the last id a stop token: a special one or any other.
func (a *author) stopToken(rows [][]int64) int64 {
	id := pick(a.r, a.l.specials)
	if a.r.IntN(3) == 0 {
		id = firstByte + a.r.Int64N(a.l.outside-firstByte)
	}
	last := rows[len(rows)-1]
	last[len(last)-1] = id
	return id
}

// stopText ends the request with its stop string and perhaps some text behind
// it, and returns the bytes before it. The stop string lies in the last row,
// since a scheduler holds back rows that could belong to one, but for two cases:
// the first bytes of its first character may come in the row before, and with
// keep any part of it. A point before it makes a false start no true one.
func (a *author) stopText(rows [][]int64, keep bool) int {
	point := int64(firstByte + '.')
	last := len(rows) - 1
	begun := 0 // bytes of the stop string in the row before
	if last > 0 && a.r.IntN(2) == 0 {
		switch first := len(string([]rune(a.stop)[:1])); {
		case keep:
			begun = 1 + a.r.IntN(len(a.stop)-1)
		case first > 1:
			begun = 1 + a.r.IntN(first-1)
		}
	}
	stop := a.spelled(a.stop[begun:])
	if a.r.IntN(2) == 0 {
		stop = append(stop, a.spelled(phrase(a.r, 1))...)
	}
	if begun > 0 {
		head := append([]int64{point}, a.spelled(a.stop[:begun])...)
		rows[last-1] = append(rows[last-1][:max(0, min(len(rows[last-1]), maxTokens)-len(head))], head...)
		rows[last] = stop
	} else {
		body := rows[last][:max(0, len(rows[last])-len(stop)-1)]
		rows[last] = append(append(body, point), stop...)
	}
	at := 0
	for _, ids := range rows[:last] {
		at += a.length(ids)
	}
	if begun > 0 {
		return at - begun
	}
	return at + a.length(rows[last][:len(rows[last])-len(stop)])
}

func (a *author) length(ids []int64) int {
	n := 0
	for _, id := range ids {
		n += len(a.l.piece(id, a.skip))
	}
	return n
}

// raw is the request's text as bytes, trimmed by nothing.
func (l *lexicon) raw(q request) []byte {
	raw := []byte(q.before)
	for _, ids := range q.rows {
		for _, id := range ids {
			raw = append(raw, l.piece(id, q.skip)...)
		}
	}
	return raw
}

func (q request) outputs() int {
	n := 0
	for _, ids := range q.rows {
		n += len(ids)
	}
	return n
}
