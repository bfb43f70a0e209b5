package doctor

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

const policy = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

// quietFiles are those of a machine on which nothing spoils a measurement.
var quietFiles = map[string]string{
	policy: "performance\n",
	"sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
	"sys/devices/system/cpu/smt/control":           "off\n",
	"proc/self/cgroup":                             "0::/\n",
	"sys/fs/cgroup/cpu.max":                        "max 100000\n",
	"proc/loadavg":                                 "0.10 0.20 0.30 1/200 1234\n",
	"proc/meminfo":                                 "SwapTotal: 4096 kB\nSwapFree: 4096 kB\n",
	"proc/stat":                                    "cpu  1 2 3 4 5 6 7 100 0 0\n",
	"proc/pressure/cpu":                            "some avg10=0.00 avg60=0.00 avg300=0.00 total=5000\n",
	"proc/self/mountinfo":                          "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /tmp rw - tmpfs tmpfs rw\n",
	"sys/kernel/mm/transparent_hugepage/enabled":   "always [madvise] never\n",
	"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
}

// loudFiles are those of one on which everything does.
var loudFiles = map[string]string{
	policy: "powersave\n",
	"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
	"sys/devices/system/cpu/smt/control":           "on\n",
	"proc/self/cgroup":                             "0::/a\n",
	"sys/fs/cgroup/a/cpu.max":                      "50000 100000\n",
	"proc/loadavg":                                 "3.51 2.00 1.00 5/200 1234\n",
	"proc/meminfo":                                 "SwapTotal: 4096 kB\nSwapFree: 96 kB\n",
	"proc/stat":                                    "cpu  1 2 3 4 5 6 7 100 0 0\n",
	"proc/pressure/cpu":                            "some avg10=9.00 avg60=9.00 avg300=9.00 total=5000\n",
	"proc/self/mountinfo":                          "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /tmp rw - nfs4 server:/tmp rw\n",
	"sys/kernel/mm/transparent_hugepage/enabled":   "[always] madvise never\n",
	"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
}

// later are the files that change in the second between two readings.
var quietLater = map[string]string{
	"proc/stat": "cpu  1 2 3 4 5 6 7 101 0 0\n", "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=6000\n",
}
var loudLater = map[string]string{
	"proc/stat": "cpu  1 2 3 4 5 6 7 117 0 0\n", "proc/pressure/cpu": "some avg10=9.00 avg60=9.00 avg300=9.00 total=705000\n",
}

func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// machine is a made-up one: files, those that are different a second later, and
// what no file tells.
func machine(t testing.TB, files, later map[string]string) Machine {
	root := t.TempDir()
	write(t, root, files)
	return Machine{
		Root: root, CPUs: 4, Go: "go1.26.3", Temp: "/tmp",
		Env:    func(string) (string, bool) { return "", false },
		Files:  func() (uint64, error) { return 4096, nil },
		Free:   func(string) (uint64, error) { return 10 << 30, nil },
		Second: func(context.Context) error { write(t, root, later); return nil },
	}
}

func loud(t testing.TB) Machine {
	m := machine(t, loudFiles, loudLater)
	m.CPUs, m.Go = 1, "devel go1.27-0123456789"
	m.Env = func(name string) (string, bool) { return "50", name != "GODEBUG" && name != "GOMAXPROCS" }
	m.Files = func() (uint64, error) { return 64, nil }
	m.Free = func(string) (uint64, error) { return 3 << 20, nil }
	return m
}

func mute(t testing.TB) Machine {
	m := machine(t, nil, nil)
	m.Files = func() (uint64, error) { return 0, errors.ErrUnsupported }
	m.Free = func(string) (uint64, error) { return 0, errors.ErrUnsupported }
	return m
}

