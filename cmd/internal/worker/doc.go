// Package worker is the code under test of a builtin arm: the detokenizer loop
// of this module's runtime, in a process of its own.
//
// It has two planes. The measured one is a PULL socket on which
// BatchTokenIDOutput frames arrive, and one PUSH to each HTTP worker; a single
// loop receives a frame, hands it to the fanout strategy and counts. The control
// pipe is standard input and output, in the lines of package protocol; it is
// silent while a controller's clock runs, and its goroutine sleeps in a read.
// End of input ends the process, so a worker never outlives its controller.
//
// The strategy keeps its state between trials as a server does: connections,
// detokenizer, warm buffers. It is made anew only if a trial's vocabulary
// differs from the last one's.
//
// A worker whose configure names a rule and targets is the router of an arm with
// several detokenizers: the same loop, with a strategy of package router in place
// of a fanout strategy.
//
// Package faulty, below this one, has workers that are wrong on purpose.
package worker
