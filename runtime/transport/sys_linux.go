package transport

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxPath is sun_path (108 bytes) less its terminating zero.
const maxPath = 107

func newSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

func accept(fd int) (int, error) {
	c, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	return c, err
}

func newPipe(p *[2]int) error { return unix.Pipe2(p[:], unix.O_NONBLOCK|unix.O_CLOEXEC) }

// The calls below never wait, as every descriptor is non-blocking, so Go's scheduler is not told of them: it would
// wake its monitor thread for each burst of them, which then looks after a call that has long ended, every 20 us.

func sysRead(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return result(n, e)
}

func sysWrite(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return result(n, e)
}

func sysWritev(fd int, parts [][]byte) (int, error) {
	var vec [3]unix.Iovec
	for i, b := range parts {
		vec[i].Base = unsafe.SliceData(b)
		vec[i].SetLen(len(b))
	}
	n, _, e := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&vec)), uintptr(len(parts)))
	return result(n, e)
}

// look is poll(2) that does not wait.
func look(fds []unix.PollFd) (int, error) {
	var none unix.Timespec
	n, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)), uintptr(unsafe.Pointer(&none)), 0, 0, 0)
	return result(n, e)
}

// result has an error of which the common ones cost no allocation.
func result(n uintptr, e syscall.Errno) (int, error) {
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

// bell waits for descriptors as poll does, but in Go's own poller: the goroutine is parked and its thread with it. A
// thread that waits in poll(2) keeps a processor of Go's scheduler for the first 10 ms, and for as long the monitor
// thread wakes up every 20 to 1000 us to see whether to take it away. The zero bell is ready for use.
type bell struct {
	epoll  int // an epoll descriptor with all the others in it, which the poller knows as one that becomes readable
	file   *os.File
	conn   syscall.RawConn
	events map[int32]int16    // what epoll has been told
	ready  func(uintptr) bool // looks at fds; made once, as one for each wait would be an allocation each
	fds    []unix.PollFd
	n      int
	err    error
}

func (b *bell) open() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // or NewFile does not give it to the poller
		_ = unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	file := os.NewFile(uintptr(fd), "epoll")
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return err
	}
	*b = bell{epoll: fd, file: file, conn: conn, events: make(map[int32]int16)}
	b.ready = func(uintptr) bool {
		b.n, b.err = poll(b.fds, 0)
		return b.n != 0
	}
	return nil
}

// wait is poll for one goroutine at a time.
func (b *bell) wait(fds []unix.PollFd, timeout time.Duration) (int, error) {
	if b.file == nil {
		if err := b.open(); err != nil {
			return 0, err
		}
	}
	if err := b.tell(fds); err != nil {
		return 0, err
	}
	if timeout >= 0 {
		if err := b.file.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return 0, err
		}
		defer func() { _ = b.file.SetReadDeadline(time.Time{}) }()
	}
	b.fds = fds
	err := b.conn.Read(b.ready)
	b.fds = nil
	if os.IsTimeout(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return b.n, b.err
}

// tell makes epoll know of what fds ask for. What they no longer have may stay: it wakes the goroutine at most once.
func (b *bell) tell(fds []unix.PollFd) error {
	for _, f := range fds {
		known, old := b.events[f.Fd]
		if f.Fd < 0 || old && known == f.Events {
			continue
		}
		op := unix.EPOLL_CTL_ADD
		if old {
			op = unix.EPOLL_CTL_MOD
		}
		if err := unix.EpollCtl(b.epoll, op, int(f.Fd), &unix.EpollEvent{Events: uint32(f.Events), Fd: f.Fd}); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
		b.events[f.Fd] = f.Events
	}
	return nil
}

// forget is to be called when fd is closed, which takes it out of epoll.
func (b *bell) forget(fd int) { delete(b.events, int32(fd)) }

func (b *bell) close() {
	if b.file != nil {
		_ = b.file.Close()
	}
}
