// Package servearm finds, starts and ends the servers that are measured.
//
// # Specs
//
//	builtin:individual          this program's own server; items are sent one by one
//	builtin:batch               the same; the items of a request are sent as one message
//	builtin:batch@max-tokens=N  cut into messages of so many tokens, between items
//	builtin:batch@max-reqs=N    cut into messages of so many items
//	dir:PATH, git:REV           fanoutserve of this module, built from a folder or a revision
//	launch:COMMAND              any server, by the shell; {port} stands for a free port
//	url:http://HOST:PORT        a server that runs; it is neither started nor ended
//
// Behind @ stand further options, NAME=VALUE or NAME, with commas between: flags of
// fanoutserve without their dashes (builtin:individual@device=sim,sim-step-base=0.02).
// dir and git arms take them too, and mode=individual, batch (the default) or plain
// (no flag: SGLang's rule of when items go together). launch and url arms have none.
//
// # A server's life
//
// A server leads a process group of its own, and gets SIGTERM if this program dies.
// What it writes goes to the log that Start is given. fanoutserve chooses its port
// and its log says which; for {port} a free one is chosen, which another process
// could take before the server does: the server says so then. A server is ready
// when GET /health answers 200, one of this module also when its log says that its
// own first request is done. A server that ends before, or is not ready in time, is
// an error with the last lines of its log.
//
// Stop sends SIGTERM and, after a time, SIGKILL. A server of this module must exit
// with status 0: anything else says that it lost rows or cut requests off. Of
// others the signals' own endings are fine as well (many Python servers kill
// themselves). A server that ended before it was told to is an error whatever its
// status.
//
// # Errors
//
// A *SpecError is a spec that cannot be run, and what is wrong with it; options of
// servers of this module are given to their own command line (--help behind them),
// so that a mistake is found before anything runs.
package servearm
