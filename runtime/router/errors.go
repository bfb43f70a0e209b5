package router

import (
	"errors"
	"fmt"
)

// SendError says that rows of a batch did not reach their detokenizer.
type SendError struct {
	Target int
	Op     string // send or flush
	Row    int    // the first row of the batch that failed
	RID    string // its rid
	Rows   int    // how many rows of the batch failed, that one included; none of an empty batch
	Err    error
}

func (e *SendError) Error() string {
	return fmt.Sprintf("router: %s to detokenizer %d failed at row %d (rid %q), %d rows lost: %v", e.Op, e.Target, e.Row, e.RID, e.Rows, e.Err)
}

// Unwrap gives the cause.
func (e *SendError) Unwrap() error { return e.Err }

// RowError says that a row of a batch was not sent because of what it holds.
type RowError struct {
	Row  int
	RID  string
	Rows int // how many rows failed with it: more than one when the batch could not be cut further
	Err  error
}

func (e *RowError) Error() string {
	return fmt.Sprintf("router: row %d (rid %q), %d rows lost: %v", e.Row, e.RID, e.Rows, e.Err)
}

// Unwrap gives the cause.
func (e *RowError) Unwrap() error { return e.Err }

var errNoIPC = errors.New("http_worker_ipc is null, expected the name of the row's consumer")
