package counters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

const (
	magic     = "fanoutbench counters 1\n"
	wordBytes = 8

	// Far above what a part needs; a file beyond them is not one of ours.
	maxMetrics = 1000
	maxBuckets = 200
	maxHeader  = 1 << 20
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// check says what is wrong with what a part declares.
func check(specs []Spec) error {
	if len(specs) == 0 || len(specs) > maxMetrics {
		return fmt.Errorf("%d metrics, wanted 1 to %d", len(specs), maxMetrics)
	}
	seen := make(map[string]bool, len(specs))
	for i, s := range specs {
		if !snakeCase.MatchString(s.Name) {
			return fmt.Errorf("metric %d has the name %q, wanted snake_case", i, s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("two metrics are named %s", s.Name)
		}
		seen[s.Name] = true
		if err := s.check(); err != nil {
			return fmt.Errorf("metric %s: %w", s.Name, err)
		}
	}
	if n := len(encode(specs)); n > maxHeader {
		return fmt.Errorf("the names and helps take %d bytes, at most %d are allowed", n, maxHeader)
	}
	return nil
}

func (s Spec) check() error {
	if s.Help == "" {
		return errors.New("it has no help")
	}
	switch s.Kind {
	case KindCounter, KindGauge, KindBeat:
		if len(s.Buckets) > 0 {
			return fmt.Errorf("a %s has no buckets", s.Kind)
		}
		return nil
	case KindHistogram:
		return checkBuckets(s.Buckets)
	}
	return fmt.Errorf("kind %q, wanted counter, gauge, histogram or beat", s.Kind)
}

func checkBuckets(bounds []float64) error {
	if len(bounds) == 0 || len(bounds) > maxBuckets {
		return fmt.Errorf("%d buckets, wanted 1 to %d", len(bounds), maxBuckets)
	}
	for i, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return fmt.Errorf("bucket %d ends at %v, wanted a finite bound", i, b)
		}
		if i > 0 && b <= bounds[i-1] {
			return fmt.Errorf("bucket %d ends at %v, not above the one before it, %v", i, b, bounds[i-1])
		}
	}
	return nil
}

// encode writes everything before the words. Specs that check passed cannot fail.
func encode(specs []Spec) []byte {
	out := []byte(magic)
	out = strconv.AppendInt(out, int64(len(specs)), 10)
	out = append(out, '\n')
	for _, s := range specs {
		line, err := json.Marshal(s)
		if err != nil {
			panic(fmt.Sprintf("counters: metric %s cannot be written as JSON: %v", s.Name, err))
		}
		out = append(append(out, line...), '\n')
	}
	for len(out)%wordBytes != 0 {
		out = append(out, 0)
	}
	return out
}

// parse reads what encode wrote, with anything behind it. Only what encode would
// write again is taken, so that a file has one reading.
func parse(data []byte) (specs []Spec, header int, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return nil, 0, fmt.Errorf("begins with %q, wanted %q", data[:min(len(data), len(magic))], magic)
	}
	first, rest, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, 0, errors.New("ends before the number of metrics")
	}
	n, err := strconv.Atoi(string(first[:min(len(first), 20)]))
	if err != nil || n < 1 || n > maxMetrics {
		return nil, 0, fmt.Errorf("number of metrics %.20q, wanted 1 to %d", first, maxMetrics)
	}
	for i := range n {
		var line []byte
		if line, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			return nil, 0, fmt.Errorf("ends within metric %d of %d", i, n)
		}
		var s Spec
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, 0, fmt.Errorf("metric %d: %w", i, err)
		}
		specs = append(specs, s)
	}
	if err := check(specs); err != nil {
		return nil, 0, err
	}
	again := encode(specs)
	if !bytes.HasPrefix(data, again) {
		return nil, 0, errors.New("its metrics are not written as this package writes them, or end before their padding")
	}
	return specs, len(again), nil
}
