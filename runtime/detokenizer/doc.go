// Package detokenizer turns the token ids of streaming rows into the text that
// each row adds, as a pure state machine: by SGLang's incremental offset method
// ([New]), or by a buffer of bytes for vocabularies of bytes ([NewMethod] with
// [MethodBytes]). It holds no clock, no I/O and no goroutine; one goroutine at a
// time may use it.
//
// Both methods give the same text of a request in the end, which is that of all
// its ids decoded at once, and after each row a prefix of it: no U+FFFD for half
// a character that a later row completes. They differ in when text comes. The
// flags of a request (SkipSpecial, SpacesBetween) are the same in all its rows.
//
// # The offset method
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
// # The byte buffer
//
// With a vocabulary of bytes there is nothing to decode twice. A row's bytes go
// behind at most three that are held back; all that is whole is emitted; bytes
// at the end that may begin a character are held. Bytes that are no UTF-8 become
// U+FFFD at once, one for each maximal part (package tokenizer); those still held
// when the request finishes, one U+FFFD. The end of the prompt is only looked at
// for the bytes of half a character: they and what completes them are one
// character, which is the prompt's and left out, as the offset method counts it.
// This method waits for no blank, so its text is never behind the offset
// method's. Its work is proportional to ids and text.
//
// # Trimming
//
// A stop string cuts the whole text at its first occurrence; with NoStopTrim the
// stop string stays and what follows it goes. A stop token is the last id of the
// row that finishes, which is not decoded; with NoStopTrim it is. Text that was
// emitted before cannot be taken back, so it is for the scheduler to withhold a
// row while its text may begin a stop string. It has to judge the text without
// an unfinished character at its end: with "x" and half an "é" decoded, and "xé"
// for a stop string, the "x" would go out.
//
// # The work of the offset method
//
// SGLang's window does not move while its new ids have no text, or text that
// ends in U+FFFD, and every row decodes the whole window again: quadratic in
// such a tail (SGLang's issues 8031 and 34740). Here a window keeps at most 32
// ids of each kind from one row to the next:
//
//   - Ids without text leave it, where they are all there is behind the
//     surrounding ones, and otherwise when there are more than 32 new ids.
//   - If there still are more than 32 new ones, the text of all but the last
//     three is committed and emitted, though the text as a whole ends in
//     U+FFFD; the three before the cut become the surrounding ones.
//   - Of more than 32 surrounding ids the last three that have text stay.
//
// So a row decodes its own ids and a bounded number of others, however long the
// tail. The last rule changes no text, the first
// none either; the second lets text come earlier than SGLang's, and only in the
// rows from such a commit to the next regular one.
//
// The text in the end is SGLang's as long as two things hold of the Decoder. An
// id whose text is empty when it stands twice adds nothing to any other text.
// And what is in front of three ids that have text changes nothing behind them,
// nor what is behind them anything in front, but in how many characters there
// are on the cut itself. Both hold of [tokenizer.Bytes], where each of the three
// has a byte and an unfinished character at most three, and of
// [tokenizer.WordLevel], where an id has a say only in the blank behind it. They
// do not hold of a decoder that makes U+FFFD of every byte of a run of byte
// tokens when the run as a whole is no UTF-8, as the ByteFallback decoder of the
// tokenizers library does: of a run of more than 32, this method can give
// characters where SGLang, deciding later, gives U+FFFD.
//
// # Where this differs from SGLang
//
//   - Sent characters of the pending part never become fewer. SGLang sets the
//     count to the printable part's length of the last row, which can shrink
//     ("中中" is printable before an incomplete character, "中中é" before one is
//     not), and then sends characters twice.
//   - Ids that are committed leave the window at once, instead of staying behind
//     an offset: memory of a state is the window and the text.
//   - Long tails without whole text are committed early, as above.
//   - A row that finishes without ids has no stop token to drop; SGLang would drop
//     the last id of an earlier row, whose text may be out already.
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
// NewMethod names a method that is not known, and a decoder that is none of
// bytes. Append returns an [*EvictedError], or an error that names rid and read offset
// when a first row's offset is not within its ids. A failed row changes no
// state but the tombstone that its finish removes.
//
// # Memory
//
// A state's struct and buffers, its copy of the rid among them, come from a free
// list, so once warm a row allocates nothing. Buffers that grew beyond 64 KiB
// are left to the collector when their state ends. A Row's slices and strings
// may point into a receive buffer: Append copies what it keeps.
//
// # Designs dropped
//
// Moving the offsets on over ids without text, as on others: the next word would
// lose its blank, as the words before are gone from the window. A look-up of ids
// without text in the Decoder: one more method for every decoder, for what
// decoding an id twice over tells. A byte buffer that keeps the ids of held
// bytes, to take back a stop token that came with an earlier row: schedulers
// send it with the row that finishes.
package detokenizer
