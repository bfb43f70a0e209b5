package results

import (
	"path"
	"strconv"
	"strings"
)

// cgroup are the limits of this process's control group by file name: cpu.max
// and memory.max of version 2, the three files that say the same in version 1.
// A limit holds for all groups below it, so each is the tightest one between
// the group and the root. A group whose files cannot be seen, as in a
// container, leaves those above it.
func (m machine) cgroup() map[string]string {
	limits := map[string]string{}
	for line := range strings.Lines(m.read("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" {
			m.version2(parts[2], limits)
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			m.version1(controller, parts[2], limits)
		}
	}
	return limits
}

func (m machine) version2(group string, limits map[string]string) {
	m.tightest("sys/fs/cgroup", group, []string{"cpu.max"}, limits)
	m.tightest("sys/fs/cgroup", group, []string{"memory.max"}, limits)
}

func (m machine) version1(controller, group string, limits map[string]string) {
	folder := "sys/fs/cgroup/" + controller
	switch controller {
	case "cpu":
		m.tightest(folder, group, []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, limits)
	case "memory":
		m.tightest(folder, group, []string{"memory.limit_in_bytes"}, limits)
	}
}

// tightest keeps the values of the files at the level with the smallest limit.
func (m machine) tightest(folder, group string, files []string, limits map[string]string) {
	smallest := 0.0
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		values := make([]string, len(files))
		for i, f := range files {
			values[i] = m.read(path.Join(folder, group, f))
		}
		limit, limited := amount(strings.Join(values, " "))
		_, seen := limits[files[0]]
		if values[0] != "" && (!seen || limited && (smallest == 0 || limit < smallest)) {
			for i, f := range files {
				limits[f] = values[i]
			}
			if limited {
				smallest = limit
			}
		}
		if group == "/" {
			return
		}
	}
}

// amount is a limit as a number: "quota period" as their ratio, "bytes" as they
// are. "max", -1 and nothing are no limit.
func amount(value string) (float64, bool) {
	numbers := make([]float64, 0, 2)
	for _, f := range strings.Fields(value) {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil || n <= 0 {
			return 0, false
		}
		numbers = append(numbers, n)
	}
	switch len(numbers) {
	case 1:
		return numbers[0], true
	case 2:
		return numbers[0] / numbers[1], true
	}
	return 0, false
}
