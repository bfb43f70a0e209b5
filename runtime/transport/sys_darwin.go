package transport

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxPath is sun_path (104 bytes) less its terminating zero.
const maxPath = 103

// Here a descriptor is made first and gets its flags after; the fork lock keeps a child from inheriting it between.

func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	return flagged(fd)
}

func accept(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	c, _, err := unix.Accept(fd)
	if err != nil {
		return -1, err
	}
	return flagged(c)
}

func newPipe(p *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(p[:]); err != nil {
		return err
	}
	for _, fd := range p {
		if _, err := flagged(fd); err != nil {
			return err
		}
	}
	return nil
}

func flagged(fd int) (int, error) {
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// The calls that do not wait: without a form that Go's scheduler is not told of, they are those of the package unix.

func sysRead(fd int, b []byte) (int, error) { return unix.Read(fd, b) }

func sysWrite(fd int, b []byte) (int, error) { return unix.Write(fd, b) }

func sysWritev(fd int, parts [][]byte) (int, error) { return unix.Writev(fd, parts) }

func look(fds []unix.PollFd) (int, error) { return unix.Poll(fds, 0) }

// bell waits in poll(2).
type bell struct{}

func (*bell) wait(fds []unix.PollFd, timeout time.Duration) (int, error) { return poll(fds, timeout) }

func (*bell) forget(int) {}

func (*bell) close() {}
