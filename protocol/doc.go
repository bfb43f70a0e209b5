// Package protocol is the arm protocol: all that the driver of fanoutbench and
// the controller of an arm share. It imports nothing of this module, so a
// controller in another module, or in another language, can be written from
// this page alone.
//
// # Processes
//
// An arm is one controller process and its worker process or processes. The
// controller owns the consumers (one PULL endpoint for each HTTP worker) and
// the clock; the worker is the code under test: it receives
// BatchTokenIDOutput messages on its endpoint, detokenizes, splits and sends
// BatchStrOutput messages to the consumers. Both planes are separate: what this
// page describes is the control plane, and nothing of it is sent while a
// controller's clock runs.
//
// # Lines
//
// The driver writes JSON objects to the controller's standard input and reads
// JSON objects from its standard output, one object a line, at most MaxLine
// bytes, UTF-8. Standard error is the controller's log. Every object has a
// "type". End of input means stop. The order is:
//
//	driver      controller
//	hello   ->
//	        <-  receipt
//	trial   ->
//	        <-  result            (any number of trials, one at a time)
//	stop    ->
//	        <-  stopped           (then the controller exits with status 0)
//
// In place of a receipt or a result the controller may send error with a
// message; the driver then ends the run as invalid. A controller that is given
// another version answers with error. A line that is not one of these, an
// answer to another trial, or silence beyond the time-out ends the run too.
//
// # Transcript
//
// The lines of a run with one trial, shortened; testdata/transcript.jsonl has
// them whole, and a test reads and writes them again. "> " is the driver.
//
//	> {"type":"hello","version":1,"transport":"msgpack","options":{},"http_workers":4,
//	   "consumer":"decode","pace":"arrived","dir":"/tmp/fanoutbench-1/reference-0","wait_ms":20000}
//	< {"type":"receipt","version":1,"runtime":"fanoutbench","runtime_version":"devel",
//	   "transports":["msgpack","native"],"strategy":"per-row","options":{"zmq":"zmtp"},"pids":[4711], ...}
//	> {"type":"trial","id":"0.rich.2.0","round":0,"repetition":0,
//	   "cell":{"count":2,"metadata":"rich"},"work":{"path":"...","sha256":"...","bytes":1234}}
//	< {"type":"result","id":"0.rich.2.0","metrics":{"complete_ms":1.25,"first_ms":0.5,
//	   "first_all_ms":0.6,"spread_ms":0.02,"worker_cpu_ms":0.75},
//	   "counters":{"messages":2,"bytes":988,"opaque_decodes":4},
//	   "rows":{"path":"...","sha256":"...","bytes":4321}}
//	> {"type":"stop"}
//	< {"type":"stopped"}
//
// # Bulk data
//
// What is too big for a line is a file in the folder that hello names (mode
// 0700, owned by the driver), given as a path with its SHA-256 and length; the
// reader checks both. A trial's work file is a Work object; a result's rows
// file is a Delivery object.
//
// # Values
//
// Rows are plain JSON, compared as values. Bytes are {"$b64": "..."}, floats
// that JSON lacks are {"$f": "nan"}, {"$f": "inf"} and {"$f": "-inf"}, integers
// beyond 2^53 are strings of decimal digits. A number is compared by its
// numeric value. Key order does not count.
//
// In time_stats every key that ends in "_time" is a time in the shared clock
// (CLOCK_REALTIME, seconds), both in the work and in the rows delivered,
// whatever clock the messages carry; it is compared within 5e-6 s. All other
// keys are exact. The sender's clock offset is not reported.
//
// # Timed part
//
// The clock of a trial starts just before batch 0 is encoded, when message
// objects exist and no bytes do, and stops after the last row of the last batch
// is decoded. One thread serves every consumer: wait, then drain each ready
// endpoint in index order, decoding each message on receipt with its opaque
// metadata. With pace "arrived" batch s+1 is encoded when every row of batch s
// has been decoded, with "none" as soon as batch s is sent. Consumer "raw" reads
// frames and counts rows without decoding them. Collect garbage before, and
// pause collection until the clock stops; leave the worker's collector alone.
//
// Then, untimed: the fence is sent and received the same way, nothing may
// arrive for QuietMS milliseconds, and every row delivered since the trial
// began (the fence's and any surplus too) is reported in order of arrival for
// each endpoint.
package protocol
