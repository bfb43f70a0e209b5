package main

import (
	"strconv"
	"syscall"
)

// limitFiles makes every write that would take a file beyond so many bytes fail
// with EFBIG, as a full disk fails with ENOSPC.
func limitFiles(bytes string) error {
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

// limitDescriptors lets this process and those that it starts have so many files
// open.
func limitDescriptors(number string) error {
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n})
}
