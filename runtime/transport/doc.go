// Package transport carries whole messages from pushers to one puller over ipc:// endpoints:
// the small PUSH/PULL interface of the runtime, a poller over several pullers, a count of what a broken
// connection may have lost, and a registry of engines. The engine "zmtp" is our own ZMTP 3.1 over unix
// sockets, wire compatible with libzmq; its bytes are described and parsed in the package zmtp below this
// one, which does no I/O. The engine "zmq4" is github.com/go-zeromq/zmq4 behind guards: it is here to be
// measured against. What is said below without a name is said of zmtp; where zmq4 differs stands in its
// own section.
//
// # Shapes and units
//
// A message is one frame of 0 to Options.MaxFrame bytes. Multipart messages are not carried: a
// peer that sends one is dropped with an error. Lengths are bytes, times are time.Duration.
// A Push talks to exactly one Pull; a Pull that binds takes any number of Pushes. Either side may bind:
// Connect and Bind are the usual way round, BindPush and ConnectPull the other. The messages of one Push
// arrive in the order sent, none twice, none torn; between Pushes there is no order, and each gets
// its turn after at most one read of another.
//
// # Who drives what
//
// There is no goroutine in this engine. A Pull works only inside Recv and TryRecv: there it accepts,
// shakes hands, reads, and answers PING. So while a peer is in Connect, something must call Recv or
// TryRecv on the Pull (a loop around Poller.Wait will do), or Connect runs into its DialTimeout.
// BindPush and ConnectPull drive themselves until their handshake is over; a bound Push turns further
// clients away when it writes.
// Poller.Wait itself reads nothing: a slice from a Pull stays valid across it.
// A Push, a Pull and a Poller are each for one goroutine at a time, Close included; to end a Recv or
// Wait from elsewhere, cancel its context, which is joined to the wait through a pipe, made once; a context
// that cannot be cancelled costs nothing. Recv waits as other Go code does, with its goroutine parked in Go's
// poller (on Linux, through an epoll descriptor of its own, made by the first Recv that has to wait; elsewhere in
// poll(2)), Poller.Wait and whoever connects in poll(2).
//
// # Sending
//
// Send copies into a queue of Options.Burst bytes and writes when that many are due; a body of
// 16 KiB or more that does not fit the queue's rest goes out with the queue in one writev. Flush
// returning nil means that the kernel has every byte: on a unix socket the reader can read them from
// that moment. When the kernel takes no more, Send and Flush block for up to Options.SendTimeout.
// After a write that failed or timed out nothing is ever sent again (the stream may end in half a
// frame): this and each later call return an error that is ErrBroken and the first cause.
// A nil Flush does not say that the reader has read: who must know that needs an answer from it
// before Close: Counted.Close says when that was forgotten.
//
// # A connection that broke
//
// Nothing reconnects by itself. Counted numbers the messages that a Push accepts, from 1; its caller
// hands it the other side's acknowledgements, which come over the control plane; Reconnect makes a new
// connection and gives the range accepted and not acknowledged. That is an upper bound of what is lost:
// nothing outside of it is lost or doubled, as nothing is sent twice. A frame whose Send failed was not
// accepted and cannot arrive, as its end was never written. No number is put into a message: they are
// the caller's, and the other side counts.
//
// # Errors
//
//   - ErrEmpty: TryRecv, and the kernel holds nothing more right now (poll(2) was asked).
//   - ErrBroken: the Push is poisoned; errors.Is also finds the cause (os.ErrDeadlineExceeded, EPIPE, ECONNRESET).
//   - ErrClosed: used after Close.
//   - ErrLive: Bind or BindPush, and somebody listens at the endpoint.
//   - io.EOF: the Push that a Pull of ConnectPull had has left, and its messages are received.
//   - *UnackedError: Counted.Close with messages not acknowledged.
//   - *PeerError: Recv or TryRecv dropped one peer (garbage greeting, silent, oversized frame,
//     multipart, half a frame and then the end). Said once; the Pull and its other peers go on.
//     A peer that leaves between two messages is no error. BindPush drops clients in the same way while it
//     waits for a Pull, and names the reason of the last one if none comes.
//   - Everything else names the endpoint and the operation; the Pull or Push is of no more use.
//
// # Socket files
//
// Bind or BindPush makes the file and Close unlinks it, if it still is the same file (device and inode; the open
// listener keeps the inode from being used again). A file that refuses a probe connection is stale
// and taken over; one that accepts it gives ErrLive; anything that is no socket is left alone. Probe,
// unlink, bind and listen happen under flock(2) on the folder, or two binders could each find the
// other's half-made socket stale.
//
// # Memory
//
// The number of a Pull's peers is not bounded; who may connect is a matter of the folder's mode.
// A connection has one read buffer of 256 KiB. It grows for a larger frame by doubling, only when
// the bytes that came have filled it, whatever the frame's header claims, and keeps its size. Messages
// are slices of it; neither side allocates per message once its buffers have grown.
//
// # The engine zmq4
//
// The library opens no socket itself: it gets plain *net.UnixConn from a transport of ours, so that dials,
// handshakes, socket files and Close are as described above, and its data path is its own. One Push has
// one Pull (with two the library sends everything to both); SendMulti (Send can tear the stream); the
// library's time-out far away and a write deadline on the connection instead (after its time-out a Send
// goes on in an abandoned goroutine); any error poisons the Push (after the first one the library's Send
// returns nil into nothing); Recv in a goroutine of its own, which hands over one message at a time (a
// cancelled Recv can lose one); Close empties the library's queue, or its goroutines would wait for ever.
// A receiver reads ahead: about a dozen messages, whatever their size, and one for each peer.
// A Pull needs no driving while a peer connects. A message costs allocations on both sides.
// PeerError.Peer is 0 but for handshakes, and the peer of a bad message stays. A client that leaves in
// the middle of its greeting may be passed over.
//
// What it cannot hold; the conformance suite shows each, and holds both engines to everything else:
//
//	clause                                     | engine | what it does instead
//	a silent client keeps nobody waiting       | zmq4   | the others wait up to HandshakeTimeout: one handshake after the other
//	a torn frame is told of                    | zmq4   | not one that is torn right behind its header: a clean end to the library
//	a multipart message drops its peer         | zmq4   | it is told of and left out, and the peer stays
//	a malformed READY drops its peer           | zmq4   | a panic in the library's goroutine ends the process
//	a frame above MaxFrame drops its peer      | zmq4   | memory of the announced size is taken; a panic if there cannot be so much
//	a Pull answers PING                        | zmq4   | no answer: libzmq with heartbeats drops the connection
//	a Push answers PING                        | zmq4   | no answer: libzmq with heartbeats drops the connection
//	ErrEmpty after a Flush is true             | zmq4   | ErrEmpty until the library's goroutine has read: ask again after a quiet period
//	Flush tells that the Pull has gone         | zmq4   | the next Send does
//
// # Tried and dropped
//
//   - net.UnixConn with deadlines: 'empty' cannot be told from 'not yet polled' without going below it,
//     and several of them need a goroutine each. Between two goroutines of one process it is faster, as
//     the reader needs no thread of its own: BenchmarkBurstOneProcess gives 1.4 to 2.0 of a raw socket of
//     package net on two cores, where BenchmarkBurst, with the reader in another process, gives 0.9 to 1.2.
//   - A goroutine per connection feeding a channel: a copy and a wake-up per message.
//   - Recv in poll(2): a thread that waits there keeps its processor of Go's scheduler for 10 ms, and meanwhile the
//     monitor thread wakes up every 20 us and more to see to it, which a worker that gets a batch every few
//     milliseconds pays for in CPU time.
//   - A poll for writing while sending a PING's answer in the middle of a blocked burst: it would tear a
//     frame. Answers wait for the next frame boundary.
//   - One write per message: about twice the time of one write per burst (310 messages).
//   - github.com/go-zeromq/zmq4 as the default: 4 to 27 times the time of a raw socket by message size, and
//     a Send that timed out may still deliver later.
//   - zmq4 with its own transport: an accept loop that a silent client stops for good, a Dial without an end,
//     a stale socket file in the way, connections left open when a handshake failed.
//   - A bound Push that accepts in Send: messages would queue up for a Pull that never comes, and the caller
//     would not know. BindPush waits for it, as Connect does.
//   - A Reconnect that sends the range again: some of it has arrived, and would arrive twice.
//   - Closing the Pull's silent peers from a timer: it would need a lock around the buffers; the
//     deadline is part of the time-out of poll(2) instead.
package transport
