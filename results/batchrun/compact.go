package batchrun

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Resolution of the times in raw.jsonl, as parts of a millisecond: a tenth of a
// microsecond, below what a sender can hold, at half the bytes of whole floats.
const resolution = 1e4

// fine is a time as it is written. It never puts two times into another order.
func fine(ms float64) float64 { return math.Round(ms*resolution) / resolution }

func fineOrNone(ms *float64) *float64 {
	if ms == nil {
		return nil
	}
	v := fine(*ms)
	return &v
}

func fineAll(ms []float64) []float64 {
	var out []float64
	for _, v := range ms {
		out = append(out, fine(v))
	}
	return out
}

// mostScores is how many scores of an answer are kept beside their hash.
const mostScores = 1000

// scored names answers that are to be alike.
type scored struct {
	cell, body int
	arm        string
}

func (r Request) scored() scored { return scored{r.Cell, r.Body, r.Arm} }

// writer brings requests into the form in which they are written: a hash of scores
// stands where it is not that of the answer before to the same body, by the same arm in
// the same cell.
type writer map[scored]string

// compact are the requests as they are written, in the order of the file. The caller's
// are left alone.
func (w writer) compact(requests []Request) []Request {
	out := make([]Request, len(requests))
	for i, r := range requests {
		r.IntendedMS = fine(r.IntendedMS)
		for _, at := range []**float64{&r.SentMS, &r.FirstByteMS, &r.DoneMS, &r.FirstItemMS, &r.LastItemMS, &r.LeadingMS} {
			*at = fineOrNone(*at)
		}
		r.TokenMS, r.ChunkMS = fineAll(r.TokenMS), fineAll(r.ChunkMS)
		var prefills []Spread
		for _, s := range r.Prefills {
			s.AtMS = fineOrNone(s.AtMS)
			prefills = append(prefills, s)
		}
		r.Prefills = prefills
		w.elide(&r)
		out[i] = r
	}
	return out
}

func (w writer) elide(r *Request) {
	if r.ScoresSHA256 != "" && w[r.scored()] == r.ScoresSHA256 {
		r.ScoresSHA256 = ""
	}
	if r.ScoresSHA256 == "" || r.Body != 0 || len(r.Scores) == 0 || len(r.Scores)*len(r.Scores[0]) > mostScores {
		r.Scores = nil
	}
	if r.ScoresSHA256 != "" {
		w[r.scored()] = r.ScoresSHA256
	}
}

// restore gives every answer its hash again.
func (f *Folder) restore() {
	if f.Plan.API != APIScore {
		return
	}
	last := map[scored]string{}
	for _, of := range f.Requests {
		for i := range of {
			switch r := &of[i]; {
			case r.Error != "":
			case r.ScoresSHA256 == "":
				r.ScoresSHA256 = last[r.scored()]
			default:
				last[r.scored()] = r.ScoresSHA256
			}
		}
	}
}

// ScoresSHA256 is the hash of the scores of an answer, an item a row: of each row the
// number of its labels (uint32) and their float64s, big endian.
func ScoresSHA256(scores [][]float64) string {
	h := sha256.New()
	var buf []byte
	for _, row := range scores {
		buf = binary.BigEndian.AppendUint32(buf[:0], uint32(len(row)))
		for _, v := range row {
			buf = binary.BigEndian.AppendUint64(buf, math.Float64bits(v))
		}
		h.Write(buf)
	}
	return hex.EncodeToString(h.Sum(nil))
}
