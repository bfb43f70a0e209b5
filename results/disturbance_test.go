package results

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

// counters of a machine and of threads, as files.
func readingFiles(steal, pressure string, threads map[string][2]string) map[string]string {
	files := map[string]string{
		"proc/stat":         "cpu  1 2 3 4 5 6 7 " + steal + " 0 0\n",
		"proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + pressure + "\n",
	}
	for tid, s := range threads {
		files["proc/"+tid+"/status"] = "Name:\tx\nvoluntary_ctxt_switches:\t" + s[0] + "\nnonvoluntary_ctxt_switches:\t" + s[1] + "\n"
	}
	return files
}

func TestDisturbanceBetweenReadings(t *testing.T) {
	before := faked(t, readingFiles("100", "5000", map[string][2]string{
		"7/task/7": {"10", "1"}, "7/task/8": {"20", "2"}, "7/task/9": {"500", "50"}, "9/task/9": {"0", "0"},
	}))
	files := readingFiles("103", "7500", map[string][2]string{
		"7/task/7": {"11", "4"}, "7/task/8": {"20", "2"}, "7/task/10": {"5", "6"}, "9/task/9": {"100", "10"},
	})
	files["sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq"] = "3000000\n"
	files["sys/devices/system/cpu/cpufreq/policy12/scaling_cur_freq"] = "800000\n"
	files["sys/devices/system/cpu/cpufreq/policy2/scaling_cur_freq"] = "<unknown>\n"
	after := faked(t, files)
	got := ReadDisturbance(before.root, []int{7, 9}).Until(ReadDisturbance(after.root, []int{7, 9}))
	want := &Disturbance{
		StealTicks: ref(int64(3)), PressureUS: ref(int64(2500)), Voluntary: ref(int64(1 + 5 + 100)), Involuntary: ref(int64(3 + 6 + 10)),
		LowestKHz: ref(int64(800000)), HighestKHz: ref(int64(3000000)),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, want %s", asJSON(got), asJSON(want))
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	return fmt.Sprint(string(b), err)
}

// What is not told, or cannot be a difference, is left out; nothing at all is nil.
func TestDisturbanceUnknown(t *testing.T) {
	whole := readingFiles("100", "5000", map[string][2]string{"7/task/7": {"10", "1"}})
	for name, k := range map[string]struct {
		before, after map[string]string
		want          string
	}{
		"no files":             {nil, nil, "null"},
		"none before":          {nil, whole, "null"},
		"a process that ended": {whole, readingFiles("100", "5000", nil), `{"steal_ticks":0,"pressure_us":0}`},
		"steal taken back":     {whole, readingFiles("99", "5001", map[string][2]string{"7/task/7": {"10", "1"}}), `{"pressure_us":1,"involuntary":0,"voluntary":0}`},
		"no pressure":          {whole, readingFiles("101", "much", map[string][2]string{"7/task/7": {"10", "1"}}), `{"steal_ticks":1,"involuntary":0,"voluntary":0}`},
		"another thread under the same number": {
			whole, readingFiles("100", "5000", map[string][2]string{"7/task/7": {"3", "2"}}), `{"steal_ticks":0,"pressure_us":0,"involuntary":2,"voluntary":3}`,
		},
		"a thread with half a status": {
			whole, readingFiles("100", "5000", map[string][2]string{"7/task/7": {"12", "x"}, "7/task/8": {"1", "1"}}), `{"steal_ticks":0,"pressure_us":0,"involuntary":1,"voluntary":1}`,
		},
	} {
		d := ReadDisturbance(faked(t, k.before).root, []int{7}).Until(ReadDisturbance(faked(t, k.after).root, []int{7}))
		if got, err := json.Marshal(d); err != nil || string(got) != k.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, k.want)
		}
	}
	if d := ReadDisturbance(faked(t, nil).root, nil).Until(ReadDisturbance(faked(t, nil).root, nil)); d != nil {
		t.Errorf("without processes: %s, want nothing", asJSON(d))
	}
}

// This process has threads, and on Linux their switches are told.
func TestDisturbanceOfThisProcess(t *testing.T) {
	pids := []int{os.Getpid()}
	d := ReadDisturbance("/", pids).Until(ReadDisturbance("/", pids))
	if err := d.Check(); err != nil {
		t.Error(err)
	}
	_, err := os.Stat("/proc/self/task")
	if told := d != nil && d.Voluntary != nil && d.Involuntary != nil; told != (err == nil) {
		t.Errorf("%s, and /proc/self/task: %v", asJSON(d), err)
	}
}

// disturbed gives trials some of what a disturbance can hold, some none.
func disturbed(trials []Trial, rng *rand.Rand) []Trial {
	for i := range trials {
		d := &Disturbance{}
		for _, to := range []**int64{&d.StealTicks, &d.PressureUS, &d.Involuntary, &d.Voluntary} {
			if rng.IntN(4) > 0 {
				*to = ref(rng.Int64N(1 << 20))
			}
		}
		if rng.IntN(2) > 0 {
			d.LowestKHz = ref(rng.Int64N(1 << 20))
			d.HighestKHz = ref(*d.LowestKHz + rng.Int64N(1<<20))
		}
		trials[i].Disturbance = d
	}
	return trials
}

