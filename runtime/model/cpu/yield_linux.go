package cpu

import "golang.org/x/sys/unix"

// yield lets other threads run on this processor. Go's scheduler is not told: where none wants to, it returns at once.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
