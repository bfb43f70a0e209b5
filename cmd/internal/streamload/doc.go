// Streamload holds many streams of /generate open at once, checks every
// byte of them, and says what the server's processes used meanwhile.
//
// It is a closed loop: each of Streams connections asks for a stream of Tokens
// tokens, reads it to its end and asks for the next, until the time is over. That
// loads a path; it does not measure what a user waits for (a closed loop asks
// less of a slow server).
//
// # What is checked
//
// The server must stream new text only (--incremental-streaming-output). Each
// request has a sampling seed, and there are as many seeds as connections. Of each
// stream: output_ids of all events together are Tokens many, completion_tokens is
// their number so far in every event, the finish reason is length and comes once,
// and the text of all events together is the text of a unary request with the same
// seed, asked for when the load is over. An error names the seed and what differs.
//
// # Figures
//
// An event may hold more than one row where the server merged them for a slow
// reader, so rows are counted from the server's own counters, by the caller. Gaps
// are the times between two events of a stream as the client reads them; of them
// and of the times to the first event come the nearest-rank percentiles.
//
// The client reads its sockets itself and parses the two numbers and the text that
// it needs: net/http's client and a whole JSON parse would cost more than the
// server. A test compares its parser with encoding/json. It runs on half of the machine's
// processors, unless GOMAXPROCS says on how many.
package main
