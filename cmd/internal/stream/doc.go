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
// A run has fewer than 2^21 batches and a batch at most 2^17 rows; every valid
// plan keeps within both. Beyond them, and for no consumers or a kind of metadata
// that does not exist, Seed returns an error.
package stream
