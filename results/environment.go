package results

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxPatch is the longest uncommitted patch that a result holds, in bytes.
const MaxPatch = 1 << 20

// PatchNotKept begins the line that stands for a patch that a result does not hold.
const PatchNotKept = "not kept:"

// CaptureEnvironment describes the machine, the Go runtime, the checkout around
// the working directory if it is one of this module, and the command, at the
// start of a run. Call End at its end.
//
// Folders in the command are written as $TREE, $CACHE, $TMP and $HOME, and any
// other absolute path as $ELSEWHERE and its last element.
func CaptureEnvironment(command []string) Environment {
	p := places()
	e := Environment{
		StartedAt: time.Now().UTC(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		CPUs:      runtime.NumCPU(),
		Cgroup:    map[string]string{},
		Pressure:  map[string]string{},
		Go:        runtime.Version(),
		GC:        map[string]string{},
	}
	for _, arg := range command {
		e.Command = append(e.Command, p.argument(arg))
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if v, ok := os.LookupEnv(name); ok {
			e.GC[name] = v
		}
	}
	describeMachine(&e)
	e.Conditions = conditionsNow(suffixBefore)
	e.steal = stealNow()
	if total := pressureNow(); total != "" {
		e.Pressure["before"] = total
	}
	if root := moduleRoot("."); root != "" {
		e.Revision, e.Modified, e.Patch = revision(root, "go.mod")
	}
	return e
}

// End records the end of the run: the time, and what other guests of the host
// and other processes took meanwhile. A second call is without effect.
func (e *Environment) End() {
	if !e.EndedAt.IsZero() {
		return
	}
	e.EndedAt = time.Now().UTC()
	if before, after := e.steal, stealNow(); before != nil && after != nil {
		during := *after - *before
		e.StealTicks = &during
	}
	e.steal = nil
	if e.Conditions != nil {
		maps.Copy(e.Conditions, conditionsNow(suffixAfter))
	}
	if total := pressureNow(); total != "" && e.Pressure != nil {
		e.Pressure["after"] = total
		if during, ok := difference(e.Pressure["before"], total); ok {
			e.Pressure["during"] = during
		}
	}
}

func difference(before, after string) (string, bool) {
	a, err := strconv.ParseInt(before, 10, 64)
	if err != nil {
		return "", false
	}
	b, err := strconv.ParseInt(after, 10, 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatInt(b-a, 10), true
}

// keepable is the patch, or, where it cannot stand in a result, a line that says
// so: a patch that is cut short would look like the whole.
func keepable(patch []byte) string {
	switch {
	case len(patch) > MaxPatch:
		return fmt.Sprintf(PatchNotKept+" the patch has %d bytes, more than %d; its sha256 is %s", len(patch), MaxPatch, sum(patch))
	case !utf8.Valid(patch):
		return fmt.Sprintf(PatchNotKept+" the patch is not UTF-8; it has %d bytes and sha256 %s", len(patch), sum(patch))
	}
	return string(patch)
}

// Lines are what is known of the machine and the time, name and value, for
// reports; what is not known is left out. The patch is told by its size.
func (e Environment) Lines() [][2]string {
	var lines [][2]string
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, [2]string{name, value})
		}
	}
	add("started", e.StartedAt.Format(time.RFC3339))
	add("ended", e.EndedAt.Format(time.RFC3339))
	add("system", e.OS+"/"+e.Arch)
	add("kernel", e.Kernel)
	add("cpu", fmt.Sprintf("%s, %d usable", e.CPU, e.CPUs))
	add("governor", e.Governor)
	add("turbo", e.Turbo)
	add("smt", e.SMT)
	if e.StealTicks != nil {
		add("steal", strconv.FormatInt(*e.StealTicks, 10)+" ticks")
	}
	for _, facts := range []struct {
		prefix string
		values map[string]string
	}{{"cgroup ", e.Cgroup}, {"cpu pressure ", e.Pressure}, {"", e.Conditions}, {"", e.GC}} {
		for _, name := range slices.Sorted(maps.Keys(facts.values)) {
			add(facts.prefix+name, facts.values[name])
		}
	}
	add("go", e.Go)
	add("revision", e.Revision)
	add("modified", e.Modified)
	if e.Patch != "" {
		add("patch", fmt.Sprintf("%d bytes, in result.json", len(e.Patch)))
	}
	return lines
}
