package transport

import "golang.org/x/sys/unix"

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
