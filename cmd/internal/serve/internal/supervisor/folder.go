package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

const (
	lockName = "lock"
	// maxSocketPath is the limit of the strictest system (sun_path on darwin).
	maxSocketPath = 103
	// bareAge is how old a folder without a lock must be to be a dead server's: one
	// that was killed between making the two. Only an empty one is removed.
	bareAge = time.Minute
)

// folder is a server's private folder. Its lock is held as long as the server
// lives, whatever ends it.
type folder struct {
	path string
	lock *os.File
}

// folderPrefix begins the names of this user's folders.
func folderPrefix() string { return fmt.Sprintf("fanoutserve-%d-", os.Getuid()) }

// folderBase is where folders are made: tempDir, or /tmp if sockets would have too
// long a path there.
func folderBase(tempDir string) (string, error) {
	base, err := filepath.Abs(tempDir)
	if err != nil {
		return "", fmt.Errorf("the folder for temporary files: %w", err)
	}
	if !roomFor(base) {
		base = "/tmp"
	}
	return base, nil
}

// newFolder makes a folder below base.
func newFolder(base string) (*folder, error) {
	for {
		f, err := tryFolder(base)
		if err != nil {
			return nil, fmt.Errorf("private folder: %w", err)
		}
		if f != nil {
			return f, nil
		}
	}
}

// roomFor says whether the longest path of a socket is one.
func roomFor(base string) bool {
	name := folderPrefix() + "4294967295" // as MkdirTemp ends it
	most := args.Args{TokenizerWorkerNum: args.MaxWorkers, DetokenizerWorkerNum: args.MaxWorkers}
	for _, id := range part.All(most) {
		if len(filepath.Join(base, name, id.String())) > maxSocketPath {
			return false
		}
	}
	return true
}

// tryFolder gives nil if a sweeper took the folder before its lock was held.
func tryFolder(base string) (*folder, error) {
	path, err := os.MkdirTemp(base, folderPrefix()) // mode 0700
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !isAt(lock) {
		return nil, lock.Close()
	}
	return &folder{path: path, lock: lock}, nil
}

// isAt says whether the open file is still the one at its path.
func isAt(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, now)
}

func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// sweep removes the folders that dead servers of this user left below base
// (vllm PR 11115), and names them. A folder is a dead server's if its lock can be
// had. What is not surely one is left alone, and so is what cannot be removed:
// it is none of this server's business, which has a folder of its own.
func sweep(base string) []string {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil // newFolder says what is wrong with base
	}
	var swept []string
	for _, e := range entries {
		path := filepath.Join(base, e.Name())
		if strings.HasPrefix(e.Name(), folderPrefix()) && isOurs(path) && removeStale(path) {
			swept = append(swept, path)
		}
	}
	return swept
}

// isOurs: a real folder of this user's that nobody else could have written to.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

func removeStale(path string) bool {
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		info, err := os.Lstat(path)
		return err == nil && time.Since(info.ModTime()) > bareAge && os.Remove(path) == nil
	}
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }() // nothing was written to it
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !isAt(lock) {
		return false
	}
	return os.RemoveAll(path) == nil
}
