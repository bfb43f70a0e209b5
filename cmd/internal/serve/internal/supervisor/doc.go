// Package supervisor starts the parts of a server, watches them and ends them.
//
// # Where it lies
//
// With the program, not with the runtime: package process of the harness has
// what children need (the signal that a parent's death sends, process groups, the
// end of input, the last lines of a log), and runtime/ may not import it. What the
// parts themselves are is given as a table, so nothing here knows any of them.
//
// # A part as a process
//
// A child is this program under a hidden command. They speak in lines of JSON
// (package protocol), the child's log is its standard error:
//
//	in   {"type":"job","id":{"kind":"worker","index":0},"args":{...},"api_key":"","folder":"/tmp/...","listener":true}
//	out  {"type":"ready"}
//	out  {"type":"signal","name":"terminated"}      it got SIGTERM or SIGINT itself, and goes on
//	in   {"type":"drain"}                           part.Env.Ending
//	out  {"type":"drained"}
//	in   {"type":"end","reason":""}                 the context ends; with a reason: the server has failed
//	out  {"type":"error","message":"..."}           the part has failed; it exits with status 1
//
// A worker's listener is descriptor 3. The end of the child's input without a line
// "end" says that the supervisor is gone: the part fails, and what is left of the
// folder is removed by each child that ends so, hence by the last. On Linux the
// kernel sends SIGTERM as well, which matters to a child that has not come so far
// as to read its input.
//
// A child runs on the machine's processors divided by how many children of its kind there are, and on one
// at least; a router on one, the scheduler on all. GOMAXPROCS in the environment is obeyed instead.
//
// With Args.InProcess the same parts run as goroutines of this process, over the
// same sockets.
//
// # The end
//
// A part that ends without having been told to takes the server down: the others
// are told at once, and workers answer their clients with an error. When the
// server is asked to end, requests have Args.ShutdownTimeout to finish; then the
// parts end along the way of the rows (package part), and the ledger is read. Rows
// that are neither delivered nor dropped for a reason, or that came twice, are an
// error: they are the fault that this project is there to find.
//
// # The log
//
// All parts' lines go through the supervisor, and whoever reads its log may stand
// still: a paused terminal, a pipe that nobody empties. Nobody waits for that: what
// does not fit into spoolLimit is left out, and the log says how much when it is
// read again. A log whose end could not be written makes the status 1.
//
// # The port
//
// Each worker has a listener of its own on the one port (SO_REUSEPORT), and the
// kernel spreads connections over them. SO_REUSEPORT would also let a second
// server of the same user share the port unnoticed, so the port is bound once
// without it first, and programs that do so take turns (a lock on the folder for
// temporary files).
//
// # Designs dropped
//
// One listener handed to all workers: they would all wake for each connection.
// Parts that watch their parent's process id: a poll, and wrong where ids are
// reused. A lock on the private folder itself: transport takes it to bind.
// Restarting a part: its requests are lost whatever follows, and a server that
// is missing half of them looks healthy (sglang#10121).
package supervisor
