// Package driver runs a plan: two arms or, with a control, three; paired rounds,
// every row judged.
//
// In each round all arms live: fresh processes with --process round, the same
// ones throughout with run. A controller that offers to be used again gets another
// hello each round in place of a successor, but not with spawn. The arms start side
// by side; the first fault ends the others' start. A fresh process first runs one warm-up stream a
// cell, verified and fenced, and not recorded. Then every cell, every
// repetition and all arms take their turn, in the order that the plan has for the
// round. All arms of a repetition get the same work file.
//
// A control is the reference once more, with processes, a log and drawn layouts of
// its own. One that says anything else of itself than the reference does is a fault.
// Where a plan may end early, that is asked after each whole round.
//
// An arm that was built from a source tree runs the executable that was built, by
// its hash in the receipt, in every round. With a pool of them each round's is the
// one that the plan has drawn; what the arm says of itself is then the same in
// every round but for that hash.
//
// A trial is recorded only after the oracle has found every row right. The first
// fault ends the run as invalid and nothing of its timing is published; an
// interruption ends it as incomplete. Either way the folder is closed with a
// result, every process is gone and the private folder is removed before Run
// returns.
package driver
