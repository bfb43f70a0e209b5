package main

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// A calibration follows from the runs that it was made of, is kept by the
// machine's fingerprint, and is shown again. What it says of a busy machine is
// not judged here.
func TestCalibrateKeepsWhatItMade(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil, "calibrate", "--rounds", "9", "--repetitions", "1", "--counts", "5", "--output", "kept")
	cache := "XDG_CACHE_HOME=" + filepath.Join(p.dir, "cache")
	p.cmd.Env = append(p.cmd.Env, cache)
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "calibration: ", "looks of 9 rounds", "2 x the smallest effect) in 5 rich complete_ms")
	kept := filepath.Join(p.dir, "kept")
	c, err := results.ReadCalibration(filepath.Join(kept, results.CalibrationFile))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c.Host, results.ThisHost()) {
		t.Errorf("host %v, this one is %v", c.Host, results.ThisHost())
	}
	var inputs []results.CalibrationInput
	for _, run := range c.Runs {
		f, err := results.Read(filepath.Join(kept, run.Name))
		if err != nil {
			t.Fatal(err)
		}
		in := results.CalibrationInput{Kind: run.Kind, Name: run.Name, Folder: f}
		for _, d := range c.Delays {
			if d.Run == run.Name {
				in.Multiple = d.Multiple
			}
		}
		inputs = append(inputs, in)
	}
	again, err := results.Calibrate(inputs, c.MadeAt, c.ExpiresAt)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, c) {
		t.Errorf("from its runs it is\n%+v, it says\n%+v", again, c)
	}

	show := newProgram(t, []string{cache}, "calibrate", "--show")
	show.run(exitOK)
	if show.stdout.String() != p.stdout.String() {
		t.Errorf("shown is\n%s\nwant\n%s", &show.stdout, &p.stdout)
	}
	// A run of this machine finds it.
	gate := newProgram(t, []string{cache, "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="}, "gate", filepath.Join(kept, "delay-2x"), "--calibration", filepath.Join(kept, results.CalibrationFile))
	if err := gate.cmd.Run(); err == nil && !c.Passed {
		t.Log("inconclusive, and let through")
	}
	want := "the machine is calibrated"
	if !c.Passed {
		want = "calibration failed"
	}
	gate.has("stdout", gate.stdout.String(), want)
}

func TestCalibrateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--rounds", "8"}, "rounds is 8, want 9"},
		{[]string{"--rounds", "2000"}, "rounds is 2000"},
		{[]string{"--expires", "0s"}, "expires is 0s"},
		{[]string{"--layouts", "1"}, "layouts is 1"},
		{[]string{"--counts", "0"}, "counts[0] is 0"},
		{[]string{"--output", "/"}, "output / exists"},
		{[]string{"extra"}, "calibrate: 1 argument"},
	} {
		p := newProgram(t, nil, append([]string{"calibrate"}, c.args...)...)
		p.run(exitUsage)
		p.has("stderr", p.stderr.String(), c.want)
	}
	p := newProgram(t, nil, "calibrate", "--show")
	p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+p.dir)
	p.run(exitInvalid)
	p.has("stderr", p.stderr.String(), "there is no calibration of this host", p.dir)
}
