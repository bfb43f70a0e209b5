package fanout

import (
	"errors"
	"fmt"
)

// SendError says that rows of a batch did not reach their consumer.
type SendError struct {
	Consumer string // its http_worker_ipc
	Op       string // dial, send or flush
	Row      int    // the first row of the batch that failed
	RID      string // its rid
	Rows     int    // how many rows of the batch failed, that one included
	Err      error
}

func (e *SendError) Error() string {
	return fmt.Sprintf("fanout: %s to consumer %q failed at row %d (rid %q), %s: %v", e.Op, e.Consumer, e.Row, e.RID, countRows(e.Rows), e.Err)
}

// Unwrap gives the cause.
func (e *SendError) Unwrap() error { return e.Err }

// RowError says that a row of a batch could not be sent as it is because of what
// it holds.
type RowError struct {
	Row     int
	RID     string
	Rows    int  // how many rows were lost with it: more than one when the batch could not be cut further
	Aborted bool // its consumer gets an abort in its place; then no row was lost
	Err     error
}

func (e *RowError) Error() string {
	if e.Aborted {
		return fmt.Sprintf("fanout: row %d (rid %q) goes on as an abort: %v", e.Row, e.RID, e.Err)
	}
	return fmt.Sprintf("fanout: row %d (rid %q), %s: %v", e.Row, e.RID, countRows(e.Rows), e.Err)
}

// Unwrap gives the cause.
func (e *RowError) Unwrap() error { return e.Err }

func countRows(n int) string {
	if n == 1 {
		return "1 row lost"
	}
	return fmt.Sprintf("%d rows lost", n)
}

// ErrNoConsumer is in the RowError of a row whose http_worker_ipc is null.
var ErrNoConsumer = errors.New("http_worker_ipc is null, expected the name of the row's consumer")

// noConsumer is ErrNoConsumer, and what else is wrong with the row.
func noConsumer(err error) error {
	if err == nil {
		return ErrNoConsumer
	}
	return errors.Join(err, ErrNoConsumer)
}
