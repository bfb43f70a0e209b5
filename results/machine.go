package results

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// machine reads what Linux tells in proc and sys below root. A file that is not
// there, or says something else than expected, gives an empty string.
type machine struct{ root string }

func (m machine) describe(e *Environment) {
	e.Kernel = m.read("proc/sys/kernel/osrelease")
	e.CPU = m.cpu()
	e.Governor = m.governor()
	e.Turbo = m.turbo()
	e.SMT = m.read("sys/devices/system/cpu/smt/control")
	maps.Copy(e.Cgroup, m.cgroup())
}

// read is the file's content without blanks around it.
func (m machine) read(path string) string {
	b, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// cpu is the model name; arm64 kernels give the numbers of its maker and part.
func (m machine) cpu() string {
	fields := map[string]string{}
	for line := range strings.Lines(m.read("proc/cpuinfo")) {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if _, seen := fields[name]; ok && !seen {
			fields[name] = strings.TrimSpace(value)
		}
	}
	if name := fields["model name"]; name != "" {
		return name
	}
	if fields["CPU part"] == "" {
		return ""
	}
	return "implementer " + fields["CPU implementer"] + " part " + fields["CPU part"]
}

// governor lists the different governors of all CPUs.
func (m machine) governor() string {
	files, err := filepath.Glob(filepath.Join(m.root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil {
		return ""
	}
	seen := map[string]bool{}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil {
			seen[strings.TrimSpace(string(b))] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ",")
}

// turbo is "on" or "off"; the two drivers that tell it count the other way
// round.
func (m machine) turbo() string {
	switch m.read("sys/devices/system/cpu/intel_pstate/no_turbo") + " " + m.read("sys/devices/system/cpu/cpufreq/boost") {
	case "0 ", "0 1", " 1":
		return "on"
	case "1 ", "1 0", " 0":
		return "off"
	}
	return ""
}

// steal is the time that the host gave to others, in ticks since boot: the
// eighth number of the first line of proc/stat.
func (m machine) steal() *int64 {
	line, _, _ := strings.Cut(m.read("proc/stat"), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil
	}
	ticks, err := strconv.ParseInt(fields[8], 10, 64)
	if err != nil {
		return nil
	}
	return &ticks
}

// pressure is the total of the line "some" of proc/pressure/cpu, in
// microseconds since boot.
func (m machine) pressure() string {
	for line := range strings.Lines(m.read("proc/pressure/cpu")) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, f := range fields[1:] {
			if total, ok := strings.CutPrefix(f, "total="); ok {
				return total
			}
		}
	}
	return ""
}
