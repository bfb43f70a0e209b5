package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPortable(t *testing.T) {
	p := placeList{{"/data/me/src/tree", "$TREE"}, {"/data/me/.cache", "$CACHE"}, {"/data/me", "$HOME"}, {"/tmp", "$TMP"}}
	for _, c := range []struct{ in, portable, argument string }{
		{"fanoutbench", "fanoutbench", "fanoutbench"},
		{"builtin:splice@zmq=zmq4,detokenizers=2", "builtin:splice@zmq=zmq4,detokenizers=2", "builtin:splice@zmq=zmq4,detokenizers=2"},
		{"dir:/data/me/src/tree", "dir:$TREE", "dir:$TREE"},
		{"dir:/data/me/src/tree2", "dir:$HOME/src/tree2", "dir:$HOME/src/tree2"},
		{"--output=/tmp/runs/a", "--output=$TMP/runs/a", "--output=$TMP/runs/a"},
		{"/tmp", "$TMP", "$TMP"},
		{"/tmpfile", "/tmpfile", "$ELSEWHERE/tmpfile"},
		{"/var/tmp/x", "/var/tmp/x", "$ELSEWHERE/x"},
		{"exec:/opt/py/bin/python3 /data/me/arm.py --n 1/2", "exec:/opt/py/bin/python3 $HOME/arm.py --n 1/2", "exec:$ELSEWHERE/python3 $HOME/arm.py --n 1/2"},
		{"exec:sh -c '/opt/a b'", "exec:sh -c '/opt/a b'", "exec:sh -c '$ELSEWHERE/a b'"},
		{"ipc:///tmp/x.sock", "ipc://$TMP/x.sock", "ipc://$TMP/x.sock"},
		{"ipc:///run/x.sock", "ipc:///run/x.sock", "ipc://$ELSEWHERE/x.sock"},
		{"https://example.org/a", "https://example.org/a", "https://example.org/a"},
		{"/", "/", "$ELSEWHERE"},
		{"../other", "../other", "../other"},
		{"/data/me/a:/data/me/b", "$HOME/a:$HOME/b", "$HOME/a:$HOME/b"},
	} {
		if got := p.portable(c.in); got != c.portable {
			t.Errorf("%q is %q, want %q", c.in, got, c.portable)
		}
		if got := p.argument(c.in); got != c.argument {
			t.Errorf("the argument %q is %q, want %q", c.in, got, c.argument)
		}
	}
}

// No folder of this machine lands in any file of a run, wherever it is given.
func TestNoMachinePathInFiles(t *testing.T) {
	home := filepath.Join(t.TempDir(), "somebody")
	t.Setenv("HOME", home)
	elsewhere := "/data/somewhere/arms"
	p := examplePlan()
	p.Candidate = ArmPlan{Spec: "exec:python3 " + elsewhere + "/arm.py", Options: map[string]string{"config": home + "/config"}}
	r := create(t, p)
	for _, trial := range trialsOf(p, source())[:5] {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.Arms[Candidate] = Arm{Spec: p.Candidate.Spec, Options: map[string]string{"config": home + "/config"}}
	out.Environment = CaptureEnvironment([]string{home + "/go/bin/fanoutbench", "--candidate", p.Candidate.Spec, "--output", r.Dir()})
	out.Environment.Patch = ""
	out.Environment.End()
	out.Verdict = Verdict{
		Status: StatusInvalid, Decision: DecisionNone, Failure: &Failure{Message: "see " + filepath.Join(home, "run", "logs")},
		Warnings: []string{"see " + filepath.Join(os.TempDir(), "x")},
	}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{PlanFile, RawFile, ResultFile, SummaryFile} {
		got := content(t, r.Dir(), file)
		for _, path := range []string{home, elsewhere, os.TempDir() + "/"} {
			if strings.Contains(got, path) {
				t.Errorf("%s names %s:\n%s", file, path, got)
			}
		}
	}
	for _, want := range []string{"$HOME/go/bin/fanoutbench", "exec:python3 $ELSEWHERE/arm.py", "see $HOME/run/logs", "see $TMP/x", `"config": "$HOME/config"`} {
		if !strings.Contains(content(t, r.Dir(), ResultFile), want) {
			t.Errorf("result.json lacks %s", want)
		}
	}
}
