package manager

import (
	"fmt"
	"sync"
	"time"
)

func badRequest(format string, args ...any) *Error {
	return &Error{Status: 400, Type: "BadRequestError", Message: fmt.Sprintf(format, args...)}
}

func unavailable(message string) *Error {
	return &Error{Status: 503, Type: "ServiceUnavailable", Message: message}
}

func abort(status int, errType, message string) *Finish {
	return &Finish{Type: "abort", StatusCode: status, ErrType: errType, Message: message}
}

// fault is the end of a request of which something was lost.
func fault(format string, args ...any) *Finish {
	return abort(500, "InternalServerError", fmt.Sprintf(format, args...))
}

// limiter lets one log line a second through.
type limiter struct {
	mu      sync.Mutex
	next    time.Time
	skipped int
}

// allow says whether a line may be written, and how many were not before it.
func (l *limiter) allow(now time.Time) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.next) {
		l.skipped++
		return 0, false
	}
	skipped, l.skipped = l.skipped, 0
	l.next = now.Add(time.Second)
	return skipped, true
}
