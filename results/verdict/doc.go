// Package verdict turns the paired rounds of a family of primary cells into
// decisions. Floats in, decisions out: no file, no clock, no record. Package
// results makes its input from plan and trials; package stats has the formulas.
//
// # Input
//
// A Family has m cells. Cell c has one log ratio a round, ln(candidate/reference)
// of the means over repetitions: above zero the candidate is slower. Order of the
// arms was one fair coin a round for all cells, so under the null hypothesis that
// the arms do not differ the signs of a whole round could as well be turned. A cell
// that lacks a round fails the family: nothing is decided without it. With fewer
// than MinRounds rounds there is no interval at any useful level, and the decision
// is insufficient, with the number that is needed.
//
// The margin M is a slow-down, as a fraction: a candidate that takes at most 1+M of
// the reference's time, and the reference at most 1+M of the candidate's, counts as
// equal. On the log scale that is the open interval (-ln(1+M), ln(1+M)).
//
// # A fixed plan
//
// The family-wise level is 95 %. For every cell there are a p-value, two-sided,
// adjusted for the family by the maximum over cells of a statistic under flips of
// whole rounds (stats.SignFlip: enumerated to 16 rounds, sampled from the plan's
// seed above), and one-sided simultaneous bounds, lower and upper, each at the
// family's level. A cell in the role of superiority is
//
//	equivalent    both bounds within the margin
//	improved      p at most 5 %, estimate below zero
//	regressed     p at most 5 %, estimate above zero
//	inconclusive  none of these
//
// in this order; one in the role of non-inferiority is not-inferior with the upper
// bound within the margin, regressed with the lower bound above zero and the
// estimate beyond the margin, inconclusive otherwise.
//
// # An anytime plan
//
// After every round from the sixth a cell has an e-value, of the signs alone
// (stats.SignEValue), and the interval that it inverts to. Both hold at all looks
// at once. A cell is settled when its e-value is at least 20 m (improved or
// regressed by the sign of the estimate), or when the interval at level 1-0.05/m
// lies within the margin (equivalent); in the role of non-inferiority when that
// interval's upper end is within the margin, or its lower end above zero and the
// estimate beyond the margin. The run
// ends when every cell is settled, or at the last round of the plan.
//
// # The family
//
// In this order: insufficient; inconclusive, when a cell lacks a round or the
// control failed; regressed, when some cell is; improved, when some cell is;
// equivalent, when every cell is equivalent or not-inferior; inconclusive. The
// reason names the cells. A control fails when the family with the control in the
// candidate's place is rejected at the same level: p at most 5 % (or an e-value of
// at least 20 m) in some cell.
//
// # Several hosts
//
// Rounds of one plan that were run on several hosts stand one host after the other,
// and Hosts says how many each has. Every round of every host had a coin of its own,
// so under the null hypothesis the signs of any round can be turned, whatever hosts
// there are: a fixed plan's test flips the rounds of all hosts together, as if they
// were one run's, and the hosts, its blocks, do not enter the test. A host that is
// slower by half adds nothing, since a round compares two arms on one host. The bounds
// are for the median over the rounds of all hosts; where hosts differ in the effect
// itself, that is the median of their mixture, which HostEffects makes visible.
//
// In an anytime plan each host stops by itself. Each has an e-value a cell, and their
// mean is an e-value too, however the hosts depend on each other; bounds are what
// the mean inverts to (stats.TimeUniformMean). It is to be taken once, of hosts that
// were named before.
//
// # The gate
//
// Gate asks one thing: may the candidate be slower by more than the margin? It
// passes when every upper bound is within the margin, fails when some cell's lower
// bound is above zero and its estimate beyond the margin, and is inconclusive
// otherwise. It needs no significance of the other side: an improvement passes.
package verdict
