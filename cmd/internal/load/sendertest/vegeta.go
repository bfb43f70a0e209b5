package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
)

// The columns of vegeta's CSV that are read: when the request was sent, in nanoseconds of Unix time, its status, what went
// wrong, and its number.
const (
	columnTime   = 0
	columnStatus = 1
	columnError  = 5
	columnNumber = 8
)

// attack is a vegeta run: when each request was sent, by number, and how many failed.
type attack struct {
	sent   []int64
	failed int
}

func readAttack(r io.Reader) (attack, error) {
	var a attack
	byNumber := map[uint64]int64{}
	in := csv.NewReader(r)
	in.ReuseRecord = true
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return a, err
		}
		line, _ := in.FieldPos(0)
		if len(row) <= columnNumber {
			return a, fmt.Errorf("line %d: %d columns, want %d or more", line, len(row), columnNumber+1)
		}
		at, err := strconv.ParseInt(row[columnTime], 10, 64)
		if err != nil {
			return a, fmt.Errorf("line %d: time %q: %w", line, row[columnTime], err)
		}
		number, err := strconv.ParseUint(row[columnNumber], 10, 64)
		if err != nil {
			return a, fmt.Errorf("line %d: number %q: %w", line, row[columnNumber], err)
		}
		if _, twice := byNumber[number]; twice {
			return a, fmt.Errorf("line %d: number %d for the second time", line, number)
		}
		byNumber[number] = at
		if row[columnStatus] != "200" || row[columnError] != "" {
			a.failed++
		}
	}
	for i := range uint64(len(byNumber)) {
		at, ok := byNumber[i]
		if !ok {
			return a, fmt.Errorf("request %d of %d is missing", i, len(byNumber))
		}
		a.sent = append(a.sent, at)
	}
	if len(a.sent) < 2 {
		return a, fmt.Errorf("%d requests, want 2 or more", len(a.sent))
	}
	return a, nil
}

// lateness is from when each request was due, at a constant rate from the first one on; vegeta does not tell
// how late that one was.
func (a attack) lateness(rps float64) []float64 {
	late := make([]float64, len(a.sent))
	for i, at := range a.sent {
		late[i] = float64(at-a.sent[0])/1e9 - float64(i)/rps
	}
	return late
}

// rate is that at which it sent.
func (a attack) rate() float64 {
	return float64(len(a.sent)-1) / (float64(slices.Max(a.sent)-a.sent[0]) / 1e9)
}

func vegeta(s settings, out io.Writer) (err error) {
	f, err := os.Open(s.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a, err := readAttack(f)
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	late := load.SpreadOf(a.lateness(s.rps))
	v := load.Validity{Offered: s.rps}
	if limit := load.NullLimits().Lateness; late.P99 > limit {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s: the 99th percentile is above %v ms; vegeta does not say so", load.RuleLateness, 1e3*limit))
	}
	if a.failed > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s: %d", load.RuleErrors, a.failed))
	}
	v.Valid = len(v.Reasons) == 0
	return line(out, a.rate(), late, v)
}
