package counters

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Value of a metric that was read.
type Value struct {
	Spec   Spec
	Count  uint64   // of a counter its value, of a histogram its observations
	Gauge  float64  // of a gauge its value, of a beat its time in seconds (see Now); 0: never
	State  State    // of a beat
	Sum    float64  // of a histogram
	Bucket []uint64 // of a histogram, not cumulative, the last one beyond all bounds
}

// suffix of the files in a server's folder; before it stands the part's name.
const suffix = ".counters"

// rowsBuilt is read after everything else.
const rowsBuilt = "rows_built"

// Read reads the counters of a part that may live or be dead.
func Read(path string) (map[string]Value, error) {
	p, err := openPart(path)
	if err != nil {
		return nil, err
	}
	defer p.file.unmap()
	if err := errors.Join(p.read(beforeBuilt), p.read(built)); err != nil {
		return nil, err
	}
	return p.values, nil
}

// ReadFolder reads the counters of all parts in a server's folder, by the part's
// name. Rows built are read after everything else, of all parts: a row that
// is counted as delivered was counted as built before, so no reading ever shows
// more rows delivered or dropped than built.
func ReadFolder(folder string) (map[string]map[string]Value, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]Value{}
	var parts []*openedPart
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok {
			continue
		}
		p, err := openPart(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}

		defer p.file.unmap()
		parts = append(parts, p)
		all[name] = p.values
	}
	for _, turn := range []func(Spec) bool{beforeBuilt, built} {
		for _, p := range parts {
			if err := p.read(turn); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func built(s Spec) bool       { return s.Name == rowsBuilt }
func beforeBuilt(s Spec) bool { return !built(s) }

// openedPart is a part's file, mapped.
type openedPart struct {
	path   string
	file   *mapping
	slots  map[string]slot
	values map[string]Value
}

func openPart(path string) (*openedPart, error) {
	specs, file, err := open(path)
	if err != nil {
		return nil, err
	}
	return &openedPart{path, file, slots(specs, file.words), make(map[string]Value, len(specs))}, nil
}

// read reads the metrics that it is asked for.
func (p *openedPart) read(wanted func(Spec) bool) error {
	var bad error
	err := guard(p.path, func() {
		for name, s := range p.slots {
			if !wanted(s.spec) {
				continue
			}
			v, err := s.value()
			bad = errors.Join(bad, err)
			p.values[name] = v
		}
	})
	if bad != nil {
		bad = fmt.Errorf("counters %s: %w", p.path, bad)
	}
	return errors.Join(err, bad)
}

func (s slot) value() (Value, error) {
	v := Value{Spec: s.spec}
	first := s.words[0].Load()
	switch s.spec.Kind {
	case KindCounter:
		v.Count = first
	case KindGauge:
		v.Gauge = math.Float64frombits(first)
	case KindBeat:
		err := readBeat(first, &v)
		return v, err
	case KindHistogram:
		last := len(s.spec.Buckets) + 1
		for i := range s.words[:last] {
			n := s.words[i].Load()
			v.Bucket = append(v.Bucket, n)
			v.Count += n
		}
		v.Sum = math.Float64frombits(s.words[last].Load())
	}
	return v, nil
}
