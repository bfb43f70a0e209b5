// Package detokenizer turns the token ids of streaming rows into the text that
// each row adds: SGLang's incremental offset method as a pure state machine. It
// holds no clock, no I/O and no goroutine; one goroutine at a time may use it.
//
// # The method
//
// A token's text depends on the tokens before it (a blank, half a character),
// so a row's ids cannot be decoded alone, and decoding all ids of a request at
// every row is quadratic. SGLang (detokenizer_manager.py) keeps a window of ids
// for each rid. Up to the read offset lie the surrounding ids, whose text is
// known; behind it the ids that are new:
//
//	read = decode(window)           all ids of the window
//	surr = decode(window[:readOff]) the surrounding ones
//	new  = read without as many characters as surr has
//
// What happens then:
//
//   - The row finishes: everything not sent yet is emitted, the matched stop is
//     trimmed, the state is removed.
//   - new is not empty and does not end in U+FFFD: it is committed and emitted,
//     the new ids become the surrounding ones, the old surrounding ones go.
//   - Otherwise the window stays, and only the printable part of new is emitted:
//     all of it when it ends in a line feed or a CJK character, all but the last
//     character when the second last is CJK, else up to and with the last blank.
//     What was emitted this way is counted in characters and left out later.
//
// The cut after surr is by code points and not by bytes: three bytes of U+FFFD
// at the end of surr may be two of "é" in read, one character both times.
//
// The first row of a rid starts its state: ids (up to five of them the end of
// the prompt), the read offset behind the prompt's ids, and text decoded
// before, which counts as committed and is emitted with the first row. Later
// rows bring only ids, offsets and text of theirs are not read.
//
// # Trimming
//
// A stop string cuts the whole text at its first occurrence; with NoStopTrim the
// stop string stays and what follows it goes. A stop token is the last id, which
// is not decoded; with NoStopTrim it is. Text that was emitted before cannot be
// taken back: the scheduler holds rows whose tail may begin a stop string.
//
// # Where this differs from SGLang
//
//   - Sent characters of the pending part never become fewer. SGLang sets the
//     count to the printable part's length of the last row, which can shrink
//     ("中中" is printable before an incomplete character, "中中é" before one is
//     not), and then sends characters twice.
//   - Ids that are committed leave the window at once, instead of staying behind
//     an offset: memory of a state is the window and the text.
//
// Two traps of the method are as in SGLang, neither better nor worse: tokens
// that decode to nothing never move the window, and neither does an endless
// tail of bytes that complete no character. Each row then decodes the window
// again, which is quadratic in such a tail's length.
//
// # Eviction
//
// At Capacity states the oldest, by its first row, makes room. SGLang's server
// dies of the next row of an evicted rid; here that row fails alone with an
// [*EvictedError], and so does every later row of the rid, until its finish row
// has failed too. The rids are remembered in as many tombstones as there may be
// states; when those run out the oldest is forgotten, and a further row of its
// rid would be taken for the first of a new request.
//
// # Errors
//
// Append returns an [*EvictedError], or an error that names rid and read offset
// when a first row's offset is not within its ids. A failed row changes no
// state but the tombstone that its finish removes.
//
// # Memory
//
// A state's struct and buffers, its copy of the rid among them, come from a free
// list, so once warm a row allocates nothing. Buffers that grew beyond 64 KiB
// are left to the collector when their state ends. A Row's slices and strings
// may point into a receive buffer: Append copies what it keeps.
package detokenizer
