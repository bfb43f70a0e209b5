package kernels

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The model of the documentation's table.
var qwen3Small = Decoder{Format: BF16, Layers: 28, Hidden: 1024, Inner: 3072, HeadShape: HeadShape{16, 8, 128}, HeadNorms: true, Vocabulary: 151669}

const h200 = 4.8e12 // bytes a second

// The documentation's table of steps is what Step says.
func TestDocumentedSteps(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^//\t(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+)\s+(\d+)\s+(\d+)$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 5 {
		t.Fatalf("%d rows of steps in doc.go, expected at least 5", len(rows))
	}
	for _, row := range rows {
		var works, context int
		if _, err := fmt.Sscan(row[1]+" "+row[2], &works, &context); err != nil {
			t.Fatal(err)
		}
		s := qwen3Small.Step(works, context)
		bound := s.Time(h200).Microseconds()
		want := fmt.Sprintf("%d %d %.1f %.1f %.1f %d %d %d", works, context, float64(s.Weights)/1e6, float64(s.Cache)/1e6, float64(s.Between)/1e6, s.Launches, bound, int64(math.Round(float64(bound)/0.6)))
		if got := strings.Join(row[1:], " "); got != want {
			t.Errorf("doc.go says %s, Step %s", got, want)
		}
	}
}

// Step by hand: a model small enough to count.
func TestStepOfATinyModel(t *testing.T) {
	d := Decoder{Format: F32, Layers: 2, Hidden: 8, Inner: 16, HeadShape: HeadShape{2, 1, 8}, Vocabulary: 10}
	got := d.Step(3, 129)
	want := Step{
		Weights:  4 * (2*(32*8+8*16+32*8+8*16+2*8) + 10*8 + 8),
		Cache:    4 * 3 * 2 * 130 * 2 * 8, // 129 positions are read, one is written
		Between:  4 * 3 * (2*(2*32+2*16+2*16+6*8+2*(2*2*10)) + 2*10),
		Launches: 17,
	}
	if got != want {
		t.Errorf("Step is %+v, expected %+v", got, want)
	}
}
