// Package wire is SGLang's output path as bytes: the messages a scheduler sends
// to its detokenizers and a detokenizer to its HTTP workers. What goes the other
// way is in package wire/request, which reads and writes with [Reader] and [Writer].
//
// # Shape
//
// A message is one MessagePack array: the class name, then every field in the
// order of declaration, without field names; nil stands for Python's None, and
// trailing defaults are written. [BatchTokenIDOutput] is an array of 54,
// [BatchStrOutput] one of 49, [BatchEmbeddingOutput] one of 13, in SGLang 0.5.21
// to 0.5.23. All are columnar: every field is a list with one entry a row.
//
//	["BatchStrOutput", ["rid-0", "rid-1"], nil, [nil, {"type": "stop"}], ...]
//
// A frame with fewer fields than the class has leaves the rest null, as
// msgspec's defaults do; a frame with more is an error.
//
// # Null
//
// A nil slice, Map, Value or *Opaque is null, an empty one that is not nil is
// an empty list. A scalar that may be null is an [Opt]. Every scalar of every
// column but rids may be null, also where SGLang's annotations say otherwise:
// a column shorter than the batch leaves its missing rows null when rows are
// grouped.
//
// # Encoding
//
// The frames are those of msgspec 0.23: integers and lengths in their smallest
// code, positive integers in the unsigned codes, floats always as float64.
// Integer arrays (decode_ids, output_ids) are ext type 1: the length of the
// metadata as a big-endian uint32, the metadata (a MessagePack string that
// holds the typecode of Python's array module), then the raw little-endian
// items. Ext types 2 to 5 are tensors, ndarrays and shared memory; they are
// carried as [Ext]. Where SGLang's detokenizer turns tensors into base64 text
// (routed_experts, indexer_topk), a tensor is an error: that is not built. Text is carried as bytes: UTF-8 is neither checked nor
// mended.
//
// time_stats and customized_info are opaque. On the MessagePack transport they
// are a tagged pair: ["PickleWrapper", bin] from SGLang, ["MsgpackWrapper", bin]
// from this runtime, the bytes then being MessagePack. Without a wrapper the
// column is the value itself (the native transport). The value is a list with
// an entry a row, or a map of such lists. A pickle is never made into a [Value]:
// package wire/pickle cuts it into row pickles. It lies below this package, as it
// knows no frame and this package needs it.
//
// # Splitting
//
// [Take] makes a message of some rows of another. The rule for each column:
//
//   - null stays null;
//   - a row beyond the column's end is null; when no row taken is in the column
//     and at least one was asked for, the column as a whole is null, which is
//     what SGLang does for the one row it cuts;
//   - a map of lists keeps its keys: [v[i]], or [null] where a list is short, or
//     null where the key's value is null;
//   - a wrapped column is opened once, cut, and wrapped again as what it was.
//     A pickled column that is an empty map is null in every row, as SGLang has
//     it; otherwise the rules above hold.
//
// [View] does the same from the batch's bytes without decoding a value: one
// pass notes where each entry starts, and a row is the entries' bytes behind
// new array headers. It takes both batches that a detokenizer receives: a
// BatchTokenIDOutput becomes BatchStrOutputs, a BatchEmbeddingOutput becomes
// BatchEmbeddingOutputs.
//
// # Row values
//
// [Row] and [Set] speak plain values ([Value]) by field name. An integer array
// is a []Value of int64. An opaque list's row is its entry; an opaque map's row
// is a Map with the same keys and each list's entry.
//
// # Errors and limits
//
// Every error is an [*Error] with class, field (with index) and byte offset:
//
//	wire: BatchStrOutput.output_strs[3] at byte 1234: got array, want string
//
// [Check] runs over a frame before the codec sees it: well-formed, every length
// at most the bytes left, at most [MaxDepth] levels, nothing after the end. The
// MessagePack library allocates what a length asks for (its issues 401 and
// 376: tens of GiB from five bytes), so no unchecked length reaches it.
// Decoding a frame of n bytes allocates at most 64 n + 64 KiB; pickled columns
// have bounds of their own ([pickle.MaxKept], [pickle.MaxRows]).
//
// # Designs dropped
//
// Pointers for nullable scalars: one allocation a row and column. Trees of
// Value for all fields: three times the memory, and errors that name no type.
// Raw bytes kept for every column: encodes to the same bytes trivially, but
// then nothing tests that the types are right. A View over the codec's Skip:
// twice the time of a walk with a table of sizes, and no depth limit.
package wire
