//go:build slurm

package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// cluster is a real Slurm cluster of two nodes, and a campaign to run on it.
type cluster struct {
	t       *testing.T
	dir     string
	program string
	env     []string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{t: t, dir: dir, program: filepath.Join(dir, "fanoutbench"), env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm", "slurm.conf"))}
	c.run("go", "build", "-o", c.program, "../cmd/fanoutbench")
	c.run("../scripts/slurm_cluster", "start", filepath.Join(dir, "slurm"))
	t.Cleanup(func() { c.run("../scripts/slurm_cluster", "stop", filepath.Join(dir, "slurm")) })
	return c
}

// try runs a command to its end.
func (c *cluster) try(command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = c.env
	cmd.WaitDelay = time.Second // the daemons keep what they were started with
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.Success() {
		err = nil
	}
	return string(out), err
}

func (c *cluster) run(command ...string) string {
	c.t.Helper()
	out, err := c.try(command...)
	if err != nil {
		c.t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return out
}

// until waits for what happens on the cluster.
func (c *cluster) until(what string, done func() bool) {
	c.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			jobs, _ := c.try("scontrol", "-o", "show", "job")
			c.t.Fatalf("still waiting until %s; jobs:\n%s", what, jobs)
		}
	}
}

// driver is the id of the program's process in a task of the array, 0 if there is none.
func (c *cluster) driver(task int) int {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range processes {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it may be gone
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		if strings.HasPrefix(string(line), c.program+"\x00run\x00") && slices.Contains(strings.Split(string(env), "\x00"), fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", task)) {
			pid, err := strconv.Atoi(filepath.Base(p))
			if err != nil {
				c.t.Fatal(err)
			}
			return pid
		}
	}
	return 0
}

// campaign writes one of four small shards.
func (c *cluster) campaign() string {
	c.t.Helper()
	bare, file := filepath.Join(c.dir, "bare.json"), filepath.Join(c.dir, "campaign.json")
	c.run(c.program, "plan", "--shards", "4", "--output", bare, "--seed", "3", "--rounds", "6", "--repetitions", "1", "--counts", "32", "--metadata", "rich")
	k, _, err := results.ReadCampaign(bare)
	if err != nil {
		c.t.Fatal(err)
	}
	if len(k.Plan.Primary) == 0 {
		k.Plan = k.Plan.WithFamily()
	}
	if _, err := results.WriteCampaign(file, k); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// Four shards on two nodes; one is killed, is missed by the merge, is requeued by the
// script that deploy has, and is then merged with the others.
func TestSlurmArray(t *testing.T) {
	const killed = 2
	c := newCluster(t)
	runs := filepath.Join(c.dir, "runs")
	submitted := c.run("sbatch", "--parsable", "--array=0-3", "--output="+filepath.Join(c.dir, "task-%a.log"),
		"--export=ALL,CAMPAIGN="+c.campaign()+",RUNS="+runs+",FANOUTBENCH="+c.program, "slurm-array.sh")
	t.Logf("array %s", strings.TrimSpace(submitted))

	var pid int
	first := filepath.Join(runs, fmt.Sprintf("attempt-%d-0", killed))
	c.until("shard 2 measures", func() bool {
		raw, err := os.Stat(filepath.Join(first, results.RawFile))
		pid = c.driver(killed)
		return pid != 0 && err == nil && raw.Size() > 0
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed the program of shard %d, process %d, with SIGKILL", killed, pid)

	var there, all []string
	for i := range 4 {
		dir := filepath.Join(runs, fmt.Sprintf("shard-%d", i))
		all = append(all, dir)
		if i != killed {
			there = append(there, dir)
		}
	}
	exist := func(dirs []string) func() bool {
		return func() bool {
			return !slices.ContainsFunc(dirs, func(dir string) bool { _, err := os.Stat(dir); return err != nil })
		}
	}
	c.until("the other shards are there", exist(there))
	merged := filepath.Join(c.dir, "merged")
	out, err := c.try(append(append([]string{c.program, "merge"}, there...), "--output", merged)...)
	if err == nil || !strings.Contains(out, "of 4 shards of the campaign 1 are missing: 2") {
		t.Fatalf("a merge without shard 2: %v\n%s", err, out)
	}
	t.Logf("a merge of the other three: %s", strings.TrimSpace(out))

	c.until("shard 2 was run again", exist(all))
	t.Logf("merge of all:\n%s", c.run(append(append([]string{c.program, "merge"}, all...), "--output", merged)...))
	t.Logf("verify:\n%s", c.run(c.program, "verify", merged, "--runs", runs))
	if _, err := os.Stat(filepath.Join(first, results.ResultFile)); err == nil {
		t.Error("the killed attempt has a result")
	}
	c.checkJobs()
}

// checkJobs wants both nodes to have run something, and one task to have been restarted.
func (c *cluster) checkJobs() {
	c.t.Helper()
	jobs := c.run("scontrol", "-o", "show", "job")
	nodes, restarts := map[string]bool{}, 0
	for line := range strings.Lines(jobs) {
		fields := map[string]string{}
		for _, f := range strings.Fields(line) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		nodes[fields["NodeList"]] = true
		n, err := strconv.Atoi(fields["Restarts"])
		if err != nil {
			c.t.Errorf("job %s: %v", fields["JobId"], err)
		}
		restarts += n
		c.t.Logf("task %s: node %s, restarts %s, state %s", fields["ArrayTaskId"], fields["NodeList"], fields["Restarts"], fields["JobState"])
	}
	if !nodes["n1"] || !nodes["n2"] || restarts != 1 {
		c.t.Errorf("nodes %v, %d restarts; want both nodes and one restart:\n%s", nodes, restarts, jobs)
	}
}
