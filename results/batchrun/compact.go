package batchrun

import "math"

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

// compact are the requests as they are written. The caller's are left alone.
func compact(requests []Request) []Request {
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
		out[i] = r
	}
	return out
}
