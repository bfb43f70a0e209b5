package kernels

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The sources have the numbers of shape.go.
func TestShapesOfTheSources(t *testing.T) {
	for source, lines := range map[string][]string{
		"matvec.cu": {
			fmt.Sprintf("constexpr int warps = %d;", matvecWarps), fmt.Sprintf("constexpr int chunk = %d;", matvecChunk), fmt.Sprintf("constexpr int slab = %d;", MatVecTokens),
		},
		"attend_decode.cu": {fmt.Sprintf("constexpr int split = %d;", SplitPositions), fmt.Sprintf("constexpr int widest = %d;", MostHeadDim)},
		"attend.cu":        {fmt.Sprintf("constexpr int widest = %d;", MostHeadDim)},
		"store.cu":         {fmt.Sprintf("constexpr int pairs_held = %d;", MostHeadDim/2/32)},
		"norm.cu":          {fmt.Sprintf("constexpr int kept = %d;", MostHidden/4/1024)},
		"gemm.cu":          {fmt.Sprintf("// %d tokens by %[1]d rows", gemmTile), fmt.Sprintf("// %d by %d\n", gemmTile, 2*gemmTile), fmt.Sprintf("constexpr int side = %d,", gemmTile)},
		"choose.cu":        {fmt.Sprintf("constexpr int most = %d;", MostTopK)},
	} {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not have %q", source, line)
			}
		}
	}
}

func TestSplits(t *testing.T) {
	for positions, want := range map[int]int{1: 1, 127: 1, 128: 1, 129: 2, 256: 2, 257: 3} {
		if got := Splits(positions); got != want {
			t.Errorf("%d positions are %d splits, expected %d", positions, got, want)
		}
	}
}
