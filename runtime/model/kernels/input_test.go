package kernels

import (
	"slices"
	"testing"
)

// Several goroutines that fill tokens make what one makes of all.
func TestFillInParts(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(16)
		var whole, parts Input // reused, larger and smaller
		for _, f := range formats {
			for range 30 {
				_, cols, tokens := shape(r, f)
				x := normal(r, tokens*cols)
				whole.Set(f, x, tokens, cols)
				parts.Reset(f, tokens, cols)
				if parts.Tokens() != tokens {
					t.Fatalf("%d tokens, want %d", parts.Tokens(), tokens)
				}
				done := make(chan bool)
				half := r.IntN(tokens + 1)
				go func() { parts.Fill(x, 0, half); done <- true }()
				parts.Fill(x, half, tokens)
				<-done
				if !slices.Equal(whole.floats, parts.floats) && f != Q8 || f == Q8 && (!slices.Equal(whole.ints, parts.ints) || !slices.Equal(whole.scales, parts.scales)) {
					t.Fatalf("%v: %d tokens of %d numbers filled in parts differ", f, tokens, cols)
				}
			}
		}
	})
}

// What is set once can be changed behind it.
func TestInputIsACopy(t *testing.T) {
	for _, f := range formats {
		x := normal(random(17), blockCols)
		w := matrix(t, f, 1, blockCols, x)
		var in Input
		in.Set(f, x, 1, blockCols)
		before := product(w, &in)[0]
		clear(x)
		if after := product(w, &in)[0]; after != before {
			t.Errorf("%v: %v before the activations changed, %v after", f, before, after)
		}
	}
}
