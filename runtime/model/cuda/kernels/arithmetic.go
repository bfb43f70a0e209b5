package kernels

import "time"

// Decoder is a model's shape, as far as it says what a step of decoding moves.
type Decoder struct {
	Format
	Layers, Hidden, Inner int
	HeadShape
	HeadNorms  bool // queries and keys are normalized
	Vocabulary int  // rows of the head that are computed
}

// Step is what a step of decoding costs by design.
type Step struct {
	Weights  int64 // bytes read of matrices and norms
	Cache    int64 // bytes read and written of keys and values
	Between  int64 // bytes that kernels hand to each other, which fit into a device's L2 cache
	Launches int
}

// Bytes that must come from the device's memory.
func (s Step) Bytes() int64 { return s.Weights + s.Cache }

// Time is how long they take at so many bytes a second.
func (s Step) Time(bandwidth float64) time.Duration {
	return time.Duration(float64(s.Bytes()) / bandwidth * float64(time.Second))
}

// Step is one of so many works, up to MatVecTokens, which have context positions each, that of
// the step included.
func (d Decoder) Step(works, context int) Step {
	var (
		query, keys = d.Heads * d.Dim, d.KVHeads * d.Dim
		qkv         = query + 2*keys
		layer       = d.Hidden*(qkv+query) + 3*d.Hidden*d.Inner
		norms       = 2 * d.Hidden
	)
	if d.HeadNorms {
		norms += 2 * d.Dim
	}
	parts := Splits(context) * d.Heads * (d.Dim + 2)
	// What is written and read again of a token; x and what is added to it are read, too.
	between := 2*qkv + 2*query + 2*d.Inner + 6*d.Hidden + 2*parts
	return Step{
		Weights:  int64(d.Layers)*int64(layer*d.Bytes()+4*norms) + int64(d.Vocabulary*d.Hidden*d.Bytes()+4*d.Hidden),
		Cache:    int64(works) * int64(d.Layers) * int64(2*keys*d.Bytes()) * int64(context+1),
		Between:  4 * int64(works) * (int64(d.Layers)*int64(between) + int64(2*d.Vocabulary)),
		Launches: launchesOnce + d.Layers*launchesPerLayer,
	}
}

const (
	launchesPerLayer = 7 // normalized q, k, v; store; split; join; o; normalized gate, up; down
	launchesOnce     = 3 // embed; the normalized head; argmax
)
