package results

import (
	"maps"
	"strconv"
	"strings"
)

// Names in Environment.Conditions. Those that change are read before and after
// the run, under the name with a suffix.
const (
	ConditionClock = "clock_source"         // sys/devices/system/clocksource
	ConditionPages = "transparent_hugepage" // always, madvise or never
	ConditionLoad  = "loadavg"              // proc/loadavg, its first three numbers
	ConditionSwap  = "swap_used_kib"        // proc/meminfo
	suffixBefore   = ".before"
	suffixAfter    = ".after"
)

// Facts are what the system below root ("/" but in tests) tells of the machine:
// the fields of an environment that do not change during a run, and the
// conditions as they are now, without a suffix.
func Facts(root string) Environment {
	e := Environment{Cgroup: map[string]string{}}
	m := machine{root: root}
	m.describe(&e)
	e.Conditions = m.fixed()
	maps.Copy(e.Conditions, m.changing(""))
	return e
}

// fixed are the conditions that nothing changes by itself.
func (m machine) fixed() map[string]string {
	pages := ""
	if _, chosen, ok := strings.Cut(m.read("sys/kernel/mm/transparent_hugepage/enabled"), "["); ok {
		pages, _, _ = strings.Cut(chosen, "]")
	}
	return told(map[string]string{ConditionPages: pages})
}

// changing are the conditions of this moment. The kernel gives a clock source up
// when it finds it unstable.
func (m machine) changing(suffix string) map[string]string {
	load := strings.Fields(m.read("proc/loadavg"))
	return told(map[string]string{
		ConditionClock + suffix: m.read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
		ConditionLoad + suffix:  strings.Join(load[:min(3, len(load))], " "),
		ConditionSwap + suffix:  m.swapUsed(),
	})
}

// told leaves out what the system does not tell.
func told(conditions map[string]string) map[string]string {
	maps.DeleteFunc(conditions, func(_, value string) bool { return value == "" })
	return conditions
}

func (m machine) swapUsed() string {
	kib := map[string]int64{}
	for line := range strings.Lines(m.read("proc/meminfo")) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err == nil {
			kib[name] = n
		}
	}
	total, ok := kib["SwapTotal"]
	free, known := kib["SwapFree"]
	if !ok || !known {
		return ""
	}
	return strconv.FormatInt(total-free, 10)
}
