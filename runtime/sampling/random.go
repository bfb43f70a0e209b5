package sampling

import (
	"hash/fnv"
	"io"
	"math/bits"
)

// Random is Philox4x64-10: four random words for a key and a counter.
func Random(key [2]uint64, counter [4]uint64) [4]uint64 {
	const (
		m0, m1 = 0xd2e7470ee14c6c93, 0xca5a826395121157 // multipliers
		w0, w1 = 0x9e3779b97f4a7c15, 0xbb67ae8584caa73b // of the key's sequence
	)
	c := counter
	for range 10 {
		hi0, lo0 := bits.Mul64(m0, c[0])
		hi1, lo1 := bits.Mul64(m1, c[2])
		c = [4]uint64{hi1 ^ c[1] ^ key[0], lo1, hi0 ^ c[3] ^ key[1], lo0}
		key[0] += w0
		key[1] += w1
	}
	return c
}

// Key is a request's: of its seed, or where it has none of its rid and a seed
// that all requests share.
func Key(seed *int64, shared uint64, rid string) [2]uint64 {
	if seed != nil {
		return [2]uint64{uint64(*seed), 0}
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, rid) // a hash never fails
	return [2]uint64{shared, h.Sum64()}
}

// Uniform makes of a random word a number of at least 0 and below 1.
func Uniform(word uint64) float64 { return float64(word>>11) / (1 << 53) }
