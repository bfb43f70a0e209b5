// Package controller answers the arm protocol for builtin arms: it owns the
// consumers and the clock, and runs a worker process of this module, perhaps of
// another revision, as the code under test.
//
// In the private folder that hello names it binds one PULL a consumer, then
// starts the worker, which binds its input, and connects to that. Everything
// the worker is told goes over the control pipe (package protocol); batches and
// rows go over the sockets only.
//
// With several detokenizers (crew.go) the worker is as many processes and a
// router before them, all of one executable: the detokenizers bind inputs of
// their own, and the router binds the arm's and sends to those. The first of them that ends, ends the trial, by its name.
//
// The timed part (consume.go) runs on one locked thread without a goroutine
// beside it, except with pace "none" or a rate, where a second goroutine sends:
// a sender that waits for the worker while the worker waits for a consumer would
// wait for ever, and one that is busy receiving would miss its time. At a rate
// batch s is due s/rate after the clock's start; one that is late is sent at once
// and moves none behind it. A stream that is due to end after wait_ms is refused.
// Garbage is collected before and collection is off until the clock stops. Frames
// are decoded on receipt, opaque metadata included, and kept; rows are made of
// them, and compared, when no clock runs.
//
// What ends a trial early: one of the processes of worker or consumers exits (its log's last
// lines are in the error), a frame does not decode, a socket fails. Rows that do
// not come within wait_ms end it too, but as a result marked stalled, so that the
// driver can name the row that is missing.
//
// With consumers "process" each consumer is the same inbox in a process of its own
// (consumerprocess.go), and what this process has in its place is an audience
// (audience.go), which hears from them how many rows have come. Their times are
// CLOCK_MONOTONIC's, tied to each process's own clock by reading both beside each
// other (monotonic.go). A consumer is ended after the worker, and is asked for what
// it has before. Dropped: a byte a wake-up in place of a line, since the times must
// be told too and a line is what process.Child reads; shared memory, which a reader
// would have to poll.
//
// A trial with a profile plays its stream over and over before it is played as
// always, so that a profile at 100 samples a second of CPU time has some (profile.go).
//
// At stop the worker is ended first, and the consumers are looked at once more: a
// row that came after the last quiet period is an error. The end of the input, or
// SIGTERM, ends whatever runs: the worker is ended, which also frees a write that
// it has blocked, and every socket file is removed, the worker's too.
package controller
