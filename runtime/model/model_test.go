package model

import "testing"

func TestGreedyTakesTheLowestOfEquals(t *testing.T) {
	if got := Greedy([]float32{1, 3, 3, 2}); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestModeNames(t *testing.T) {
	for mode, want := range map[Mode]string{Extend: "extend", Decode: "decode", Mixed: "mixed", 7: "Mode(7)"} {
		if got := mode.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
