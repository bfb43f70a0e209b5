package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Disturbance is what went on beside a trial, from before its line was sent to
// after its result had come: longer than the timed part, which nothing is read
// in. What the system does not tell is absent; a trial of which nothing is known
// has no disturbance at all.
type Disturbance struct {
	// Time that the host gave to others, over all CPUs, in ticks of 10 ms
	// (proc/stat).
	StealTicks *int64 `json:"steal_ticks,omitempty"`
	// Microseconds in which some process of the machine waited for a CPU (the
	// total of "some" in proc/pressure/cpu).
	PressureUS *int64 `json:"pressure_us,omitempty"`
	// Context switches of all threads of the arm's processes that took them off
	// the CPU (proc/PID/task/TID/status). A thread that ended meanwhile takes its
	// last ones with it.
	Involuntary *int64 `json:"involuntary,omitempty"`
	Voluntary   *int64 `json:"voluntary,omitempty"`   // those that went to wait
	LowestKHz   *int64 `json:"lowest_khz,omitempty"`  // over all CPUs, at the trial's end
	HighestKHz  *int64 `json:"highest_khz,omitempty"` // likewise
}

// Reading is what the system tells at one moment. Two of them make a
// Disturbance.
type Reading struct {
	steal    *int64
	pressure *int64
	khz      []int64
	threads  map[string]switches // nil: one of the processes could not be read
}

// switches are the context switches of one thread since it began.
type switches struct{ involuntary, voluntary int64 }

// ReadDisturbance reads what the system below root ("/" but in tests) tells of
// the machine and of the processes' threads. It takes about 20 microseconds a
// thread.
func ReadDisturbance(root string, pids []int) Reading {
	m := machine{root: root}
	r := Reading{steal: m.steal(), khz: m.khz()}
	if total, err := strconv.ParseInt(m.pressure(), 10, 64); err == nil {
		r.pressure = &total
	}
	if len(pids) > 0 {
		r.threads = m.threads(pids)
	}
	return r
}

// Until is what went on between r and a later reading; nil if nothing is known.
func (r Reading) Until(after Reading) *Disturbance {
	d := Disturbance{StealTicks: growth(r.steal, after.steal), PressureUS: growth(r.pressure, after.pressure)}
	if len(after.khz) > 0 {
		low, high := slices.Min(after.khz), slices.Max(after.khz)
		d.LowestKHz, d.HighestKHz = &low, &high
	}
	if r.threads != nil && after.threads != nil {
		var sum switches
		for tid, now := range after.threads {
			was := r.threads[tid]
			if now.involuntary < was.involuntary || now.voluntary < was.voluntary {
				was = switches{} // another thread under the number of one that ended
			}
			sum.involuntary += now.involuntary - was.involuntary
			sum.voluntary += now.voluntary - was.voluntary
		}
		d.Involuntary, d.Voluntary = &sum.involuntary, &sum.voluntary
	}
	return d.known()
}

// growth is nil where a counter is not known, or ran backwards: some hypervisors
// take steal time back.
func growth(before, after *int64) *int64 {
	if before == nil || after == nil || *after < *before {
		return nil
	}
	d := *after - *before
	return &d
}

// StealMS is the steal time in milliseconds; nil where it is not known.
func (d *Disturbance) StealMS() *float64 {
	if d == nil || d.StealTicks == nil {
		return nil
	}
	ms := 10 * float64(*d.StealTicks)
	return &ms
}

// known is nil if d holds nothing: there is one way to write that.
func (d *Disturbance) known() *Disturbance {
	if d == nil || *d == (Disturbance{}) {
		return nil
	}
	return d
}

// Check holds a disturbance, which may be nil, against what can be true of any.
func (d *Disturbance) Check() error {
	if d == nil {
		return nil
	}
	for _, f := range []struct {
		name  string
		value *int64
	}{
		{"steal_ticks", d.StealTicks}, {"pressure_us", d.PressureUS}, {"involuntary", d.Involuntary}, {"voluntary", d.Voluntary},
		{"lowest_khz", d.LowestKHz}, {"highest_khz", d.HighestKHz},
	} {
		if f.value != nil && (*f.value < 0 || *f.value > maxDisturbance) {
			return unwanted("disturbance."+f.name, *f.value, "0 to %d", int64(maxDisturbance))
		}
	}
	if (d.LowestKHz == nil) != (d.HighestKHz == nil) || d.LowestKHz != nil && *d.LowestKHz > *d.HighestKHz {
		return fmt.Errorf("disturbance.lowest_khz is %s and highest_khz %s, want both or none, and the lowest first", whole(d.LowestKHz), whole(d.HighestKHz))
	}
	return nil
}

// maxDisturbance is far above anything true, and exact in a float64, so that sums
// over a run are exact too.
const maxDisturbance = 1 << 40

// whole writes a number that may not be known.
func whole(v *int64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatInt(*v, 10)
}

// khz are the frequencies at which the CPUs run, one for each group of CPUs that
// share one.
func (m machine) khz() []int64 {
	files, err := filepath.Glob(filepath.Join(m.root, "sys/devices/system/cpu/cpufreq/policy[0-9]*/scaling_cur_freq"))
	if err != nil {
		return nil
	}
	var khz []int64
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && v >= 0 {
			khz = append(khz, v)
		}
	}
	return khz
}

// threads are the context switches of every thread of the processes, by process
// and thread. It is nil if one of the processes cannot be read; a thread that ends
// while its process is read is left out.
func (m machine) threads(pids []int) map[string]switches {
	all := map[string]switches{}
	for _, pid := range pids {
		folder := fmt.Sprintf("proc/%d/task", pid)
		tids, err := os.ReadDir(filepath.Join(m.root, folder))
		if err != nil {
			return nil
		}
		for _, tid := range tids {
			name := folder + "/" + tid.Name()
			if s, ok := parseSwitches(m.read(name + "/status")); ok {
				all[name] = s
			}
		}
	}
	return all
}

func parseSwitches(status string) (s switches, ok bool) {
	var voluntary, involuntary bool
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != "voluntary_ctxt_switches" && name != "nonvoluntary_ctxt_switches" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return switches{}, false
		}
		if name == "voluntary_ctxt_switches" {
			s.voluntary, voluntary = n, true
		} else {
			s.involuntary, involuntary = n, true
		}
	}
	return s, voluntary && involuntary
}
