package results

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Why a calibration is not used.
const (
	CalibrationMissing = "missing"
	CalibrationExpired = "expired"
	CalibrationForeign = "of another host"
	CalibrationFailed  = "failed"
	CalibrationBroken  = "broken"
)

// CalibrationError is a calibration that is not used, by its file.
type CalibrationError struct{ Path, Why, Detail string }

func (e *CalibrationError) Error() string {
	if e.Why == CalibrationMissing {
		return fmt.Sprintf("there is no calibration of this host (%s); fanoutbench calibrate makes one", e.Path)
	}
	return fmt.Sprintf("the calibration in %s is %s: %s", e.Path, e.Why, e.Detail)
}

// CalibrationPath is where the latest calibration of a host lies: in the user's
// folder for caches, which XDG_CACHE_HOME moves.
func CalibrationPath(fingerprint string) (string, error) {
	if err := checkHash("fingerprint", fingerprint); err != nil {
		return "", fmt.Errorf("results: calibration: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("results: the folder of calibrations: %w", err)
	}
	return filepath.Join(cache, "fanoutbench", "calibrations", fingerprint+".json"), nil
}

// LoadCalibration reads the latest calibration of the host that these facts (Host)
// are of. Unless it passed and holds at that time the error is a *CalibrationError.
func LoadCalibration(host map[string]string, at time.Time) (*Calibration, error) {
	path, err := CalibrationPath(Fingerprint(host))
	if err != nil {
		return nil, err
	}
	return ReadCalibrationFor(path, host, at)
}

// ReadCalibrationFor reads a calibration from a file, for a host and a time.
func ReadCalibrationFor(path string, host map[string]string, at time.Time) (*Calibration, error) {
	c, err := ReadCalibration(path)
	if err != nil {
		return nil, err
	}
	refuse := func(why, detail string, args ...any) (*Calibration, error) {
		return nil, &CalibrationError{path, why, fmt.Sprintf(detail, args...)}
	}
	switch {
	case c.Fingerprint != Fingerprint(host):
		return refuse(CalibrationForeign, "%s", differentFacts(c.Host, host))
	case !at.Before(c.ExpiresAt):
		return refuse(CalibrationExpired, "it held until %s; fanoutbench calibrate makes a new one", c.ExpiresAt.Format(time.RFC3339))
	case !c.Passed:
		return refuse(CalibrationFailed, "%s", c.Reason)
	}
	return c, nil
}

// ReadCalibration reads a calibration and checks that it is whole, whatever host
// it is of. The error is a *CalibrationError.
func ReadCalibration(path string) (*Calibration, error) {
	b, err := readFile(filepath.Dir(path), filepath.Base(path), MaxCalibration)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &CalibrationError{path, CalibrationMissing, err.Error()}
	}
	c := &Calibration{}
	if err == nil {
		err = decode(b, c, encodeFile)
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, &CalibrationError{path, CalibrationBroken, err.Error()}
	}
	return c, nil
}

// Save writes the calibration to a file, whole or not at all, with the folders
// above it. An older one under the name is replaced.
func (c *Calibration) Save(path string) error {
	b, err := encodeFile(c)
	if err == nil {
		err = c.check()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = replace(path, b)
	}
	if err != nil {
		return fmt.Errorf("results: save calibration %s: %w", path, err)
	}
	return nil
}

// differentFacts names the facts in which two hosts differ.
func differentFacts(theirs, ours map[string]string) string {
	var out []string
	names := maps.Clone(theirs)
	maps.Copy(names, ours)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if theirs[name] != ours[name] {
			out = append(out, fmt.Sprintf("%s is %q there, %q here", name, theirs[name], ours[name]))
		}
	}
	return strings.Join(out, "; ")
}

// calibrated says what is known of the run's machine. A calibration that failed
// makes the outcome inconclusive; one that is missing or not used leaves it.
func (g *GatedTimes) calibrated(f *Folder, opt GateOptions) {
	var not *CalibrationError
	switch c := opt.Calibration; {
	case c != nil:
		g.note("the machine is calibrated (%s): %d of %d looks at nothing raised an alarm, and an injected delay was found", c.MadeAt.Format(time.DateOnly), c.FalseAlarms, c.Looks)
	case errors.As(opt.Uncalibrated, &not) && not.Why == CalibrationFailed:
		g.warn("%v", not)
		if f.Result.Verdict.Decision != DecisionIdentical {
			g.unclear("the machine's calibration failed: " + not.Detail)
		}
	case errors.As(opt.Uncalibrated, &not) && not.Why != CalibrationMissing:
		g.warn("%v; it is not used", not)
	case opt.Uncalibrated != nil && not == nil:
		g.warn("calibrations cannot be looked for: %v", opt.Uncalibrated)
	}
	switch {
	case f.Plan.Control != nil:
		g.note("a control ran in every round")
	case opt.Calibration == nil:
		g.note("neither a control (run --control) nor a calibration says what this machine shows where nothing differs: the decision rests on the paired rounds alone")
	}
}
