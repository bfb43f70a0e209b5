package doctor

import (
	"bytes"
	"fmt"
	"io"
)

// Write writes the findings as text: what spoils first, each with why and how to
// mend it, then what is not known, then what is good.
func Write(w io.Writer, findings []Finding) error {
	var b bytes.Buffer
	count := map[State]int{}
	for _, state := range []State{Spoils, Unknown, Good} {
		for _, f := range findings {
			if f.State != state {
				continue
			}
			count[state]++
			fmt.Fprintf(&b, "%-7s  %s: %s\n", f.State, f.Name, f.Found)
			if state != Good {
				fmt.Fprintf(&b, "         why: %s\n", f.Why)
			}
			if state == Spoils {
				fmt.Fprintf(&b, "         mend: %s\n", f.Mend)
			}
		}
	}
	fmt.Fprintf(&b, "\n%d of %d things spoil measurements here, %d are not known, %d are good.\n",
		count[Spoils], len(findings), count[Unknown], count[Good])
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	return nil
}
