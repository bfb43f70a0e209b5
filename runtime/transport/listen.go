package transport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience bounds the wait for another binder in the same folder; it holds the lock for microseconds.
const lockPatience = 5 * time.Second

// socketPath takes the path out of ipc://PATH.
func socketPath(endpoint string) (string, error) {
	path, ok := strings.CutPrefix(endpoint, "ipc://")
	switch {
	case !ok:
		return "", fmt.Errorf("transport: endpoint %q; want ipc://PATH", endpoint)
	case path == "" || path == "*" || path[0] == '@' || strings.IndexByte(path, 0) >= 0:
		return "", fmt.Errorf("transport: endpoint %q; want ipc:// and the path of a file (no wildcard, no abstract name)", endpoint)
	case len(path) > maxPath:
		return "", fmt.Errorf("transport: the path %s has %d bytes; a unix socket takes at most %d", path, len(path), maxPath)
	}
	return path, nil
}

// listener is an open listening socket and the file that belongs to it.
type listener struct {
	fd   int
	path string
	file unix.Stat_t
}

// listen makes the socket file, after a stale one was cleared away.
func listen(path string) (*listener, error) {
	unlock, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := clearStale(path); err != nil {
		return nil, err
	}
	fd, err := newSocket()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	l := &listener{fd: fd, path: path}
	if err := l.open(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return l, nil
}

func (l *listener) open() error {
	if err := unix.Bind(l.fd, &unix.SockaddrUnix{Name: l.path}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	if err := unix.Lstat(l.path, &l.file); err != nil {
		return os.NewSyscallError("lstat", err)
	}
	if err := unix.Listen(l.fd, unix.SOMAXCONN); err != nil {
		return errors.Join(os.NewSyscallError("listen", err), unix.Unlink(l.path))
	}
	return nil
}

// close unlinks the file if it is still ours. First the file, then the socket: as long as the socket is
// open nobody takes the file for stale, and its inode cannot be given to another file.
func (l *listener) close() error {
	var now unix.Stat_t
	var err error
	if e := unix.Lstat(l.path, &now); e == nil && now.Dev == l.file.Dev && now.Ino == l.file.Ino {
		err = os.NewSyscallError("unlink", unix.Unlink(l.path))
	}
	return errors.Join(err, os.NewSyscallError("close", unix.Close(l.fd)))
}

// lockFolder keeps two binders apart. It locks the folder itself: a lock file would stay behind.
func lockFolder(dir string) (unlock func(), err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	for end := time.Now().Add(lockPatience); ; {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = unix.Close(fd) }, nil
		}
		if (err != unix.EWOULDBLOCK && err != unix.EINTR) || time.Now().After(end) {
			_ = unix.Close(fd)
			return nil, &os.PathError{Op: "flock", Path: dir, Err: err}
		}
		time.Sleep(time.Millisecond)
	}
}

// clearStale unlinks a socket file at which nobody listens.
func clearStale(path string) error {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return fmt.Errorf("%s exists and is no socket; it is left alone", path)
	}
	fd, err := dial(path)
	switch err {
	case nil:
		_ = unix.Close(fd)
		return ErrLive
	case unix.EAGAIN: // its queue of connections is full
		return ErrLive
	case unix.ECONNREFUSED:
		return os.NewSyscallError("unlink", unix.Unlink(path))
	}
	return fmt.Errorf("probing the socket file: %w", err)
}

// dial tries once, without waiting. The error is an errno.
func dial(path string) (int, error) {
	fd, err := newSocket()
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
