// Package zmtp is the ZeroMQ Message Transport Protocol 3.1, NULL mechanism, PUSH and PULL, as a pure
// state machine: bytes in, messages and commands out. No I/O, no clock, no goroutine.
//
// Sources: ZeroMQ RFC 23 (ZMTP 3.0) and RFC 37 (ZMTP 3.1); where they leave a choice, what libzmq 4.3 does.
//
// # Bytes
//
// All integers are big endian. A connection begins, in both directions and without waiting, with
//
//	greeting  64 B: ff, 8 B padding, 7f, major 03, minor, mechanism (20 B, "NULL" and zeros), as-server 0, 31 B filler
//	READY     a command with the property Socket-Type
//
// and goes on with frames:
//
//	frame     flags, size (1 B, or 8 B if flags has 02), body
//	flags     01 more frames follow, 02 long size, 04 command; others are reserved and must be 0
//	command   body: name length (1 B), name, data
//	READY     data: properties, each name length (1 B), name, value length (4 B), value; names in any case
//	ERROR     data: reason length (1 B), reason
//	PING      data: time to live in tenths of a second (2 B), context of at most 16 B
//	PONG      data: the context
//
// A peer's minor version is not looked at: 3.0 differs in subscriptions, which PUSH and PULL have not.
// A PING's time to live is not kept: the end of a unix socket's peer is seen without it. A longer
// context is cut to 16 B in the answer, as libzmq does. Unknown commands are passed over.
//
// # Errors
//
// Every breach is an error that names the value and what was expected, given as early as the bytes
// allow (an HTTP client errs on its first byte, a frame that is too large on its header). After one,
// Next repeats it. A message frame's body may have Stream.MaxFrame bytes, a command's MaxCommand.
//
// # Tried and dropped
//
//   - A copy of each message: an allocation and a memcpy each. Bodies are slices of the read buffer.
//   - A buffer of the size that a header claims: nine bytes would allocate 64 MiB. It doubles when the
//     bytes that came have filled it.
//   - A ring: a frame across its edge must be copied anyway, and read needs two vectors.
package zmtp
