// Package pickle cuts a pickled column into row pickles without making any
// Python object: what SGLang's PickleWrapper carries in time_stats and
// customized_info.
//
// # Shape
//
// A [Column] is the pickle of one of
//
//   - a list or tuple with an entry a row: row i is the pickle of [v[i]];
//   - a dict whose values are such lists, or None: row i is the pickle of
//     {k: [v[i]], ...}, with [None] where a list is short, and None where the
//     value is None;
//   - None, or an empty dict: every row is null, which is no pickle at all.
//
// A row beyond the end of a list column is null. Several rows together are the
// pickle of [v[i], v[j], ...], or of the dict of such lists; a row that a list
// lacks is None then. This is what SGLang 0.5.21 to 0.5.23 make of a column by
// unpickling it, indexing, and pickling again.
//
// # How
//
// A pickle is a program for a stack machine with a memo; Lib/pickletools.py of
// CPython lists its opcodes. [Column.Parse] runs that program once on a stack
// of spans: a value is the bytes from the first opcode that makes it to the last
// one that changes it, and values lie inside each other as the objects do. A row
// is its entry's bytes behind a new head. What cannot be copied is noted as it
// is met:
//
//   - MEMOIZE gives a value the next number of the memo. It is copied, and the
//     number that it has in the row is kept;
//   - BINGET and LONG_BINGET push a value of the memo. They get the row's own
//     number; where the row does not have the value yet, because an earlier row
//     defined it, the definition's bytes stand in its place, written by the same
//     rules. So a value is defined once a row, and stays one object however often
//     the row refers to it;
//   - FRAME is left out: a pickle needs no frames, and their lengths would be
//     wrong.
//
// A definition that is met again, because something inside it was fetched before
// it, is a get instead. Where a value is met inside its own definition (a tuple in a list that
// the tuple holds), it is made twice and the second one dropped with POP, as
// CPython's pickler does.
//
// # Opcodes
//
// Those that CPython's pickler writes in protocols 4 and 5, without out-of-band
// buffers, persistent ids and the extension registry:
//
//	values      NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT
//	            SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES
//	            BINBYTES8 BYTEARRAY8
//	containers  EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS EMPTY_SET
//	            ADDITEMS FROZENSET EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE MARK
//	objects     STACK_GLOBAL REDUCE NEWOBJ NEWOBJ_EX BUILD
//	the memo    MEMOIZE BINGET LONG_BINGET
//	the pickle  PROTO FRAME STOP
//
// Any other is an error that names it: among them POP, which the pickler writes
// for a tuple that contains itself and for reducers with a state setter, and the
// PUTs of protocols below 4. An opcode that changes a value fetched from the memo
// is an error too, as the definition would no longer be in one place; the pickler
// writes none. Text is not checked to be UTF-8, and nothing is imported or run: a
// class that does not exist, and anything else that only Python can know, is
// found by whoever reads the row.
//
// # Errors and limits
//
// Every error is an [*Error] with the opcode and its offset in the pickle. All of
// them come from Parse; a column that was parsed gives every row.
//
// Parse is one pass without recursion, and a second one where a list of the column
// was defined inside a row: its time is linear in the bytes, and so is
// what it keeps, at most [MaxKept] bytes for each. At most 32 values of the memo may
// begin at one byte. Rows are written in the time that their bytes take.
//
// What all rows of a column have together is not linear in the column: each may
// refer to one large value. It is bounded by [MaxRows]; a column that goes beyond
// is an error. Where a cheap estimate does not rule that out, and where values
// refer to themselves, Parse goes through every row once without keeping it, and
// stops at the bound.
//
// # Designs dropped
//
// A tree of Go values: three allocations an object, and pickled again it has
// other bytes. Leaving out the MEMOIZEs of values that nothing fetches, as
// pickletools.optimize does: the rows would be smaller than SGLang's, and a
// consumer that reads them faster would be counted as the worker's merit. An
// error for values inside their own definition: a POP is simpler than to say
// which columns are refused.
package pickle