func examine(t *testing.T, m Machine) map[string]Finding {
	t.Helper()
	found, err := Examine(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Finding{}
	for _, f := range found {
		if f.Why == "" || f.Mend == "" || f.Found == "" || byName[f.Name].Name != "" {
			t.Errorf("%+v: want a name of its own, and all that there is to say", f)
		}
		byName[f.Name] = f
	}
	return byName
}

func TestGoldens(t *testing.T) {
	for name, m := range map[string]Machine{"quiet": machine(t, quietFiles, quietLater), "loud": loud(t), "mute": mute(t)} {
		found, err := Examine(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, found); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".txt")
		if *rewrite {
			if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || b.String() != string(want) {
			t.Errorf("%s: %v (go test -rewrite writes it anew); got\n%s", path, err, &b)
		}
	}
}

// On the quiet machine all is good, on the loud one nothing; on one that tells
// nothing, nothing that a file would tell is good.
func TestStates(t *testing.T) {
	mine := map[string]bool{"CPUs": true, "Go runtime settings": true, "Go version": true} // told by no file
	for name, k := range map[string]struct {
		m    Machine
		want State
	}{"quiet": {machine(t, quietFiles, quietLater), Good}, "loud": {loud(t), Spoils}, "mute": {mute(t), Unknown}} {
		for _, f := range examine(t, k.m) {
			if f.State != k.want && !(name == "mute" && mine[f.Name]) {
				t.Errorf("%s: %s is %s (%s), want %s", name, f.Name, f.State, f.Found, k.want)
			}
		}
	}
}

// One thing changed on the quiet machine, with what is then said of it.
func TestOneChange(t *testing.T) {
	mounts := func(lines ...string) map[string]string {
		return map[string]string{"proc/self/mountinfo": strings.Join(lines, "\n") + "\n"}
	}
	for _, k := range []struct {
		name  string
		files map[string]string
		state State
		found string
	}{
		{"CPU quota", map[string]string{"sys/fs/cgroup/cpu.max": "400000 100000\n"}, Good, "400000 100000"},
		{"CPU quota", map[string]string{"sys/fs/cgroup/cpu.max": "399999 100000\n"}, Spoils, "399999 100000"},
		{"CPU quota", map[string]string{"sys/fs/cgroup/cpu.max": "much\n"}, Spoils, "much"},
		{"CPU quota", map[string]string{"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, Spoils, "200000 100000"},
		{"CPU quota", map[string]string{"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, Good, "-1 100000"},
		{"governor", map[string]string{"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "schedutil"}, Spoils, "performance,schedutil"},
		{"SMT", map[string]string{"sys/devices/system/cpu/smt/control": "notimplemented"}, Unknown, "does not tell"},
		{"load average", map[string]string{"proc/loadavg": "1.00 9 9 1/1 1"}, Good, "at most 1"},
		{"load average", map[string]string{"proc/loadavg": "1.01 0 0 1/1 1"}, Spoils, "1.01 0 0 on 4 CPUs, want the first at most 1"},
		{"load average", map[string]string{"proc/loadavg": "busy"}, Unknown, "does not tell"},
		{"transparent huge pages", map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}, Good, "never"},
		{"swap", map[string]string{"proc/meminfo": "SwapTotal: 0 kB\nSwapFree: 0 kB\n"}, Good, "0 KiB"},
		{"swap", map[string]string{"proc/meminfo": "SwapTotal: 10 kB\nSwapFree: 9 kB\n"}, Spoils, "1 KiB"},
		{"temporary folder", mounts("1 0 8:1 / / rw - cifs //h/x rw"), Spoils, "/tmp is on cifs"},
		{"temporary folder", mounts("1 0 8:1 / / rw - cifs //h/x rw", "2 1 0:5 / /tmp rw shared:1 master:2 - xfs a rw"), Good, "xfs"},
		{"temporary folder", mounts("2 1 0:5 / /tmp rw - nfs a rw", "3 1 0:6 / /tmp rw - ext4 a rw"), Good, "ext4"},
		{"temporary folder", mounts("2 1 0:5 / /tmpfiles rw - nfs a rw", "3 1 0:6 / / rw - fuse.sshfs a rw"), Spoils, "fuse.sshfs"},
		{"temporary folder", mounts("1 0 8:1 / / rw - ext4 a rw", "2 1 0:5 / /tm rw - nfs a rw"), Good, "ext4"},
		{"temporary folder", mounts("nothing", "2 1 0:5 / /tmp", "- -", ""), Unknown, "does not tell"},
	} {
		files := maps.Clone(quietFiles)
		maps.Copy(files, k.files)
		f := examine(t, machine(t, files, quietLater))[k.name]
		if f.State != k.state || !strings.Contains(f.Found, k.found) {
			t.Errorf("%s with %q is %s: %s; want %s with %q", k.name, k.files, f.State, f.Found, k.state, k.found)
		}
	}
}

// What no file tells.
func TestOtherChanges(t *testing.T) {
	for name, k := range map[string]struct {
		change func(*Machine)
		of     string
		state  State
		found  string
	}{
		"blank in a path": {func(m *Machine) {
			write(t, m.Root, map[string]string{"proc/self/mountinfo": `2 1 0:5 / /my\040tmp rw - nfs a rw` + "\n"})
			m.Temp = "/my tmp/x"
		}, "temporary folder", Spoils, "/my tmp/x is on nfs"},
		"no temporary folder": {func(m *Machine) {
			m.Free = func(f string) (uint64, error) { return 0, fmt.Errorf("%s: %w", f, fs.ErrNotExist) }
		}, "room for temporary files", Spoils, "/tmp is not there"},
		"no limit":         {func(m *Machine) { m.Files = func() (uint64, error) { return 1<<63 - 1, nil } }, "open files", Good, "no limit"},
		"few files":        {func(m *Machine) { m.Files = func() (uint64, error) { return 20, nil } }, "open files", Spoils, "enough for 0 HTTP workers"},
		"an empty setting": {func(m *Machine) { m.Env = func(n string) (string, bool) { return "", n == "GODEBUG" } }, "Go runtime settings", Spoils, "GODEBUG="},
		"an experiment":    {func(m *Machine) { m.Go = "go1.26.1 X:jsonv2" }, "Go version", Spoils, "X:jsonv2"},
		"two CPUs":         {func(m *Machine) { m.CPUs = 2 }, "CPUs", Good, "2"},
		"steal taken back": {func(m *Machine) {
			m.Second = func(context.Context) error {
				write(t, m.Root, map[string]string{"proc/stat": "cpu 1 2 3 4 5 6 7 8 9"})
				return nil
			}
		}, "steal", Unknown, "does not tell"},
		"steal at the edge": {func(m *Machine) {
			m.Second = func(context.Context) error {
				write(t, m.Root, map[string]string{"proc/stat": "cpu 1 2 3 4 5 6 7 104 9"})
				return nil
			}
		}, "steal", Good, "40 ms"},
		"steal above it": {func(m *Machine) {
			m.Second = func(context.Context) error {
				write(t, m.Root, map[string]string{"proc/stat": "cpu 1 2 3 4 5 6 7 105 9"})
				return nil
			}
		}, "steal", Spoils, "50 ms"},
	} {
		m := machine(t, quietFiles, quietLater)
		k.change(&m)
		if f := examine(t, m)[k.of]; f.State != k.state || !strings.Contains(f.Found, k.found) {
			t.Errorf("%s: %s is %s: %s; want %s with %q", name, k.of, f.State, f.Found, k.state, k.found)
		}
	}
}

// An interruption in the second ends it.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if found, err := Examine(ctx, Here()); !errors.Is(err, why) || found != nil {
		t.Errorf("%v, %v, want %v", found, err, why)
	}
	if err := Write(failing{}, nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a reader that has gone: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

// The machine that the test runs on, without the second.
func TestHere(t *testing.T) {
	m := Here()
	m.Second = func(context.Context) error { return nil }
	found := examine(t, m)
	if len(found) != 16 {
		t.Errorf("%d findings, want 16", len(found))
	}
	for _, name := range []string{"room for temporary files", "open files", "CPUs", "Go version"} {
		if found[name].State == Unknown {
			t.Errorf("%s is not known: %s", name, found[name].Found)
		}
	}
	deadline, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-deadline.Done()
	if err := second(deadline); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second after the end: %v", err)
	}
}

// No content of mountinfo breaks it, and what it finds stands there.
func FuzzMountType(f *testing.F) {
	f.Add("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /tmp rw shared:3 - tmpfs tmpfs rw\n", "/tmp/x")
	f.Add("1 0 8:1 / /a\\040b rw - nfs x rw", "/a b")
	f.Add(" -  - ", "")
	f.Fuzz(func(t *testing.T, content, folder string) {
		root := t.TempDir()
		write(t, root, map[string]string{"proc/self/mountinfo": content})
		if kind := mountType(root, folder); kind != "" && !strings.Contains(content, kind) {
			t.Errorf("%q of %q", kind, content)
		}
	})
}
