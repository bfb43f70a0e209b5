// Package process starts child processes that cannot outlive their parent, and
// keeps the last lines of what they write.
//
// On Linux the kernel sends a child its death signal when the thread that
// started it ends, so children are started on one thread that lives as long as
// the process. Elsewhere a child learns of its parent's death from the end of
// its standard input, which every process of an arm watches anyway.
package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// Death is the signal that a child gets when its parent dies.
type Death int

// Deaths: by SIGKILL, or by SIGTERM for a child that has sockets to remove.
const (
	DieWithParent Death = iota
	TermWithParent
)

type job struct {
	cmd  *exec.Cmd
	done chan error
}

var (
	once sync.Once
	jobs = make(chan job)
)

// Start starts cmd as the leader of a new process group if its death is
// TermWithParent, else in the group of this process.
func Start(cmd *exec.Cmd, d Death) error {
	prepare(cmd, d)
	once.Do(func() {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread must not end
			for j := range jobs {
				j.done <- j.cmd.Start()
			}
		}()
	})
	j := job{cmd, make(chan error, 1)}
	jobs <- j
	return <-j.done
}
