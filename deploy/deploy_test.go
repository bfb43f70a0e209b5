// Package deploy_test checks the files by which campaigns are run on clusters, as far
// as that takes no cluster.
package deploy_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// job has the fields of a Kubernetes Job (batch/v1) that the manifest uses, by the
// names of its API. A field that stands elsewhere, or is misspelled, is unknown here.
type job struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		CompletionMode       string `yaml:"completionMode"`
		Completions          int
		Parallelism          int
		BackoffLimitPerIndex int `yaml:"backoffLimitPerIndex"`
		PodFailurePolicy     struct {
			Rules []struct {
				Action      string
				OnExitCodes *struct {
					ContainerName string `yaml:"containerName"`
					Operator      string
					Values        []int
				} `yaml:"onExitCodes"`
				OnPodConditions []struct{ Type, Status string } `yaml:"onPodConditions"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	RestartPolicy string `yaml:"restartPolicy"`
	Affinity      struct {
		PodAntiAffinity struct {
			Required []struct {
				LabelSelector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				} `yaml:"labelSelector"`
				TopologyKey string `yaml:"topologyKey"`
			} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
		} `yaml:"podAntiAffinity"`
	}
	Containers []struct {
		Name, Image   string
		Command, Args []string
		Resources     struct{ Requests, Limits map[string]string }
		VolumeMounts  []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name      string
		ConfigMap *struct{ Name string } `yaml:"configMap"`
		Claim     *struct {
			Name string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
	}
}

func readJob(t *testing.T) job {
	t.Helper()
	f, err := os.Open("kubernetes-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	var j job
	if err := d.Decode(&j); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJob(t *testing.T) {
	j := readJob(t)
	s, p := j.Spec, j.Spec.Template.Spec
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || s.CompletionMode != "Indexed" || s.Completions < 1 || s.Parallelism != s.Completions || p.RestartPolicy != "Never" {
		t.Errorf("%+v; want an Indexed Job whose shards run at once", j)
	}
	if len(p.Containers) != 1 {
		t.Fatalf("%d containers, want one", len(p.Containers))
	}
	c := p.Containers[0]
	if fmt.Sprint(c.Resources.Requests) != fmt.Sprint(c.Resources.Limits) {
		t.Errorf("requests %v and limits %v, want the same", c.Resources.Requests, c.Resources.Limits)
	}
	codes := s.PodFailurePolicy.Rules[0].OnExitCodes
	if codes == nil || codes.ContainerName != c.Name || fmt.Sprint(codes.Values) != "[2 4]" {
		t.Errorf("exit codes %+v, want 2 and 4 of the container", codes)
	}
	if got := p.Affinity.PodAntiAffinity.Required[0].LabelSelector.MatchLabels; fmt.Sprint(got) != fmt.Sprint(s.Template.Metadata.Labels) {
		t.Errorf("pods keep away from %v, want from each other, %v", got, s.Template.Metadata.Labels)
	}
	volumes := map[string]bool{}
	for _, v := range p.Volumes {
		volumes[v.Name] = (v.ConfigMap == nil) != (v.Claim == nil)
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || !strings.Contains(c.Args[0], m.MountPath+"/") {
			t.Errorf("mount %+v: no volume, or not used by the shell lines", m)
		}
	}
}

// place is a folder with a program fanoutbench that makes its run folder and ends as
// FAKE_STATUS says, and a scontrol that notes its arguments.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fanoutbench": `echo "$*" >>"$FAKE_DIR/called"; mkdir "$5"; if [ "$FAKE_STATUS" = 137 ]; then kill -KILL $$; fi; exit "$FAKE_STATUS"`,
		"scontrol":    `echo "scontrol $*" >>"$FAKE_DIR/called"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// call runs a command in a place and gives its exit status and what was called.
func call(t *testing.T, dir string, status int, env []string, command ...string) (code int, called string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FAKE_DIR="+dir, fmt.Sprintf("FAKE_STATUS=%d", status)), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// The lines of the manifest leave the run under its shard's name when it is whole,
// and its exit status as it was.
func TestJobsShell(t *testing.T) {
	c := readJob(t).Spec.Template.Spec.Containers[0]
	for _, status := range []int{0, 4} {
		dir := place(t)
		lines := strings.ReplaceAll(c.Args[0], "/runs/", dir+"/runs/")
		if err := os.Mkdir(filepath.Join(dir, "runs"), 0o755); err != nil {
			t.Fatal(err)
		}
		code, called := call(t, dir, status, []string{"JOB_COMPLETION_INDEX=3"}, append(append([]string{}, c.Command...), lines)...)
		_, err := os.Stat(filepath.Join(dir, "runs", "shard-3"))
		if code != status || (err == nil) != (status == 0) || !strings.HasPrefix(called, "run --campaign /campaign/campaign.json --output ") {
			t.Errorf("status %d: ended with %d, shard: %v, called %s", status, code, err, called)
		}
		if again, calls := call(t, dir, 0, []string{"JOB_COMPLETION_INDEX=3"}, append(append([]string{}, c.Command...), lines)...); status == 0 && (again != 0 || calls != called) {
			t.Errorf("a shard that is there was run again: %s", calls)
		}
	}
}

// Only a killed program is requeued, and twice at most.
func TestSlurmScript(t *testing.T) {
	for _, k := range []struct {
		status   int
		restarts string
		requeued bool
	}{{0, "0", false}, {2, "0", false}, {4, "0", false}, {137, "0", true}, {137, "1", true}, {137, "2", false}} {
		dir := place(t)
		runs := filepath.Join(dir, "some runs")
		env := []string{"SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", "SLURM_RESTART_COUNT=" + k.restarts, "CAMPAIGN=/c.json", "RUNS=" + runs}
		code, called := call(t, dir, k.status, env, "bash", "slurm-array.sh")
		_, err := os.Stat(filepath.Join(runs, "shard-3"))
		_, attempt := os.Stat(filepath.Join(runs, "attempt-3-"+k.restarts))
		if code != k.status || (err == nil) != (k.status == 0) || (attempt == nil) == (k.status == 0) {
			t.Errorf("%+v: ended with %d; shard: %v, attempt: %v", k, code, err, attempt)
		}
		if strings.Contains(called, "scontrol requeue 7_3") != k.requeued {
			t.Errorf("%+v: called %s", k, called)
		}
	}
}
