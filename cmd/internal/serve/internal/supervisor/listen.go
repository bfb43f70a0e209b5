package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// turnPatience bounds the wait for others that look for a port; each takes
	// well under a millisecond.
	turnPatience = 10 * time.Second
	// freePorts is how many ports the system may offer for port 0 that another
	// program takes before they are bound anew.
	freePorts = 16
)

// listen opens n listeners on one port, which nobody else may have. Port 0 is any
// free one.
func listen(base, host string, port, n int) ([]*net.TCPListener, error) {
	done, err := takeTurn(base)
	if err != nil {
		return nil, err
	}
	defer done()
	for try := 1; ; try++ {
		free, err := probe(host, port)
		if err != nil {
			return nil, err
		}
		all, err := bindAll(host, free, n)
		if err == nil || port != 0 || try == freePorts {
			return all, err
		}
	}
}

// takeTurn keeps two servers of one user from finding the same port free.
func takeTurn(base string) (done func(), err error) {
	dir, err := os.Open(base)
	if err != nil {
		return nil, fmt.Errorf("the folder for temporary files: %w", err)
	}
	for end := time.Now().Add(turnPatience); ; time.Sleep(time.Millisecond) {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = dir.Close() }, nil // which unlocks it; it was only read
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			return nil, fmt.Errorf("lock %s: %w", base, errors.Join(err, dir.Close()))
		}
	}
}

// probe finds out whether the port is free, and which it is.
func probe(host string, port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return 0, listenError(host, port, err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func listenError(host string, port int, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("--port %d: port %d is in use at %s; want a free one, or 0 for any", port, port, host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("--port %d: this user may not open it: %w", port, err)
	}
	return fmt.Errorf("--host %s --port %d: %w", host, port, err)
}

func bindAll(host string, port, n int) ([]*net.TCPListener, error) {
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(err, os.NewSyscallError("setsockopt", set))
	}}
	var all []*net.TCPListener
	for range n {
		l, err := shared.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return nil, errors.Join(listenError(host, port, err), closeAll(all))
		}
		all = append(all, l.(*net.TCPListener))
	}
	return all, nil
}

func closeAll(all []*net.TCPListener) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
