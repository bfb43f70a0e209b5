package results

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// faked is a machine whose files are the given ones.
func faked(t *testing.T, files map[string]string) machine {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root: root}
}

func TestMachineFacts(t *testing.T) {
	m := faked(t, map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
		"proc/cpuinfo":              "processor\t: 0\nmodel name\t: Example(R) CPU: 3 GHz\nmodel name\t: other\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":  "performance\n",
		"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "powersave\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo":          "1\n",
		"sys/devices/system/cpu/smt/control":                    "forceoff\n",
		"proc/stat":                                             "cpu  3315 0 1880 129596 234 0 40 8 1 2\ncpu0 1 1 1 1 1 1 1 99 0 0\n",
		"proc/pressure/cpu":                                     "full avg10=0.00 avg60=0.00 avg300=0.00 total=4\nsome avg10=0.61 avg60=1.10 avg300=0.89 total=6537816\n",
	})
	e := Environment{Cgroup: map[string]string{}}
	m.describe(&e)
	for _, f := range [][3]string{
		{"kernel", e.Kernel, "6.1.0-13-amd64"}, {"cpu", e.CPU, "Example(R) CPU: 3 GHz"}, {"governor", e.Governor, "performance,powersave"},
		{"turbo", e.Turbo, "off"}, {"smt", e.SMT, "forceoff"}, {"pressure", m.pressure(), "6537816"},
	} {
		if f[1] != f[2] {
			t.Errorf("%s is %q, want %q", f[0], f[1], f[2])
		}
	}
	if steal := m.steal(); steal == nil || *steal != 8 {
		t.Errorf("steal is %v, want 8", steal)
	}
}

// What a machine does not tell stays empty.
func TestMachineWithoutFacts(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no files": {},
		"other content": {
			"proc/cpuinfo": "nothing\n", "proc/stat": "cpu 1 2\n", "proc/pressure/cpu": "some\n\n", "proc/self/cgroup": "0\nx\n",
			"sys/devices/system/cpu/intel_pstate/no_turbo": "yes\n",
		},
		"not a number": {"proc/stat": "cpu 1 2 3 4 5 6 7 many\n"},
	} {
		m := faked(t, files)
		e := Environment{Cgroup: map[string]string{}}
		m.describe(&e)
		if e.Kernel+e.CPU+e.Governor+e.Turbo+e.SMT+m.pressure() != "" || len(e.Cgroup) != 0 || m.steal() != nil {
			t.Errorf("%s: %+v, pressure %q, steal %v", name, e, m.pressure(), m.steal())
		}
	}
}

func TestCPUOnArm64(t *testing.T) {
	m := faked(t, map[string]string{"proc/cpuinfo": "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n\nprocessor : 1\nCPU part : 0xd40\n"})
	if got := m.cpu(); got != "implementer 0x41 part 0xd0c" {
		t.Errorf("the CPU is %q", got)
	}
}

func TestTurbo(t *testing.T) {
	for _, c := range []struct{ noTurbo, boost, want string }{
		{"0", "", "on"}, {"1", "", "off"}, {"", "1", "on"}, {"", "0", "off"}, {"0", "1", "on"}, {"1", "0", "off"}, {"1", "1", ""}, {"", "", ""},
	} {
		files := map[string]string{}
		if c.noTurbo != "" {
			files["sys/devices/system/cpu/intel_pstate/no_turbo"] = c.noTurbo
		}
		if c.boost != "" {
			files["sys/devices/system/cpu/cpufreq/boost"] = c.boost
		}
		if got := faked(t, files).turbo(); got != c.want {
			t.Errorf("no_turbo %q, boost %q: %q, want %q", c.noTurbo, c.boost, got, c.want)
		}
	}
}

func TestCgroupLimits(t *testing.T) {
	for _, c := range []struct {
		name        string
		files, want map[string]string
	}{
		{"version 2", map[string]string{
			"proc/self/cgroup":          "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, map[string]string{"cpu.max": "max 100000", "memory.max": "max"}},
		{"the tightest of the groups", map[string]string{
			"proc/self/cgroup":            "0::/a/b/c\n",
			"sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n", "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "150000 50000\n",
			"sys/fs/cgroup/a/b/c/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "2000\n",
		}, map[string]string{"cpu.max": "150000 50000", "memory.max": "1000"}},
		{"a container that sees only its root", map[string]string{
			"proc/self/cgroup":      "0::/host/path\n",
			"sys/fs/cgroup/cpu.max": "200000 100000\n",
		}, map[string]string{"cpu.max": "200000 100000"}},
		{"a path that climbs", map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "cpu.max": "1 1\n", "x/cpu.max": "1 1\n",
			"sys/fs/cgroup/x/cpu.max": "7 1\n",
		}, map[string]string{"cpu.max": "7 1"}},
		{"version 1", map[string]string{
			"proc/self/cgroup":                               "4:memory:/job\n1:cpu,cpuacct:/\n0::/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":             "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":            "100000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824\n",
		}, map[string]string{"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000", "memory.limit_in_bytes": "1073741824"}},
	} {
		if got := faked(t, c.files).cgroup(); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestEnvironmentOfThisProcess(t *testing.T) {
	t.Setenv("GOGC", "123")
	t.Setenv("GOMEMLIMIT", "")
	before := time.Now()
	e := CaptureEnvironment([]string{"fanoutbench", "run"})
	e.End()
	end := e.EndedAt
	e.End()
	if e.StartedAt.Before(before.Add(-time.Second)) || e.EndedAt.Before(e.StartedAt) || !e.EndedAt.Equal(end) {
		t.Errorf("from %v to %v", e.StartedAt, e.EndedAt)
	}
	if e.OS != runtime.GOOS || e.Arch != runtime.GOARCH || e.CPUs < 1 || e.Go != runtime.Version() {
		t.Errorf("%s %s %d CPUs %s", e.OS, e.Arch, e.CPUs, e.Go)
	}
	if v, ok := e.GC["GOMEMLIMIT"]; e.GC["GOGC"] != "123" || !ok || v != "" {
		t.Errorf("GC settings %v", e.GC)
	}
	linux := runtime.GOOS == "linux"
	if (e.Kernel != "") != linux || (e.StealTicks != nil) != linux {
		t.Errorf("on %s: kernel %q, steal %v", runtime.GOOS, e.Kernel, e.StealTicks)
	}
	if (e.Pressure["before"] == "") != (e.Pressure["during"] == "") || e.steal != nil {
		t.Errorf("pressure %v", e.Pressure)
	}
}

func TestKeepablePatch(t *testing.T) {
	if got := keepable([]byte("diff")); got != "diff" {
		t.Errorf("got %q", got)
	}
	for name, patch := range map[string]string{"too long": strings.Repeat("x", MaxPatch+1), "not UTF-8": "diff \xff"} {
		got := keepable([]byte(patch))
		if !strings.HasPrefix(got, "not kept: ") || !strings.Contains(got, sum([]byte(patch))) || len(got) > 200 {
			t.Errorf("%s: %.200q", name, got)
		}
	}
}
