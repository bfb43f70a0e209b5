// Package relay is the router (SGLang's MultiTokenizerRouter): it passes what
// the HTTP workers send on to the scheduler, and the scheduler's answers back to
// the worker that asked. Rows do not come through here: they go from the
// detokenizers to the workers.
//
// # Two pumps
//
// Each direction is one goroutine with a PULL of its own, and neither waits for
// the other: a scheduler that takes nothing, in a long step say, keeps no answer
// from its worker, and a worker that takes nothing no request from the scheduler.
//
//	requests   router-input to the scheduler; frames are not parsed, but for registrations
//	answers    router-answers to the worker that http_worker_ipc names
//
// Frames go on as they came, in the order of arrival, so a worker's in the order
// in which it sent them. The requests' PULL receives while the scheduler is being
// connected to; the first frame for it then waits for that.
//
// # Registration
//
// A worker's TokenizerWorkerRegistrationReq goes no further. The router connects
// to worker_ipc_name and sends the frame back over that connection. A worker that
// has it knows that both ways work: what the scheduler answers from then on
// reaches it. No answer overtakes it. A second registration of the same name
// makes a new connection in place of the old one. Connecting is a goroutine of
// its own, so that a worker that does not receive keeps nobody waiting.
//
// # Answers without a way
//
// Only registered workers are known: nobody is dialled because an answer names
// it. An answer for another name, or one that cannot be read, is logged, counted
// and dropped, and so are those for a worker whose connection broke. An AbortReq
// with abort_all and no http_worker_ipc goes to every worker. Any other answer
// without one is for nobody.
//
// # Errors
//
// A connection to the scheduler that cannot be made or breaks ends the router:
// there is nothing left to do for it. So does a PULL that fails. Everything
// about single frames, single workers or peers that break the transport's rules
// is logged (see intake.Faults) and counted.
//
// # Counters
//
// See specs. answers_forwarded are written to the kernel; of a connection that
// broke, all that were queued since its last flush count as dropped.
//
// # Designs dropped
//
// Dialling a worker on its first answer, as SGLang does: a name out of a bad
// frame would cost the time-out of a dial, in which no worker gets an answer.
// One goroutine with a poller over both PULLs: a Send that waits for room would
// stop both directions. A queue and a goroutine for each worker: a worker always
// receives, into memory that its manager bounds; one that does not is hung, and
// after workerTimeout its answers are dropped.
package relay
