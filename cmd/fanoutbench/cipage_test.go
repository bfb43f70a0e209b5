package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what is read of GitHub's workflow files.
type workflow struct {
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Env   map[string]string
		Steps []step
	}
}

type step struct {
	Name, Uses, Run, If string
	With                map[string]string
}

const ciPage = "../../docs/ci.md"

// yamlOf is the n-th block of YAML of the page.
func yamlOf(t *testing.T, n int, into any) string {
	t.Helper()
	b, err := os.ReadFile(ciPage)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(b, -1)
	if len(blocks) <= n {
		t.Fatalf("%s has %d blocks of YAML, want block %d", ciPage, len(blocks), n)
	}
	if err := yaml.Unmarshal(blocks[n][1], into); err != nil {
		t.Fatalf("%s, block %d: %v", ciPage, n, err)
	}
	return string(blocks[n][1])
}

// A stranger's pull request gets nothing but what it brought.
func TestWorkflowIsSafe(t *testing.T) {
	t.Parallel()
	var w workflow
	text := yamlOf(t, 0, &w)
	if _, ok := w.On["pull_request"]; !ok || len(w.On) != 1 {
		t.Errorf("the workflow is for %v, want pull_request alone", w.On)
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("permissions %v, want contents: read alone", w.Permissions)
	}
	for _, word := range []string{"secrets", "pull_request_target", "go run", "write"} {
		if strings.Contains(text, word) {
			t.Errorf("the workflow has %q", word)
		}
	}
	for name, job := range w.Jobs {
		kept := false
		for _, s := range job.Steps {
			if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@HASH_OF_[A-Z_]+$`).MatchString(s.Uses) {
				t.Errorf("%s uses %s, want an action by a hash", name, s.Uses)
			}
			// What a pull request says may stand in an environment variable, never in a script.
			if strings.Contains(s.Run, "${{") {
				t.Errorf("%s: step %s puts an expression into a script", name, s.Name)
			}
			if strings.Contains(s.Uses, "checkout") && s.With["persist-credentials"] != "false" {
				t.Errorf("%s keeps the token in the checkout", name)
			}
			kept = kept || strings.Contains(s.Uses, "upload-artifact") && s.If == "always()" && s.With["path"] == "${{ runner.temp }}/run"
		}
		if !kept {
			t.Errorf("%s does not always keep the run folder", name)
		}
	}
}

// smaller makes a job's run as small as a test wants it.
func smaller(script string) string {
	script = strings.Replace(script, "--rounds 1 --repetitions 1", "--rounds 1 --repetitions 1 --counts 5 --metadata rich --process run", 1)
	return strings.Replace(script, "--control", "--control --rounds 6 --repetitions 1 --counts 5 --metadata rich --process run", 1)
}

// Both jobs run on a repository with a base and a change that changes nothing of
// what is measured, one after the other on one machine.
func TestWorkflowRuns(t *testing.T) {
	t.Parallel()
	var w workflow
	yamlOf(t, 0, &w)
	h := newHistory(t)
	temp, err := os.MkdirTemp("", "fbc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	checkout := filepath.Join(temp, "checkout")
	if out, err := exec.Command("git", "clone", "-q", "--branch", "topic", h.repo, checkout).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"counters", "times"} {
		job, summary := w.Jobs[name], filepath.Join(temp, name+".md")
		env := append(h.environment(), "RUNNER_TEMP="+temp, "GITHUB_ACTIONS=true", "GITHUB_RUN_ATTEMPT=1", "GITHUB_STEP_SUMMARY="+summary, "BASE="+h.main)
		if len(job.Env) != 1 || job.Env["BASE"] != "${{ github.event.pull_request.base.sha }}" {
			t.Errorf("%s has environment %v, want BASE alone", name, job.Env)
		}
		for _, s := range job.Steps {
			if s.Run != "" {
				play(t, name+", "+s.Name, checkout, env, smaller(s.Run))
			}
		}
		if b, err := os.ReadFile(summary); err != nil || !strings.Contains(string(b), "### fanoutbench gate: ") {
			t.Errorf("%s: %v, summary %q", name, err, b)
		}
	}
}

// play runs a step's lines as GitHub does.
func play(t *testing.T, name, dir string, env []string, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	// What the gate of times says of six rounds on a busy machine is not judged here.
	if err != nil && !(name == "times, gate" && cmd.ProcessState.ExitCode() == exitRegression) {
		t.Fatalf("%s: %v\n%s\n%s", name, err, script, out)
	}
	if strings.Contains(name, "gate") && !strings.Contains(string(out), "gate: ") {
		t.Errorf("%s says %s", name, out)
	}
}

func TestGitLabPage(t *testing.T) {
	t.Parallel()
	var jobs map[string]struct {
		Rules     []struct{ If string }
		Script    []string
		Artifacts struct {
			When  string
			Paths []string
		}
	}
	text := yamlOf(t, 1, &jobs)
	for name, job := range jobs {
		if len(job.Rules) != 1 || !strings.Contains(job.Rules[0].If, "merge_request_event") || job.Artifacts.When != "always" || len(job.Script) == 0 || strings.Contains(text, "go run") {
			t.Errorf("%s is %+v", name, job)
		}
	}
	// The lines are those of GitHub's job, which runs above.
	var w workflow
	yamlOf(t, 0, &w)
	var lines []string
	for _, s := range w.Jobs["counters"].Steps {
		lines = append(lines, strings.Split(strings.TrimSpace(s.Run), "\n")...)
	}
	there := strings.NewReplacer(`-o "$RUNNER_TEMP/fanoutbench"`, `-o "$PWD/fanoutbench"`, `"$RUNNER_TEMP/fanoutbench"`, "./fanoutbench",
		`"$RUNNER_TEMP/run"`, "run", `"$RUNNER_TEMP/base"`, "base", "$BASE", "$CI_MERGE_REQUEST_DIFF_BASE_SHA")
	for _, line := range jobs["fanout-counters"].Script {
		if !slices.ContainsFunc(lines, func(l string) bool { return there.Replace(l) == line }) {
			t.Errorf("no step of the job counters has the line %s", line)
		}
	}
}

// environment is this one's with the history's, and no CI's.
func (h *history) environment() []string {
	return append(append(os.Environ(), h.env...), "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=", "GITHUB_RUN_ATTEMPT=")
}
