package stats

import "fmt"

// Side is the kind of departure from zero that a test looks for. With log
// ratios of times, ln(candidate/reference), Above is a slow-down.
type Side int

const (
	Either Side = iota // above or below zero
	Above              // above zero
	Below              // below zero
)

// String names the side in a report.
func (s Side) String() string {
	switch s {
	case Either:
		return "either"
	case Above:
		return "above"
	case Below:
		return "below"
	}
	return fmt.Sprintf("Side(%d)", int(s))
}

func (s Side) valid() bool { return s >= Either && s <= Below }
