package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// paceRate is what a pace of so many batches a second begins with.
const paceRate = "rate:"

// MinRate and MaxRate bound the rate of a pace, in batches a second.
const (
	MinRate = 1e-3
	MaxRate = 1e6
)

// RatePace is the pace of so many batches a second.
func RatePace(rate float64) string { return paceRate + strconv.FormatFloat(rate, 'g', -1, 64) }

// ParsePace returns the rate of a pace, in batches a second; of PaceArrived and
// PaceNone, which have none, 0.
func ParsePace(pace string) (rate float64, err error) {
	if pace == PaceArrived || pace == PaceNone {
		return 0, nil
	}
	text, ok := strings.CutPrefix(pace, paceRate)
	if ok {
		rate, err = strconv.ParseFloat(text, 64)
	}
	if !ok || err != nil || !(MinRate <= rate && rate <= MaxRate) || RatePace(rate) != pace {
		return 0, fmt.Errorf("pace %q, want %q, %q or %sR with R batches a second, %g to %g, in its shortest form", pace, PaceArrived, PaceNone, paceRate, MinRate, MaxRate)
	}
	return rate, nil
}

// Intended is when batch s of a stream is due at a rate, after the clock's start.
func Intended(rate float64, s int) time.Duration {
	return time.Duration(float64(s) / rate * float64(time.Second))
}
