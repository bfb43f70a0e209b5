// Package transport carries whole messages from pushers to one puller over ipc:// endpoints:
// the small PUSH/PULL interface of the runtime, a poller over several pullers, and a registry of
// engines. The engine "zmtp" is our own ZMTP 3.1 over unix sockets, wire compatible with libzmq;
// its bytes are described and parsed in the package zmtp below this one, which does no I/O.
//
// # Shapes and units
//
// A message is one frame of 0 to Options.MaxFrame bytes. Multipart messages are not carried: a
// peer that sends one is dropped with an error. Lengths are bytes, times are time.Duration.
// A Push talks to exactly one Pull; a Pull takes any number of Pushes. The messages of one Push
// arrive in the order sent, none twice, none torn; between Pushes there is no order, and each gets
// its turn after at most one read of another.
//
// # Who drives what
//
// There is no goroutine in here. A Pull works only inside Recv and TryRecv: there it accepts,
// shakes hands, reads, and answers PING. So while a peer is in Connect, something must call Recv or
// TryRecv on the Pull (a loop around Poller.Wait will do), or Connect runs into its DialTimeout.
// Poller.Wait itself reads nothing: a slice from a Pull stays valid across it.
// A Push, a Pull and a Poller are each for one goroutine at a time, Close included; to end a Recv or
// Wait from elsewhere, cancel its context. Waiting is poll(2): a context that can be cancelled is
// joined to it through a pipe, made once; one that cannot costs nothing.
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
// before Close.
//
// # Errors
//
//   - ErrEmpty: TryRecv, and the kernel holds nothing more right now (poll(2) was asked).
//   - ErrBroken: the Push is poisoned; errors.Is also finds the cause (os.ErrDeadlineExceeded, EPIPE, ECONNRESET).
//   - ErrClosed: used after Close.
//   - ErrLive: Bind, and somebody listens at the endpoint.
//   - *PeerError: Recv or TryRecv dropped one peer (garbage greeting, silent, oversized frame,
//     multipart, half a frame and then the end). Said once; the Pull and its other peers go on.
//     A peer that leaves between two messages is no error.
//   - Everything else names the endpoint and the operation; the Pull or Push is of no more use.
//
// # Socket files
//
// Bind makes the file and Close unlinks it, if it still is the same file (device and inode; the open
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
// # Tried and dropped
//
//   - net.UnixConn with deadlines: 'empty' cannot be told from 'not yet polled' without going below it,
//     and several of them need a goroutine each. Between two goroutines of one process it is faster, as
//     the reader needs no thread of its own: BenchmarkBurstOneProcess gives 1.4 to 2.0 of a raw socket of
//     package net on two cores, where BenchmarkBurst, with the reader in another process, gives 0.9 to 1.2.
//   - A goroutine per connection feeding a channel: a copy and a wake-up per message.
//   - A poll for writing while sending a PING's answer in the middle of a blocked burst: it would tear a
//     frame. Answers wait for the next frame boundary.
//   - One write per message: about twice the time of one write per burst (310 messages).
//   - github.com/go-zeromq/zmq4 as the default: 4 to 27 times the time of a raw socket by message size, and
//     a Send that timed out may still deliver later.
//   - Closing the Pull's silent peers from a timer: it would need a lock around the buffers; the
//     deadline is part of the time-out of poll(2) instead.
package transport
