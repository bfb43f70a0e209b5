package doctor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fanoutbench/fanoutbench/results"
)

// State is what a finding says.
type State string

// States.
const (
	Good    State = "good"
	Spoils  State = "SPOILS"
	Unknown State = "unknown"
)

// Finding is one thing that was looked at. Why and Mend are for whoever has to
// mend it; a good one has them as well.
type Finding struct {
	Name  string
	State State
	Found string
	Why   string
	Mend  string
}

// Machine is what Examine looks at.
type Machine struct {
	Root   string // folder above proc and sys
	CPUs   int    // that this process may run on
	Go     string // version of the toolchain
	Temp   string // folder for temporary files, absolute, links followed
	Env    func(name string) (string, bool)
	Files  func() (uint64, error)              // how many descriptors a process may have
	Free   func(folder string) (uint64, error) // bytes
	Second func(ctx context.Context) error     // waits for the second between two readings
	facts  results.Environment                 // of Root
	during *results.Disturbance                // of that second
}

// Here is the machine that this process runs on.
func Here() Machine {
	temp, err := resolved(os.TempDir())
	if err != nil {
		temp = os.TempDir() // the finding says that it is not there
	}
	return Machine{
		Root: "/", CPUs: runtime.NumCPU(), Go: runtime.Version(), Temp: temp,
		Env: os.LookupEnv, Files: openFiles, Free: freeBytes, Second: second,
	}
}

// openFiles is the limit that Go has raised from soft to hard at the start, as it
// will in every process of a builtin arm.
func openFiles() (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("doctor: limit of open files: %w", err)
	}
	return l.Cur, nil
}

func freeBytes(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, fmt.Errorf("doctor: free space of %s: %w", folder, err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}

func second(ctx context.Context) error {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Examine looks at everything, which takes a second. The error is that of an
// interruption.
func Examine(ctx context.Context, m Machine) ([]Finding, error) {
	m.facts = results.Facts(m.Root)
	before := results.ReadDisturbance(m.Root, nil)
	if err := m.Second(ctx); err != nil {
		return nil, err
	}
	m.during = before.Until(results.ReadDisturbance(m.Root, nil))
	var found []Finding
	for _, look := range []func(Machine) Finding{
		cpus, quota, governor, turbo, smt, load, steal, pressure, swap, pages, clock, tempType, tempRoom, files, settings, toolchain,
	} {
		found = append(found, look(m))
	}
	return found, nil
}