// A run with disturbances reads back as it was written, verifies, and has the
// same figures as one without.
func TestDisturbanceRoundTrip(t *testing.T) {
	p := examplePlan()
	plain := trialsOf(p, source())
	trials := disturbed(trialsOf(p, source()), source())
	trials[3].Disturbance = &Disturbance{} // nothing known: written as none
	r := create(t, p)
	for _, trial := range trials {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Finish(exampleOutcome(p)); err != nil {
		t.Fatal(err)
	}
	trials[3].Disturbance = nil
	f, err := Read(r.Dir())
	if err != nil || !reflect.DeepEqual(f.Trials, trials) {
		t.Fatalf("read %v, other trials than were written", err)
	}
	if names, details := failed(t, r.Dir(), VerifyOptions{}); len(names) > 0 {
		t.Error(details)
	}
	rows, err := Summarize(p, plain)
	if err != nil || sameRows(rows, f.Result.Summary) != nil {
		t.Errorf("figures differ from those of a run without: %v", err)
	}
}

// Of nothing there is one form, and no value that cannot be true.
func TestDisturbanceRefused(t *testing.T) {
	p := handPlan(1, 1)
	trial := trialsOf(p, source())[0]
	trial.Disturbance = &Disturbance{StealTicks: ref(int64(1)), LowestKHz: ref(int64(1)), HighestKHz: ref(int64(2))}
	line, err := encodeLine(&trial)
	if err != nil {
		t.Fatal(err)
	}
	const good = `"disturbance":{"steal_ticks":1,"lowest_khz":1,"highest_khz":2}`
	if _, err := parseRaw(line, p); err != nil || !strings.Contains(string(line), good) {
		t.Fatalf("%v: %s", err, line)
	}
	for bad, want := range map[string]string{
		`"disturbance":{}`:                                     "not in the form",
		`"disturbance":null`:                                   "not in the form",
		`"disturbance":{"steal_ticks":null}`:                   "not in the form",
		`"disturbance":{"pressure_us":1,"steal_ticks":1}`:      "not in the form",
		`"disturbance":{"steal_ticks":1,"hurry":1}`:            "hurry",
		`"disturbance":{"steal_ticks":1.5}`:                    "1.5",
		`"disturbance":{"steal_ticks":-1}`:                     "disturbance.steal_ticks is -1, want 0 to 1099511627776",
		`"disturbance":{"voluntary":1099511627777}`:            "disturbance.voluntary",
		`"disturbance":{"lowest_khz":3,"highest_khz":2}`:       "lowest_khz is 3 and highest_khz 2",
		`"disturbance":{"steal_ticks":1,"highest_khz":2}`:      "lowest_khz is - and highest_khz 2",
		`"disturbance":{"involuntary":-1,"voluntary":9999999}`: "disturbance.involuntary is -1",
	} {
		_, err := parseRaw([]byte(strings.Replace(string(line), good, bad, 1)), p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

func TestConditions(t *testing.T) {
	m := faked(t, map[string]string{
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/kernel/mm/transparent_hugepage/enabled":                      "always [madvise] never\n",
		"proc/loadavg": "0.50 1.25 2.00 1/190 4107\n",
		"proc/meminfo": "MemTotal: 100 kB\nSwapTotal:    2048 kB\nSwapFree:  2000 kB\n",
	})
	got := Facts(m.root).Conditions
	want := map[string]string{ConditionClock: "tsc", ConditionPages: "madvise", ConditionLoad: "0.50 1.25 2.00", ConditionSwap: "48"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, files := range map[string]map[string]string{
		"no files":      {},
		"other content": {"proc/meminfo": "SwapTotal: x kB\nSwapFree: 1 kB\n", "sys/kernel/mm/transparent_hugepage/enabled": "always"},
	} {
		if got := Facts(faked(t, files).root).Conditions; len(got) != 0 {
			t.Errorf("%s: %v, want none", name, got)
		}
	}
}

// A status either has both counters or gives none.
func FuzzSwitches(f *testing.F) {
	f.Add("voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n")
	f.Add("nonvoluntary_ctxt_switches: 9223372036854775808\n")
	f.Add("voluntary_ctxt_switches: 1\nvoluntary_ctxt_switches: 2\n")
	f.Fuzz(func(t *testing.T, status string) {
		_, ok := parseSwitches(status)
		both := strings.HasPrefix(status, "voluntary_ctxt") || strings.Contains(status, "\nvoluntary_ctxt")
		both = both && strings.Contains(status, "nonvoluntary_ctxt_switches:")
		if ok && !both {
			t.Errorf("both counters were found in %q", status)
		}
	})
}
