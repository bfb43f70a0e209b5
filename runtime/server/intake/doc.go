// Package intake is the receiving side of the parts that pass messages on: the
// router, the detokenizers and the router in front of them. [Serve] hands a PULL's
// messages to a [Handler] in bursts, [Is] tells a message's class from its first
// bytes, and [Faults] logs what is wrong with single messages without filling the
// log.
//
// # Bursts
//
// A burst is what the socket holds when the first message has been received, at
// most [MaxBurst] messages. Frame is called for each, in the order of arrival,
// then Flush once. So what a handler queues is written with few system calls
// when much arrives, and at once when little does; and under a stream that never
// pauses the end of the context is still seen.
//
// # Errors
//
// A peer that the PULL dropped (a transport.PeerError) goes to Peer: the other
// peers' messages go on. Any other error of the PULL, and whatever Frame and
// Flush return, ends Serve. Once the context has ended it returns nil, whatever
// failed: parts end in any order, and one that has left breaks the connections
// of those that are about to.
//
// # Designs dropped
//
// A goroutine that receives and a channel of messages: a copy and a wake-up each.
// Cancelling a Recv to see whether a connection has been made meanwhile: the
// engine zmq4 may lose the message that comes just then; a handler that needs a
// connection waits for it in Frame.
package intake
