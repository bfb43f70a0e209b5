// Package counters keeps a part's counters in a file that every process of the
// server maps: what one adds, another reads at once, without a message, and what
// a killed process had counted is still there.
//
// # The file
//
// A magic line, the number of slots, their names, one a line, padding to a
// multiple of 8, then one 64-bit word a slot in the machine's byte order: it
// never leaves the machine. A counter is an unsigned integer; a gauge is the bits
// of a float64; a histogram is the counts of its buckets (not cumulative), its
// count and its sum. Words are changed by atomic operations only.
//
// # The ledger
//
// Rows that the scheduler built are delivered, or dropped for a named reason, or
// in flight:
//
//	rows_built                        scheduler
//	rows_dropped_router               detokenizer-router: a detokenizer cannot be reached, or the row has no rid
//	rows_dropped_detokenizer          detokenizer: a worker cannot be reached, or the row cannot be detokenized
//	rows_dropped_client_left          worker: its client has left
//	rows_dropped_unknown              worker: no request of that rid was known
//	rows_delivered                    worker: its request has it
//
// Each row carries its number within its request (customized_info, "row", from
// 0), so a worker also counts rows_missing, rows_doubled and rows_reordered. All
// three are faults and stay 0.
package counters
