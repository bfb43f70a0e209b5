// Package batchdriver runs a paired load test: it starts the arms' servers, finds
// out what both can be asked, draws the schedules, sends every load of every round to
// both arms, and writes the run folder of package batchrun.
//
// # A run
//
//  1. Probe. Both servers are started once. The reference's tokenizer gives the text
//     of the requests and their exact numbers of tokens, which the candidate's must
//     confirm; the reference answers every body once, and those answers are what all
//     later ones are held against; a rate that both arms hold is looked for unless
//     one is given; a tolerance is measured unless one is given or both servers are
//     of this program.
//  2. Plan. Coins and schedules are drawn from the seed; plan.json and the schedules
//     are written before the first trial.
//  3. Rounds. Each starts both servers, lets them answer the warm-up, and gives every
//     cell to both arms, in the order of the round's coin. After a trial the
//     scheduler's records of its items are asked for.
//  4. The servers are ended, and must end as they should; the result is written.
//
// A shard of a load that several machines send has a part of the schedules of the
// common seed; with a common start its trials begin at equal distances from it, and
// its record says what clock that was by.
//
// # Names of requests
//
// Every request has a rid that no other request of the run, nor of another shard, has,
// so that its items can be found in the scheduler's records. The bodies of a trial are therefore made
// before it, each its own; a load whose bodies would not fit in memory is refused.
//
// # Errors
//
// What ends a run before its last trial (a server that died, an interrupt) is its
// failure: the folder is incomplete and says why. Requests that fail end nothing;
// they are counted, and make the run invalid. Before there is a plan there is no
// folder, and an error is all that is left.
//
// # Tried and dropped
//
//   - One server at a time, each with all cells of a round: the arms would be minutes
//     apart, and a slow minute of the machine would be a difference of the arms.
//   - The arms' schedules drawn apart: the pairs of percentiles would then differ by
//     the load too.
package batchdriver
