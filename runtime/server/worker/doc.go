// Package worker is the part of a server that speaks HTTP: a manager.Manager with
// its sockets, and package api before it.
//
// # Life
//
//  1. It binds its PULL, worker-i, connects to router-input and serves HTTP,
//     answering that it starts.
//  2. It registers with the router, which connects to the PULL and sends the
//     registration back: then the way from here to the scheduler and back is
//     whole, and the part is ready. Clients are told that the server starts until
//     all of its parts are (package part, "How a server starts").
//  3. When Env.Ending closes it takes no new connection and finishes what it has.
//     A connection that is kept is told 503. When the last answer has been
//     written and the scheduler has said its last word on every request, also on
//     those whose clients left, it calls Env.Drained, and goes on receiving rows.
//  4. When its context ends, every client that still waits gets an error with the
//     cause, at once (vllm#39863). Those that do not read it have a second.
//
// A fault of the sockets, of a row that cannot be read or of the listener is an
// error of the part; its clients get it too.
//
// # Clients
//
// A worker accepts only as many connections as leave the process the descriptors
// that its parts need among themselves; further clients wait in the kernel until
// one leaves or is cut off for saying nothing.
//
// # Designs dropped
//
// Serving HTTP only when registered: a probe would be refused and not told that
// the server starts. The server's own time-out for requests here as well: the
// supervisor's comes as the end of the context, with the reason.
package worker
