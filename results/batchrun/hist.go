package batchrun

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// MaxHist is the largest log of histograms, in bytes.
const MaxHist = 64 << 20

// HistName is the log of an arm's histograms in a cell: an interval for each round,
// with the tag round-R.
func HistName(cell int, arm string) string {
	return fmt.Sprintf("%s/cell-%d-%s.hlog", HistFolder, cell, arm)
}

// Histograms have microseconds in nanoseconds, which is the unit that readers of the
// format expect, up to a day, with three digits.
const (
	histLeast  = 1000
	histMost   = int64(24 * time.Hour)
	histDigits = 3
)

// histogram has the response times of a trial's answered requests.
func histogram(t Trial, requests []Request) (*hdrhistogram.Histogram, error) {
	h := hdrhistogram.New(histLeast, histMost, histDigits)
	h.SetTag(fmt.Sprintf("round-%d", t.Round))
	start := t.StartedAt.UnixMilli()
	h.SetStartTimeMs(start)
	h.SetEndTimeMs(start + int64(math.Ceil(t.WallMS)))
	for _, r := range requests {
		if r.Error != "" {
			continue
		}
		if err := h.RecordValue(int64(math.Round((*r.DoneMS - r.IntendedMS) * 1e6))); err != nil {
			return nil, fmt.Errorf("histogram of %s: %w", t.Slot(), err)
		}
	}
	return h, nil
}

// histograms are those of an arm in a cell, by round.
func (f *Folder) histograms(cell int, arm string) ([]*hdrhistogram.Histogram, error) {
	var all []*hdrhistogram.Histogram
	for i, t := range f.Trials {
		if t.Cell != cell || t.Arm != arm {
			continue
		}
		h, err := histogram(t, f.Requests[i])
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// writeHist writes the logs of all cells and arms.
func (f *Folder) writeHist() error {
	for cell := range f.Plan.Cells {
		for _, arm := range []string{Reference, Candidate} {
			all, err := f.histograms(cell, arm)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := writeLog(&b, f.Plan.Cells[cell].String()+", "+arm, all); err != nil {
				return fmt.Errorf("%s: %w", HistName(cell, arm), err)
			}
			if err := form.Replace(filepath.Join(f.Dir, filepath.FromSlash(HistName(cell, arm))), b.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeLog(b *bytes.Buffer, name string, all []*hdrhistogram.Histogram) error {
	w := hdrhistogram.NewHistogramLogWriter(b)
	start := int64(0)
	if len(all) > 0 {
		start = all[0].StartTimeMs()
	}
	for _, write := range []func() error{
		func() error { return w.OutputComment("[response times of answered requests in ns: " + name + "]") },
		w.OutputLogFormatVersion,
		func() error { return w.OutputStartTime(start) },
		w.OutputLegend,
	} {
		if err := write(); err != nil {
			return err
		}
	}
	for _, h := range all {
		if err := w.OutputIntervalHistogram(h); err != nil {
			return err
		}
	}
	return nil
}

// readLog reads the histograms of a log.
func readLog(b []byte) ([]*hdrhistogram.Histogram, error) {
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(b))
	var all []*hdrhistogram.Histogram
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			return all, err
		}
		if h == nil {
			return all, nil
		}
		all = append(all, h)
	}
}

// checkHist compares the logs' histograms with those of the requests. Bytes are not
// compared: another version of the compressor may give others.
func (f *Folder) checkHist() error {
	for cell := range f.Plan.Cells {
		for _, arm := range []string{Reference, Candidate} {
			name := HistName(cell, arm)
			b, err := form.ReadFile(f.Dir, filepath.FromSlash(name), MaxHist)
			if err != nil {
				return err
			}
			got, err := readLog(b)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			want, err := f.histograms(cell, arm)
			if err != nil {
				return err
			}
			if !slices.EqualFunc(got, want, sameHistogram) {
				return fmt.Errorf("%s has other histograms than %s gives", name, RawFile)
			}
		}
	}
	return nil
}

// sameHistogram lets the end be 1 ms early: the format has it as a decimal of seconds from the start,
// from which the library makes milliseconds by cutting a float off.
func sameHistogram(a, b *hdrhistogram.Histogram) bool {
	early := a.EndTimeMs() - b.EndTimeMs()
	return a.Equals(b) && a.Tag() == b.Tag() && a.StartTimeMs() == b.StartTimeMs() && -1 <= early && early <= 1
}
