package qwen3

import (
	"math"
	"testing"
)

// Both ways to the nearest, ties to the even one, and what is no number.
func TestRoundBF16(t *testing.T) {
	for from, want := range map[uint32]uint32{
		0x3f800000: 0x3f800000, 0x3f807fff: 0x3f800000, 0x3f808000: 0x3f800000, 0x3f808001: 0x3f810000,
		0x3f818000: 0x3f820000, 0xbf818000: 0xbf820000, 0xbf808000: 0xbf800000, 0x3fffffff: 0x40000000,
		0x00000001: 0, 0x80008001: 0x80010000, 0x7f7fffff: 0x7f800000, 0x7f800000: 0x7f800000, 0xff800000: 0xff800000,
	} {
		x := []float32{math.Float32frombits(from), float32(math.NaN())}
		roundBF16(x)
		if got := math.Float32bits(x[0]); got != want || x[1] == x[1] {
			t.Errorf("%#08x is rounded to %#08x, want %#08x; a NaN to %v", from, got, want, x[1])
		}
	}
}
