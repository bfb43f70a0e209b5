package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// profiledArms are all but the control, which is the reference once more.
var profiledArms = []string{results.Reference, results.Candidate}

// profileAll runs, after the last round, one trial of every cell with the workers'
// CPU profiles on. Its rows are judged as those of any trial; its times are
// recorded nowhere. An arm with a controller of its own has no profile: its worker
// is none of this module's.
func (d *driver) profileAll(ctx context.Context) error {
	var names []string
	for _, name := range profiledArms {
		if !d.conf.Arms[name].Profiled() {
			d.warnings = append(d.warnings, fmt.Sprintf("profile: the %s has none, its worker is not one of this module", name))
			continue
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	if len(d.sessions) == 0 { // the last round's processes once more, in its layouts
		if err := d.start(ctx, d.plan.Rounds-1, profiledArms); err != nil {
			return err
		}
	}
	for _, cell := range plan.Cells(d.plan) {
		for _, name := range names {
			if err := d.profileTrial(ctx, profileSlot(d.plan, cell, name)); err != nil {
				return err
			}
		}
	}
	if err := d.stop(ctx); err != nil { // the last profiles are written when the workers end
		return err
	}
	return d.keepProfiles(names)
}

// profileSlot is behind the last round.
func profileSlot(p results.Plan, cell protocol.Cell, name string) results.Slot {
	return results.Slot{Round: p.Rounds, Count: cell.Count, Metadata: cell.Metadata, Arm: name}
}

func (d *driver) profileTrial(ctx context.Context, slot results.Slot) error {
	if _, err := d.judged(ctx, slot); err != nil {
		err = fmt.Errorf("profile of count %d, metadata %s: %w", slot.Count, slot.Metadata, err)
		return &located{err: err, arm: slot.Arm, slot: results.Slot{Round: afterRounds}}
	}
	return nil
}

// profilePath is where the processes of a slot's arm write their profiles, each
// with its number behind it: nowhere in a trial of the plan.
func (d *driver) profilePath(slot results.Slot) string {
	if slot.Round < d.plan.Rounds {
		return ""
	}
	return filepath.Join(d.dir, fmt.Sprintf("%d-%s-%s.pb.gz", slot.Count, slot.Metadata, slot.Arm))
}

// patience is how long a trial may take: longer where its stream is replayed.
func (d *driver) patience(slot results.Slot) time.Duration {
	if slot.Round < d.plan.Rounds {
		return milliseconds(d.plan.TimeoutMS)
	}
	return milliseconds(d.plan.TimeoutMS + protocol.ProfileMS)
}

// profileParts are the profiles of an arm's processes, as many as there are.
func profileParts(path string) (parts [][]byte, err error) {
	for {
		part, err := os.ReadFile(fmt.Sprintf("%s.%d", path, len(parts)))
		if errors.Is(err, fs.ErrNotExist) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
}

// keepProfiles puts what the workers have written into the run folder. One of an
// older revision knows nothing of profiles.
func (d *driver) keepProfiles(names []string) error {
	missing := map[string]bool{}
	for _, cell := range plan.Cells(d.plan) {
		for _, name := range names {
			parts, err := profileParts(d.profilePath(profileSlot(d.plan, cell, name)))
			if err == nil && len(parts) == 0 {
				if !missing[name] {
					d.warnings = append(d.warnings, fmt.Sprintf("profile: the worker of the %s wrote none, as one of an older revision does", name))
				}
				missing[name] = true
				continue
			}
			if err == nil {
				err = results.KeepProfile(d.run.Dir(), cell.Count, cell.Metadata, name, parts)
			}
			if err != nil {
				return fmt.Errorf("driver: profile of the %s: %w", name, err)
			}
		}
	}
	return nil
}
