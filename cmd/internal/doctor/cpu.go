package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
)

// told makes the state of a finding: unknown where there is no text.
func told(f Finding, found string, good bool) Finding {
	f.Found = found
	switch {
	case found == "":
		f.State, f.Found = Unknown, "the system does not tell"
	case good:
		f.State = Good
	default:
		f.State = Spoils
	}
	return f
}

func cpus(m Machine) Finding {
	return told(Finding{
		Name: "CPUs",
		Why:  "controller and worker run at the same time; on one CPU each waits for the other, and waiting is measured",
		Mend: "allow this process two CPUs or more (taskset, the container's cpuset, a larger machine)",
	}, fmt.Sprintf("%d for this process", m.CPUs), m.CPUs >= 2)
}

// quota is about the tightest limit on CPU time of the groups above this process.
func quota(m Machine) Finding {
	f := Finding{
		Name: "CPU quota",
		Why:  "a group that has used up its quota stands still until the period ends, which is as long as many trials",
		Mend: "run outside of the group, or set its cpu.max to max (docker: no --cpus; Kubernetes: no CPU limit)",
	}
	limits := m.facts.Cgroup
	if v, ok := limits["cpu.max"]; ok {
		return told(f, "cpu.max is "+v, v == "max" || strings.HasPrefix(v, "max ") || enough(v, m.CPUs))
	}
	if v, ok := limits["cpu.cfs_quota_us"]; ok {
		v += " " + limits["cpu.cfs_period_us"]
		return told(f, "cpu.cfs_quota_us and cpu.cfs_period_us are "+v, strings.HasPrefix(v, "-1 ") || enough(v, m.CPUs))
	}
	return told(f, "", false)
}

// enough says whether "quota period" is as much as the CPUs can do.
func enough(limit string, cpus int) bool {
	quota, period, _ := strings.Cut(limit, " ")
	q, err := strconv.ParseFloat(quota, 64)
	if err != nil {
		return false
	}
	p, err := strconv.ParseFloat(period, 64)
	return err == nil && q >= p*float64(cpus)
}

func governor(m Machine) Finding {
	return told(Finding{
		Name: "governor",
		Why:  "other governors than performance change the frequency with the load, and both arms load the CPU differently",
		Mend: "cpupower frequency-set -g performance",
	}, m.facts.Governor, m.facts.Governor == "performance")
}

func turbo(m Machine) Finding {
	return told(Finding{
		Name: "turbo",
		Why:  "the frequency then depends on heat and on how many cores are busy, so on what ran before",
		Mend: "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost",
	}, m.facts.Turbo, m.facts.Turbo == "off")
}

func smt(m Machine) Finding {
	control := m.facts.SMT
	if control == "notimplemented" { // on an architecture where the kernel cannot switch it: nothing follows
		control = ""
	}
	return told(Finding{
		Name: "SMT",
		Why:  "two threads of one core take turns with its units: worker and controller are slower on one core than on two",
		Mend: "echo off > /sys/devices/system/cpu/smt/control, or allow one thread of each core (taskset)",
	}, control, control != "on")
}

// loadShare of the CPUs may be busy with other things.
const loadShare = 0.25

func load(m Machine) Finding {
	f := Finding{
		Name: "load average",
		Why:  "whatever else runs takes CPUs and caches away, at times of its own",
		Mend: "end it, or wait: the first number is over the last minute",
	}
	v := m.facts.Conditions[results.ConditionLoad]
	first, _, _ := strings.Cut(v, " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return told(f, "", false)
	}
	return told(f, fmt.Sprintf("%s on %d CPUs, want the first at most %v", v, m.CPUs, loadShare*float64(m.CPUs)), n <= loadShare*float64(m.CPUs))
}

func steal(m Machine) Finding {
	f := Finding{
		Name: "steal",
		Why:  "the host gave this machine's CPUs to others: no clock in here can tell that from slow code",
		Mend: "a machine of one's own, or one with CPUs that are not shared; else more rounds, and fanoutbench explain",
	}
	if m.during == nil || m.during.StealTicks == nil {
		return told(f, "", false)
	}
	ticks := *m.during.StealTicks
	return told(f, fmt.Sprintf("%d ms of CPU time in a second", 10*ticks), ticks <= int64(m.CPUs)) // a hundredth
}

// pressureLimit is for how long of a second processes may wait for a CPU, in
// microseconds.
const pressureLimit = 100_000

func pressure(m Machine) Finding {
	f := Finding{
		Name: "CPU pressure",
		Why:  "processes wait for a CPU although nothing is measured now: in a run they would wait with the arms",
		Mend: "end what runs beside, as with the load average",
	}
	if m.during == nil || m.during.PressureUS == nil {
		return told(f, "", false)
	}
	us := *m.during.PressureUS
	return told(f, fmt.Sprintf("in a second some process waited for %d ms", us/1000), us <= pressureLimit)
}

// exact are the clock sources that are read without asking the kernel or the host.
var exact = map[string]bool{"tsc": true, "kvm-clock": true, "hyperv_clocksource_tsc_page": true, "arch_sys_counter": true, "riscv_clocksource": true}

func clock(m Machine) Finding {
	v := m.facts.Conditions[results.ConditionClock]
	return told(Finding{
		Name: "clock source",
		Why:  "reading others than tsc, kvm-clock or arch_sys_counter takes a system call or a trip to the device, in the timed part too",
		Mend: "see available_clocksource beside /sys/devices/system/clocksource/clocksource0/current_clocksource; the kernel log says why it was given up",
	}, v, exact[v])
}
