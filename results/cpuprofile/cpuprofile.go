// Package cpuprofile reads the CPU profiles of two arms' workers and says which
// functions' shares differ most.
//
// A profile is pprof's (gzip and profile.proto), as runtime/pprof writes it: about
// 100 samples for each second of CPU time. Keep makes of a worker's file one that
// can be published: without the samples of its control plane, which carry the label
// protocol.ProfilePlane, and without folders of the machine. What the collector and the
// scheduler did is in it, whoever it was for.
//
// The share of a function is of the samples in which it was the innermost one,
// inlined calls told apart, so that the shares of a profile add up to 100. A share
// of the whole below it would put the outermost functions first, which every sample
// has. Of n samples a share s has a standard deviation of about sqrt(s (1-s) / n),
// and the samples of neighbouring moments are not independent: a few hundred
// samples tell what takes a tenth of the time, not what takes a hundredth.
//
// Errors name what is wrong with the file. A file is read up to MaxFile bytes,
// unpacked up to MaxUnpacked.
package cpuprofile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Limits of a file, in bytes.
const (
	MaxFile     = 16 << 20
	MaxUnpacked = 64 << 20
)

// Profile is what a comparison needs of one.
type Profile struct {
	Samples int64
	CPUNS   int64            // CPU time of the samples
	Flat    map[string]int64 // samples by innermost function
}

// Change is a function with its shares in both profiles, in per cent.
type Change struct {
	Function             string
	Reference, Candidate float64

	distance float64 // of the shares, times both numbers of samples: exact for up to 2^26 of each
}

// Keep returns the profiles of one worker's processes as one, without the control
// plane's samples and without folders of the machine.
func Keep(parts [][]byte) ([]byte, error) {
	var all []*profile.Profile
	for i, b := range parts {
		p, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", i, err)
		}
		all = append(all, clean(p))
	}
	p, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("cpuprofile: %w", err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		return nil, fmt.Errorf("cpuprofile: %w", err)
	}
	return out.Bytes(), nil
}

func clean(p *profile.Profile) *profile.Profile {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.Contains(s.Label[protocol.ProfilePlane], protocol.ProfileControl)
	})
	for _, m := range p.Mapping {
		m.File = base(m.File)
	}
	for _, f := range p.Function {
		f.Filename = base(f.Filename)
	}
	p.Comments = nil
	return p
}

// base is the last element of an absolute path; paths of a build with -trimpath are
// relative and stay.
func base(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Base(path)
	}
	return path
}

// Read reads a profile.
func Read(b []byte) (Profile, error) {
	p, err := parse(b)
	if err != nil {
		return Profile{}, err
	}
	count, errCount := p.SampleIndexByName("samples")
	cpu, errCPU := p.SampleIndexByName("cpu")
	if err := errors.Join(errCount, errCPU); err != nil {
		return Profile{}, fmt.Errorf("cpuprofile: want a CPU profile: %w", err)
	}
	out := Profile{Flat: map[string]int64{}}
	for _, s := range p.Sample {
		n, ns := s.Value[count], s.Value[cpu]
		if n < 0 || ns < 0 || out.Samples+n < out.Samples || out.CPUNS+ns < out.CPUNS {
			return Profile{}, fmt.Errorf("cpuprofile: a sample has the values %d and %d after %d and %d, want none below 0 and sums within 63 bits", n, ns, out.Samples, out.CPUNS)
		}
		out.Samples, out.CPUNS = out.Samples+n, out.CPUNS+ns
		out.Flat[innermost(s)] += n
	}
	return out, nil
}

func innermost(s *profile.Sample) string {
	if len(s.Location) == 0 || len(s.Location[0].Line) == 0 || s.Location[0].Line[0].Function == nil {
		return "unknown"
	}
	return s.Location[0].Line[0].Function.Name
}

// Changed are the functions whose shares differ most, at most so many, those of
// the largest difference first; of equal ones the names decide.
func Changed(reference, candidate Profile, most int) []Change {
	var all []Change
	names := maps.Clone(reference.Flat)
	maps.Copy(names, candidate.Flat)
	for name := range names {
		distance := float64(reference.Flat[name])*float64(max(1, candidate.Samples)) - float64(candidate.Flat[name])*float64(max(1, reference.Samples))
		all = append(all, Change{name, reference.share(name), candidate.share(name), max(distance, -distance)})
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.distance, a.distance), strings.Compare(a.Function, b.Function))
	})
	return all[:min(most, len(all))]
}

func (p Profile) share(name string) float64 {
	if p.Samples == 0 {
		return 0
	}
	return 100 * float64(p.Flat[name]) / float64(p.Samples)
}

// typeArguments are those of a generic function's instance: shapes under hashes.
var typeArguments = regexp.MustCompile(`\[go\.shape\.[^\]]*\]`)

// Short is a function's name for a table: without the path of this module, and with
// the arguments of an instance as [...].
func Short(function string) string {
	return strings.ReplaceAll(typeArguments.ReplaceAllString(function, "[...]"), "github.com/fanoutbench/fanoutbench/", "")
}

// parse unpacks within limits, which package profile does not.
func parse(b []byte) (*profile.Profile, error) {
	if len(b) > MaxFile {
		return nil, fmt.Errorf("cpuprofile: %d bytes, want at most %d", len(b), MaxFile)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("cpuprofile: want a gzip file: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(z, MaxUnpacked+1))
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("cpuprofile: %w", err)
	}
	if len(raw) > MaxUnpacked {
		return nil, fmt.Errorf("cpuprofile: more than %d bytes unpacked", MaxUnpacked)
	}
	p, err := profile.ParseUncompressed(raw)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("cpuprofile: %w", err)
	}
	return p, nil
}
