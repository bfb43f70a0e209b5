package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fanoutbench/fanoutbench/results/cpuprofile"
)

// ProfileFolder is the folder of a run's CPU profiles, one for each cell and arm
// that has them. They were made after the last round, untimed, and no hash and no
// figure stands on them.
const ProfileFolder = "profiles"

// profileName is a profile's file.
func profileName(count int, metadata, arm string) string {
	return filepath.Join(ProfileFolder, fmt.Sprintf("%d-%s-%s.pb.gz", count, metadata, arm))
}

// KeepProfile puts an arm's profile of a cell into the run folder, those of its
// processes together, without folders of this machine and without the samples of
// the worker's control plane.
func KeepProfile(dir string, count int, metadata, arm string, parts [][]byte) error {
	name := profileName(count, metadata, arm)
	kept, err := cpuprofile.Keep(parts)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, ProfileFolder), 0o755)
	}
	if err == nil {
		err = replace(filepath.Join(dir, name), kept)
	}
	if err != nil {
		return fmt.Errorf("results: %s: %w", name, err)
	}
	return nil
}

// mostChanged functions are in a report for each cell.
const mostChanged = 10

// profiled is one cell's profiles; an arm without one has nil.
type profiled struct {
	cell    cell
	profile map[string]*cpuprofile.Profile // by arm
}

// readProfiles reads what profiles a run folder has, in the plan's order of cells.
func readProfiles(dir string, p Plan) ([]profiled, error) {
	if _, err := os.Stat(filepath.Join(dir, ProfileFolder)); dir == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []profiled
	for _, count := range p.Counts {
		for _, metadata := range p.Metadata {
			c := profiled{cell: cell{count, metadata}, profile: map[string]*cpuprofile.Profile{}}
			for _, arm := range []string{Reference, Candidate} {
				read, err := readProfile(dir, profileName(count, metadata, arm))
				if err != nil {
					return nil, err
				}
				c.profile[arm] = read
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func readProfile(dir, name string) (*cpuprofile.Profile, error) {
	b, err := readFile(dir, name, cpuprofile.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := cpuprofile.Read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &p, nil
}

var profileHead = []string{"function", "reference %", "candidate %", "change"}

// sentence says what there is of both arms' profiles.
func (p profiled) sentence() string {
	s := fmt.Sprintf("CPU profile, count %d, metadata %s, untimed:", p.cell.count, p.cell.metadata)
	for _, arm := range []string{Reference, Candidate} {
		if c := p.profile[arm]; c != nil {
			s += fmt.Sprintf(" %s %d samples (%d ms);", arm, c.Samples, c.CPUNS/1_000_000)
		} else {
			s += fmt.Sprintf(" %s has none;", arm)
		}
	}
	return s + " shares by innermost function"
}

// table is the functions whose shares changed most, nil if there are not two
// profiles to compare.
func (p profiled) table() [][]string {
	r, c := p.profile[Reference], p.profile[Candidate]
	if r == nil || c == nil {
		return nil
	}
	lines := [][]string{profileHead}
	for _, f := range cpuprofile.Changed(*r, *c, mostChanged) {
		change := f.Candidate - f.Reference
		sign := ""
		if change > 0 {
			sign = "+"
		}
		lines = append(lines, []string{cpuprofile.Short(f.Function), oneDecimal(&f.Reference), oneDecimal(&f.Candidate), sign + oneDecimal(&change)})
	}
	return lines
}

// profileText is the section of the text report.
func (r report) profileText(b *bytes.Buffer) {
	for _, p := range r.profiles {
		b.WriteString("\n" + p.sentence() + "\n")
		if table := p.table(); table != nil {
			writeTable(b, table, []int{0})
		}
	}
}

// profileMarkdown is the section of the Markdown report.
func (r report) profileMarkdown(b *bytes.Buffer) {
	for _, p := range r.profiles {
		b.WriteString("\n" + p.sentence() + "\n\n")
		for i, line := range p.table() {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escaped(line[0]), line[1], line[2], line[3])
			if i == 0 {
				b.WriteString("| :-- | --: | --: | --: |\n")
			}
		}
	}
}
