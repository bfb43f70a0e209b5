// Package counters keeps a part's counters in a file that every process of the
// server maps: what one adds, another reads at once, without a message, and what
// a killed process had counted is still there.
//
// # Use
//
// A part declares its metrics once, takes them out by name before it begins, and
// counts without a lock or an allocation:
//
//	set, err := counters.Create(part.CountersPath(e.Folder, e.ID), []counters.Spec{
//		{Name: "rows_built", Help: "Rows that left the scheduler.", Kind: counters.KindCounter},
//		{Name: "loop", Help: "The scheduler's loop.", Kind: counters.KindBeat},
//	})
//	built, beat := set.Counter("rows_built"), set.Beat("loop")
//	for {
//		beat.Idle() // before it waits
//		batch := receive()
//		beat.Busy() // when it has taken work, and at every turn while it has more
//		built.Add(n) // before the rows are sent: see "The ledger"
//		send(batch)
//	}
//
// A part with several loops declares a beat for each. [Stuck] names the parts
// that are busy and have not beaten for too long: /health_generate says with it
// which stage is stuck, where the stage that waits for it would be blamed. A part
// that died while it was busy is stuck; one that closed its Set is not. A single
// step must not take longer than the time that Stuck is asked about, and a loop
// that can block in a send is busy while it does: it is the stage behind it that
// is full, and both are named. A process that was stopped while it waited is not
// busy, and makes those before it look stuck; so a part declares [Process] too, and
// where one of these is late Stuck names no other.
//
// # The file
//
// A magic line, the number of metrics in decimal on a line, for each a line with
// its [Spec] as JSON, zero bytes up to a multiple of 8, then 64-bit words in the
// machine's byte order: it never leaves the machine. In the order of the metrics:
// a counter is an unsigned integer; a gauge the bits of a float64; a beat its time
// in nanoseconds of CLOCK_MONOTONIC times 4, plus 0 (idle), 1 (busy) or 2 (ended);
// a histogram the counts of its buckets (not cumulative), that of what is beyond
// all bounds, and the sum, the bits of a float64. Words are changed by atomic
// operations only. A file is read only if it is exactly what [Create] would have
// made; an error names it and says what is wrong.
//
// The number of a histogram's observations is the sum of its buckets and not
// stored, so the two cannot differ. Its sum is another word: a reader may see a
// bucket that has an observation which the sum does not have yet, and a process
// killed between the two leaves it so.
//
// # The ledger
//
// Rows that the scheduler built are delivered, or dropped for a named reason, or
// in flight:
//
//	rows_built                        scheduler
//	rows_dropped_router               detokenizer-router: a detokenizer cannot be reached, or the row has no rid
//	rows_dropped_detokenizer          detokenizer: a worker cannot be reached, or the row cannot be detokenized
//	rows_dropped_request_ended        worker: its client has left, or the request had been ended here
//	rows_dropped_unknown              worker: no request of that rid was known
//	rows_delivered                    worker: its request has it
//
// A part counts rows as built before it sends them, and as delivered or dropped
// after it has received them. A reader reads in the other direction, rows_built
// last: what it reads as delivered is always among what it reads as built, also
// under load, and rows in flight are never negative unless a row was counted twice.
//
// Each row carries its number within its request (customized_info, "row", from
// 0), so a worker also counts rows_missing, rows_doubled and rows_reordered. All
// three are faults and stay 0.
//
// # Designs dropped
//
// Counters sent as messages: they come late, and those of a killed process never.
// Unmapping the file in Close: a goroutine that counts a moment later would crash
// the process; the collector unmaps it when no metric is in use. A file that grows
// to its size as a hole: the first addition on a full disk would kill the process.
// Reading with read(2): nothing says that it copies a word in one piece.
package counters
