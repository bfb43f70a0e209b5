// Package part says what the parts of a server have in common, whether each is a
// process or a goroutine: what a part is given, and what it owes.
//
// # Parts and their sockets
//
//	worker-0..N-1          HTTP; binds a PULL for rows and answers; PUSH to router-input
//	router                 binds router-input and router-answers; PUSH to the scheduler and to workers
//	scheduler              binds scheduler; PUSH to the detokenizer side and to router-answers
//	detokenizer-router     with M > 1 only; binds detokenizer-router; PUSH to each detokenizer
//	detokenizer-0..M-1     binds a PULL; PUSH to the workers that http_worker_ipcs name
//
// A request goes worker, router, scheduler; its rows scheduler, (detokenizer
// router,) detokenizer, worker. Answers (aborts, flush, state) go scheduler,
// router, worker. Every arrow is one PUSH/PULL pair over ipc:// in one private
// folder.
//
// A worker registers first: it sends the router a TokenizerWorkerRegistrationReq
// with its socket's name, and when it gets the frame back it is ready, as the
// way of the answers works. Answers for a worker that has not are dropped.
//
// # How a server starts
//
// A part that is ready says nothing of the others: while the scheduler loads its
// model the workers have long registered. So a worker refuses its clients until the
// supervisor has all parts' Ready, and an answer to its own first request. It learns
// that by a file in the folder ([Reached]), not by a word to each worker: that comes
// to one after the other, and clients, whom the kernel spreads over the workers,
// would be told by one that the server serves and then by another that it starts.
//
// # What a part owes
//
// It binds its PULLs first and receives on them while it connects, or two parts
// that connect to each other would wait for ever (see package transport, "Who
// drives what"). It calls Ready once, when it can serve. It returns nil only
// after its context has ended, and an error for everything else: any part's error
// ends the server. It closes its sockets before it returns. It counts every row
// that it drops, by reason.
//
// # How a server ends
//
// With an error: the context of every part is cancelled at once, its cause a
// [*Failure]; workers answer each client that waits with the reason.
//
// When it is asked to: Ending is closed. A worker takes nothing new, finishes what
// it has, calls Drained and goes on receiving rows. Then the contexts end with the
// cause [ErrEnd], along the way of the rows: the router's, the scheduler's; when
// no row is in flight the detokenizers', at last the workers'. A part that ends so
// has sent all it took before it returns.
package part

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// Kinds of parts.
const (
	Worker            = "worker"
	Router            = "router"
	Scheduler         = "scheduler"
	DetokenizerRouter = "detokenizer-router"
	Detokenizer       = "detokenizer"
)

// Sockets that are there once; those of workers and detokenizers have a number.
const (
	RouterInput   = "router-input"
	RouterAnswers = "router-answers"
)

// ID names a part.
type ID struct {
	Kind  string `json:"kind"`
	Index int    `json:"index"` // of workers and detokenizers
}

// Numbered says whether there may be several parts of the kind.
func (id ID) Numbered() bool { return id.Kind == Worker || id.Kind == Detokenizer }

func (id ID) String() string {
	if !id.Numbered() {
		return id.Kind
	}
	return id.Kind + "-" + strconv.Itoa(id.Index)
}

// Env is what a part is given.
type Env struct {
	ID       ID
	Args     args.Args
	Folder   string          // private to the server
	Listener net.Listener    // a worker's, on the server's port; the part closes it
	Log      *slog.Logger    // names the part
	Ready    func()          // to be called once
	Ending   <-chan struct{} // closed when the server is to end: a worker finishes what it has, takes nothing new
	Drained  func()          // a worker calls it once after Ending was closed, when no client of its own waits
}

// ErrEnd is the cause of a context that ends because the server was asked to end.
var ErrEnd = errors.New("the server was asked to end")

// Failure is the cause of a context that ends because the server has failed, or
// was given no more time.
type Failure struct{ Reason string }

func (f *Failure) Error() string { return f.Reason }

// Run is a part's life.
type Run func(ctx context.Context, e Env) error

// Endpoint of a socket: one of the names above, or a part's own, "worker-0".
func (e Env) Endpoint(name string) string { return Endpoint(e.Folder, name) }

// Endpoint of a socket in a server's folder.
func Endpoint(folder, name string) string { return "ipc://" + filepath.Join(folder, name) }

// CountersPath is where a part's counters lie.
func CountersPath(folder string, id ID) string {
	return filepath.Join(folder, id.String()+".counters")
}

// All lists the parts of a server in the order in which they start.
func All(a args.Args) []ID {
	var all []ID
	for i := range a.DetokenizerWorkerNum {
		all = append(all, ID{Detokenizer, i})
	}
	if a.DetokenizerWorkerNum > 1 {
		all = append(all, ID{Kind: DetokenizerRouter})
	}
	all = append(all, ID{Kind: Scheduler}, ID{Kind: Router})
	for i := range a.TokenizerWorkerNum {
		all = append(all, ID{Worker, i})
	}
	return all
}
