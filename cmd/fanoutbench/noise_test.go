package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// keptCalibration saves a made-up calibration of this machine where programs with
// this XDG_CACHE_HOME look for it.
func keptCalibration(t *testing.T, change func(*results.Calibration)) (cache string) {
	t.Helper()
	cache = t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	spread := 2.5
	c := &results.Calibration{
		Schema: results.Schema, ToolVersion: "v", Host: results.ThisHost(), Fingerprint: results.Fingerprint(results.ThisHost()),
		MadeAt: time.Now().Add(-time.Hour), ExpiresAt: time.Now().Add(time.Hour), Passed: true, Reason: "made up",
		Runs: []results.CalibrationRun{{Kind: results.RunSame}}, Repetitions: 3, RoundSeconds: 1, LookRounds: results.LookRounds, Looks: 3,
		Cells: []results.CalibrationCell{{Count: 310, Metadata: results.MetadataRich, Metric: "complete_ms", SpreadPct: &spread}},
	}
	change(c)
	path, err := results.CalibrationPath(c.Fingerprint)
	if err == nil {
		err = c.Save(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

func TestNoiseIsThatOfTheCalibration(t *testing.T) {
	member := results.Primary{Count: 310, Metadata: results.MetadataRich, Metric: "complete_ms", Role: results.RoleSuperiority}
	for _, c := range []struct {
		name        string
		change      func(*results.Calibration)
		repetitions int
		known       bool
		said        string
	}{
		{"good", func(*results.Calibration) {}, 3, true, ""},
		{"failed", func(c *results.Calibration) { c.Passed = false }, 3, false, "is failed: made up; it is not used"},
		{"expired", func(c *results.Calibration) { c.ExpiresAt = time.Now().Add(-time.Minute) }, 3, false, "is expired"},
		{"of more repetitions", func(*results.Calibration) {}, 1, false, "of 3 repetitions, this plan has 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keptCalibration(t, c.change)
			var stderr bytes.Buffer
			n := knownNoise(&stderr, results.Plan{Repetitions: c.repetitions})
			if (n.Spread != nil) != c.known || (stderr.Len() == 0) != (c.said == "") || !strings.Contains(stderr.String(), c.said) {
				t.Fatalf("known %v, said %q; want %v, %q", n.Spread != nil, &stderr, c.known, c.said)
			}
			if !c.known {
				return
			}
			if pct, ok := n.Spread(member); !ok || pct != 2.5 || !strings.HasPrefix(n.Source, "the calibration of 2") {
				t.Errorf("spread %v, %v by %q; want 2.5", pct, ok, n.Source)
			}
		})
	}
}

// A machine whose latest calibration failed decides nothing.
func TestGateOnAMachineThatFailed(t *testing.T) {
	cache := keptCalibration(t, func(c *results.Calibration) { c.Passed = false })
	dir := paired(t, splice, perRow, 32, 6)
	p := gateOf(t, exitInconclusive, []string{"XDG_CACHE_HOME=" + cache}, dir, "--on-inconclusive", "fail")
	p.has("stdout", p.stdout.String(), "the machine's calibration failed: made up", filepath.Join(cache, "fanoutbench"))
}
