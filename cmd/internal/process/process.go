// Package process runs child processes that are spoken with in the lines of
// package protocol, that cannot outlive their parent, and whose end is seen at
// once and told with the last lines of their log.
//
// On Linux the kernel sends a child its death signal when the thread that
// started it ends, so children are started on one thread that lives as long as
// the process. Elsewhere a child learns of its parent's death from the end of
// its standard input, which every process of an arm watches anyway.
//
// A child's output is a pipe of this package's own, not exec.Cmd's: Wait may
// then be called while the output is still being read, so that a child's death
// is seen even when a process that it left behind holds its output open.
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

// launch starts cmd as the leader of a new process group if its death is
// TermWithParent, else in the group of this process.
func launch(cmd *exec.Cmd, d Death) error {
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
