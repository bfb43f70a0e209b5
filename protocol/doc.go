// Package protocol is the arm protocol: all that the driver of fanoutbench and
// the controller of an arm share. It imports nothing of this module, so a
// controller in another module, or in another language, can be written from
// this page and testdata alone.
//
// # Processes
//
// An arm is one controller process and its worker process or processes. The
// controller owns the consumers (one PULL endpoint for each HTTP worker) and
// the clock; the worker is the code under test: it receives
// BatchTokenIDOutput messages on its endpoint, detokenizes, splits and sends
// BatchStrOutput messages to the consumers. What this page describes is the
// control plane, and nothing of it is sent while a controller's clock runs. The
// measured plane is between controller and worker alone: the driver never sees
// a frame of it, only rows.
//
// # Lines
//
// The driver writes JSON objects to the controller's standard input and reads
// JSON objects from its standard output, one object a line, at most MaxLine
// bytes with the line end, UTF-8, flushed after each line. Standard error is the
// controller's log. Every object has a "type", and nothing but the keys below;
// keys without "may be left out" are always there. The order is:
//
//	driver      controller
//	hello   ->
//	        <-  receipt
//	trial   ->
//	        <-  result            (any number of trials, one at a time)
//	stop    ->
//	        <-  stopped           (then the controller exits with status 0, but for
//	                              one that is used again)
//
// In place of any answer the controller may send error with a message, and then
// exits with another status than 0; the driver ends the run as invalid. A
// controller answers with error what it cannot do: another version, a transport,
// an option or a value it does not have, a work file that does not match its
// hash, a line out of order. A line that is not one of these, an answer to
// another trial, or silence beyond the driver's time-out (--timeout for a trial,
// --start-timeout until the receipt, 3 s for stop) ends the run too. A driver
// that dies closes the controller's input: without a stop before it, the end of
// input means leave at once, whatever runs; the status does not matter then.
// Worker and sockets are gone when the controller is.
//
// # Used again
//
// A controller whose start is dear may offer to be used again (receipt: again):
// with stopped its worker, its sockets and all that belongs to the hello before
// are gone, but it does not exit: it waits for another hello on the same pipes and
// answers it from fresh processes, with a receipt that offers the same. Between
// stopped and hello it says nothing. The end of its input ends it, with status 0
// after stopped. The driver may use it again, or end it, as it likes; --process
// spawn never does. Every hello names another folder.
//
// # hello
//
//	version       Version
//	transport     how opaque metadata travels in the measured plane: "msgpack"
//	              (wrapped as bytes), or the control without wrappers, "native" on
//	              Go arms and "pickle" on Python trees
//	options       the --set of this arm, strings; an unknown key is an error. An arm
//	              of several detokenizers has the options "detokenizers" and
//	              "router" of that section below
//	http_workers  number of consumers, from 1
//	consumer      "decode" or "raw"
//	consumers     where consumers run: left out for a thread of the controller, or
//	              "process" (section Consumers in processes). An arm that has no
//	              such processes must answer with error
//	pace          "arrived", "none" or "rate:R", R batches a second in its shortest
//	              decimal form, such as "rate:100"
//	loop          which loop the worker is: left out for the detokenizer's, "router"
//	              for the one before it (section Router loop)
//	dir           absolute path of a folder of this process alone, for its sockets
//	              and bulk files: the driver has made it (mode 0700, short enough
//	              for a socket's address) and removes it; the controller removes
//	              its sockets
//	wait_ms       how long after the clock's start rows of stream and fence together
//	              may take; less than the driver's own time-out
//
// # receipt
//
// It is sent when the worker is ready for batches. The driver refuses another
// version, a transport not in force, consumers other than hello's, a number of endpoints other than
// http_workers, a number of messages other than 1, an empty list of pids, and
// detokenizers or a router other than those of the options; a
// later process of the same arm must say the same but for pids and endpoints.
//
//	version          Version
//	runtime          what the worker is, "fanoutbench" or "sglang"; runtime_version
//	                 is its version
//	transports       those that this arm has; transport is the one in force
//	strategy         how batches are split, in the arm's own words
//	options          in force, with defaults written out
//	pids             the worker processes, router and every detokenizer included
//	packages         versions of the toolchain and libraries that run, by name
//	sources          [{"path", "sha256"}]: the files of its tree that were loaded,
//	                 paths relative to the tree; may be empty where binary_sha256
//	                 says what runs
//	binary_sha256    the executables that run, of controller and worker; may be
//	                 empty where sources says it
//	counters         names, each of which every result has
//	endpoints        the consumers' addresses in index order
//	router           how a detokenizer is chosen; "none" with one
//	consumers        as in hello; left out if it is left out there
//	detokenizers     how many there are; may be left out if it is one
//	again            true if the controller can be used again (section Used again);
//	                 may be left out
//	descriptive      why figures of this arm decide nothing, in a sentence: the run
//	                 then carries it as a warning; left out where they may decide
//	messages         one: {"name", "fields": [{"name", "default"}]}, the message that
//	                 consumers get, with its fields in wire order; default is a
//	                 row's value when nothing set the field. It has rids,
//	                 output_strs and whatever else of the stream's columns goes
//	                 through to a consumer: in the seed stream finished_reasons,
//	                 output_ids, the four counts of tokens, customized_info and
//	                 time_stats. check-arm names one that is missing, and a run
//	                 with such an arm carries a warning.
//
// An exec: command runs in the driver's working folder. What its frames look like
// is its own affair: the driver sees rows only.
//
// # Detokenizers
//
// A worker may be several processes: a router, which binds the arm's input, and
// detokenizers that share the rows. Option "detokenizers" is their number, 1 to
// 64, option "router" the rule by which a row goes to detokenizer
// crc32(key) mod their number (IEEE polynomial, as zlib's):
//
//	rid   the key is the row's rid: every consumer gets rows from every detokenizer
//	ipc   the key is the row's http_worker_ipc, as in SGLang: all rows of a consumer
//	      come from one detokenizer, and which one depends on the endpoint's name,
//	      so on the folder of the process
//
// The driver needs the rule: the fence has at least a row for each pair of
// detokenizer and consumer that the rule can reach, so that every way is flushed.
// Order of rows is wanted per rid, and per consumer only with one detokenizer.
// One dead process ends the trial.
//
// # Consumers in processes
//
// With consumers "process" each consumer of a builtin, dir or git arm is a process
// of its own, as each HTTP worker is. It binds its PULL, decodes on receipt (or
// counts rows, with consumer "raw") and reads the clock itself: CLOCK_MONOTONIC,
// which is one for all processes of a Linux machine; elsewhere the controller
// answers with error. After each wake-up, when it has drained its socket, it tells
// the controller over a pipe how many rows it has had, and when its first message
// and its last were decoded. With pace "arrived" the controller sends the next
// batch when it has heard of every row, so this pipe is a hop (a write in the
// consumer, a line to read, one wake-up more) in complete_ms that a thread does not
// have; compare such runs with each other only. first_ms, first_all_ms and
// spread_ms are made of the consumers' own times. Messages stay in the consumer,
// and are handed over as rows, with endpoint and position, when no clock runs: it
// then leaves its socket alone until the next trial begins. worker_cpu_ms does not
// include consumers, and pids does not name them. A consumer that dies ends the
// trial, by its number. Collection of garbage is paused in them as in the
// controller. What consumers and controller say to each other is no part of this
// protocol: both are of one executable.
//
// # Router loop
//
// With loop "router" the worker under test is the router itself, and consumer i
// is the input of detokenizer i: its message is BatchTokenIDOutput, and the
// receipt's, too. http_workers is then the number of detokenizers, and option
// "router" the rule. The driver gives every row to consumer crc32(rid) modulo
// that number; so that the rule "ipc" leads to the same one, a controller names
// its endpoints so that the crc32 of endpoint i is i modulo their number.
// Everything else is as in the other loop.
//
// # trial
//
//	id           returned in the result
//	round        from -1, the warm-up round
//	repetition   from 0; -1 is the warm-up stream of a fresh process
//	cell         {"count", "metadata"}: rows of a batch, and "plain" or "rich"
//	work         a file, {"path", "sha256", "bytes"}: a Work object
//	profile      for this module's own controller, never sent to another, and left out
//	             in every trial that counts: the files for the CPU profiles of its worker's
//	             processes (see prepare), with ".0", ".1" behind it. The stream is first
//	             replayed for some seconds. None is written if the worker, of an older
//	             revision, does not know the key
//
// The work file is made by the driver, one for both arms, and lies in a folder
// of the driver's that the controller can read:
//
//	vocabulary   {"kind", "tokens": [{"id", "bytes", "special"}]}: pieces ("bytes" is
//	             base64) joined by nothing, kind "bytes", or by single blanks, kind
//	             "words". Ids are distinct, in any order. An id outside counts as 0.
//	prompt_ids   the prompt; the ids that decoding needs are in the stream as well
//	stream       the batches to measure, at least one
//	fence        batches to play after it
//
// A batch is {"consumers", "columns"}: row i goes to consumer consumers[i], whose
// endpoint the controller puts into http_worker_ipcs[i] of the message. columns
// maps the fields of SGLang's BatchTokenIDOutput, by their names there, to a list
// with one value a row. One column differs: customized_info is an object of such
// lists, as it is in the message. A field that is absent is at its default. The
// columns that every stream has:
//
//	rids                           string
//	finished_reasons               null, or an object whose "type" is "length", "abort" or
//	                               "stop"; of type "stop", "matched" is a string or an id
//	decoded_texts                  string: text from before the first row
//	decode_ids, output_ids         list of integers; on the wire an array of int64
//	read_offsets                   how many of a first row's decode_ids are the prompt's
//	skip_special_tokens, spaces_between_special_tokens, no_stop_trim   boolean
//	prompt_tokens, reasoning_tokens, completion_tokens, cached_tokens  integer
//	customized_info, time_stats    in rich cells, the opaque columns
//
// A mixed stream may have the columns of logprobs too. Before its first trial a
// run sends a full stream, as a trial with the id "full", which has nearly every
// column of BatchTokenIDOutput. A row is judged by the fields of the receipt's
// message, so columns that it has no field for may be left alone.
//
// # What a worker makes of a batch
//
// Each row becomes a row of the message that its consumer gets. rids, the finish
// reason, output_ids, the counts, the logprobs and the metadata go through as they
// are.
// output_strs is the text that this row adds: the text of all ids that the rid has
// had so far, less what earlier rows of the rid have given. For the seed stream
// that is "a", " b", " c". A worker may hold text back, if it must (half of a
// character, what may become a stop string); the row with the finish reason gives
// the rest, and the rid's state can be forgotten with it. The concatenation must
// always be a prefix of the whole text, and be it in the end. Of a first row's
// decode_ids the first read_offsets[i] belong to the prompt: they are context for
// decoding and give no text; what is cut off for them is as many characters as
// they alone decode to. skip_special_tokens leaves special tokens out. Bytes that
// are no UTF-8 become U+FFFD as in Python's errors="replace". decoded_texts, of a
// first row, stands before the rest of the text. A matched stop string cuts the
// whole text where it first occurs, or with no_stop_trim behind that; a matched id
// is the last of decode_ids and is not decoded, or with no_stop_trim is.
// spaces_between_special_tokens changes nothing. The seed and the full stream have
// nothing to trim, and a vocabulary of words, but for the full stream before one
// whose vocabulary is of bytes: there it is of bytes, too.
//
// # Timed part
//
// The clock of a trial (monotonic) starts just before batch 0 is encoded, when
// message objects exist and no bytes do: wrapping the opaque columns is in it. It
// stops after the last row of the stream's last batch is decoded. One thread
// serves every consumer: wait, then drain each ready endpoint in index order,
// decoding each message on receipt with its opaque metadata. A message may hold
// one row or several. With pace "arrived" batch s+1 is encoded when every row of
// batch s has been decoded; with "none" as soon as batch s is sent, in another
// thread if sending can block. With "rate:R" batch s is due s/R seconds after the
// clock's start and is sent then by another thread, never earlier. One that is
// late, because a timer or the sender was, is sent at once, and those behind it
// stay due when they were: lost time is caught up, and never added to the
// schedule. Consumer "raw" reads frames and counts their rows without decoding
// them, and decodes them when no clock runs. Collect garbage before, and pause
// collection until the quiet period is over; leave the worker's collector alone.
//
// Then, untimed, the fence is sent with pace "arrived" and received the same way,
// and then the consumers are served until nothing has arrived for QuietMS
// milliseconds. If the rows of stream and fence are not all there after wait_ms,
// the fence, if it has not been sent, is left out, the trial goes on with the quiet
// period, and its result is marked stalled.
//
// # result
//
//	id        the trial's
//	metrics   milliseconds, null where the trial or the platform lacks one. The
//	          driver ends the run if complete_ms is not above 0 and at most its own
//	          clock around the trial, or another of the first four is above it:
//	  complete_ms     the clock, start to stop; a number always
//	  first_ms        start until the first message with a row of batch 0 is decoded
//	  first_all_ms    start until each consumer with a row in batch 0 has one
//	  spread_ms       between the first and the last consumer's last row of the
//	                  stream; null with fewer than two consumers in the stream
//	  worker_cpu_ms   CPU time of all worker processes, all threads, from before
//	                  batch 0 until the fence has arrived
//	counters  by name: what the worker did for the stream, the fence left out,
//	          divided by the number of the stream's batches, added up over its
//	          processes; but a router's messages, and their bytes, are not among
//	          messages and bytes, which count what consumers got
//	rows      a file: a Delivery object
//	stalled   what was missing; left out when every row came. Metrics and counters
//	          then count for nothing, but rows holds what did come, and the driver
//	          names the row that is missing.
//
// The rows file is {"rows": [{"endpoint", "position", "fields"}]}: every row that
// the consumers got since the trial began, the fence's and any surplus too.
// endpoint is the index of the consumer that received it, position its place
// among the rows of that endpoint, from 0; rows of one endpoint stand in the order
// of their positions. fields has the row's values by the names of the receipt's
// message; values at their default may be left out. The value of customized_info
// is an object with the row's own value for each key, not a list of one.
// http_worker_ipcs is null (or left out) or the consumer's endpoint.
//
// # Values
//
// Rows are plain JSON, compared as values. Bytes are {"$b64": "..."}, floats
// that JSON lacks are {"$f": "nan"}, {"$f": "inf"} and {"$f": "-inf"}, a
// MessagePack extension is {"$ext": type, "$b64": "..."}, integers beyond 2^53
// either way are strings of decimal digits. A number is compared by its numeric
// value. Key order does not count. Strings must be whole Unicode: a lone
// surrogate, or a byte that is no UTF-8, makes a line or a file invalid.
//
// In time_stats every key that ends in "_time" is a time in the shared clock
// (CLOCK_REALTIME, seconds), both in the work and in the rows delivered,
// whatever clock the messages carry; it is compared within 5e-6 s. All other
// keys are exact. A sender whose messages carry its own clock adds that clock's
// offset to them (diff_realtime_monotonic, here as in SGLang's timing objects);
// the offset is not reported in rows.
//
// # Bulk data
//
// What is too big for a line is a file, JSON, at most MaxFile bytes, given by its
// absolute path, the SHA-256 of its bytes in lower-case hexadecimal and their
// number; the reader checks both. A controller writes its files into dir and may
// write the same path again for the next trial. Only regular files (or links to
// such) are read.
//
// # Transcript
//
// The lines of a run with one trial, shortened; testdata/transcript.jsonl has
// them whole, testdata/work.json and testdata/rows.json are its bulk files, and
// a test reads and writes them again. "> " is the driver, $DIR the folder.
//
//	> {"type":"hello","version":1,"transport":"msgpack","options":{},"http_workers":2,
//	   "consumer":"decode","pace":"arrived","dir":"$DIR","wait_ms":20000}
//	< {"type":"receipt","version":1,"runtime":"fanoutbench","runtime_version":"(devel)",
//	   "transports":["msgpack","native"],"transport":"msgpack","strategy":"per-row",
//	   "options":{"zmq":"zmtp"},"pids":[4711], ...}
//	> {"type":"trial","id":"0.0.3.rich","round":0,"repetition":0,
//	   "cell":{"count":3,"metadata":"rich"},"work":{"path":"$DIR/work.json","sha256":"...","bytes":1234}}
//	< {"type":"result","id":"0.0.3.rich","metrics":{"complete_ms":1.25,"first_ms":0.5,
//	   "first_all_ms":0.6,"spread_ms":0.02,"worker_cpu_ms":0.75},
//	   "counters":{"bytes":988,"messages":3,"opaque_decodes":6, ...},
//	   "rows":{"path":"$DIR/rows.json","sha256":"...","bytes":4321}}
//	> {"type":"stop"}
//	< {"type":"stopped"}
//
// # Control pipe
//
// This module's own controller and a worker of this module, perhaps of another
// revision, speak over the worker's standard input and output in the same lines.
// An arm in another language needs nothing of this section.
//
//	controller  worker
//	configure ->
//	          <-  ready         its input endpoint is bound
//	prepare   ->
//	          <-  prepared      before every trial: counters and failures reset
//	report    ->
//	          <-  report        after its fence has arrived, or the wait for it is over
//
// In place of an answer the worker may send error; after one to configure it
// exits, after others it goes on. End of input means exit. WireVersion says that
// both mean the same by these lines and by the frames of the measured plane; a
// worker of another version is refused.
//
//	configure  wire_version; strategy; zmq, the transport engine; endpoint, its input,
//	           which it binds; send_ms, the deadline of one write to a consumer. Of a
//	           router only: router, its rule, and targets, the inputs of the
//	           detokenizers, which are bound before anything is sent. Of others:
//	           method, "bytes" for text from a buffer of bytes, which needs a
//	           vocabulary of bytes; left out for a window of ids; and delay_us, for
//	           calibrations: how long it is busy before every batch, fence included;
//	           left out for none
//	ready      wire_version; version, of the module it was built from; strategy;
//	           needs_prepared, its strategy wants the frames in prepare; packages and
//	           counters, as in the receipt
//	prepare    vocabulary, a file with the work's; it is written anew only when it
//	           changes, and a worker reads it only when its hash does; batches, how
//	           many of those that this process will get are the stream's, 0 if the
//	           router has none for it: the ones after them are the fence's; frames, a
//	           file with a Frames object: every frame that will be sent, fence
//	           included, in order, base64; left out unless ready asked for it
//	profile    absolute path of a file that is not there: from now on the worker's CPU
//	           is profiled (pprof's format) into it, until a prepare names another
//	           path or none, or the worker ends; left out in every trial that
//	           counts. Samples of the control pipe have the label plane=control
//	report     batches, of the stream, that it has handled; counters, per batch of
//	           the stream; errors, what failed since prepare, or null
//
// A worker's command with --list prints one Listing: wire_version, strategies
// (name, summary), routers, the same for the router loop, and zmq, the engines it
// has.
package protocol
