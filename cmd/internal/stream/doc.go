// Package stream makes the streams of trials as data. A stream is a pure
// function of the plan's seed and of the place of its trial in the run, so both
// arms get the same bytes, and nobody who has the plan needs the data.
//
// The seed stream is the published fixture: three steps of one token a row,
// words "a", "b", "c" joined by blanks, row i to consumer i mod N, length as the
// finish reason of the last step, keys in the order of the fixture's own
// messages. rids are unique in a run. The fence is the same without metadata, one
// row for each consumer; Paths widens it where several detokenizers share the rows.
//
// # Mixed
//
// The mixed stream has what a detokenizer must get right. Its vocabulary is of
// bytes, a function of the seed alone: every byte, pieces of text cut at any
// byte, special tokens, tokens of nothing. Each request begins with one to five
// ids of its prompt, which may cut characters at both ends, and then brings text
// of several scripts, with stray bytes and ids that are none among it. Half of
// the rows bring one id, others up to 64. Requests end in turns by length, by
// abort, by a stop token and by a stop string, the last two trimmed or kept by
// no_stop_trim; a stop string may have false starts before it, text behind it, its
// first character begun in the row before, and where it is kept, any part of it
// there. Where it is trimmed, rows are as a scheduler makes them: none before the
// last shows part of it. Some requests ask for logprobs (in the others' rows the
// lists are empty) and some have text from before.
//
// The count of a cell is the number of rows of the first batch. Which request is
// in which of the eight batches, for which consumer and with how many ids, is a
// function of seed, count and consumers, so all trials of a cell move as many
// rows; what they say is another thing in every trial. Requests end at different
// batches, are held back in some, and do not come again. Consumers have unequal
// shares; in every second batch one gets nothing. The rows of a batch come in an
// order of their own.
//
// # Full
//
// The full stream has, in every column that consumers get, values that are in no
// other row and no other column; finished_reasons in its last batch only. Left out
// are the Tensors. Of beam_search_output, output_token_sampling_mask and
// weight_versions the types are SGLang's own, and what stands there are plain
// values.
//
// # Recorded
//
// A Recording is replayed as it was captured, but for rids, which get a suffix in
// each trial, and for the fence. Its metadata comes again in every trial: an arm
// that remembered values would gain by it, so compare decodes as well.
//
// # Metadata of rich cells
//
// Names, nesting and types are the fixture's: a list of two floats, a list of one
// map with a list of one integer and a label beyond ASCII, and four times. The
// values are not, since one that comes twice could be remembered:
//
//   - Within a run no value of one kind comes twice: not in another row, batch,
//     trial, round or warm-up. This holds by construction: a value is a one-to-one
//     function of the row's number in the run, or lies in a range of its own.
//   - Every value has one encoded width. Floats are never whole numbers, which some
//     writers shorten to integers; integers have nine bytes in MessagePack (41
//     bits, so six bytes of content in a pickle too); labels have ten bytes.
//     So every trial of a cell moves the same number of bytes.
//
// Random numbers were tried first. To be sure of no repetition they need so many
// bits that a time near 1.8e9 s, which has steps of 2.4e-7 s, cannot hold them.
// Here the times of batch b of a run begin b times 150 s after those of batch 0,
// which leaves each row of each batch a range of its own; random is only where in
// it the value lies.
//
// # Limits
//
// A run has at most 2^21 batches, of which the last two are the full stream's,
// and a batch at most 2^17 rows. Every valid plan keeps within both with seed
// streams; with mixed ones, of more batches, Source.Check tells before the first.
// Beyond them, and for no consumers or a kind of metadata that does not exist,
// streams are errors.
package stream
