package batchdriver

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// bootName is a hash of the kernel's name for this boot of this machine, which
// containers on it share; "" if it is not told.
func bootName() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(b))))
	return hex.EncodeToString(sum[:8])
}

// clockError is how far the clock may be off, in milliseconds, as adjtimex(2) has it
// from whoever disciplines it; nil while nobody does.
func clockError() *float64 {
	var t unix.Timex
	state, err := unix.Adjtimex(&t) // modes 0: it only asks
	if err != nil || state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return nil
	}
	ms := float64(t.Maxerror) / 1000
	return &ms
}
