// Package stats turns the rounds of a paired measurement into published
// figures: means, medians, paired reductions and two intervals for a median.
// Floats in, floats out: no file, clock, goroutine or random number.
//
// # Units and bad input
//
// Values carry whatever unit the caller gave them; reductions are in percent;
// levels and coverages are probabilities between 0 and 1 (0.95, not 95).
// No function changes its argument, and the order of the values never matters.
// A NaN or an infinity never becomes a silent number: Mean and Median return
// NaN, PairedReduction and OrderStatistic return false, BootstrapMedian an
// error that names the value. FasterRounds is a count and a NaN is not above
// zero, so it counts as a round that was not faster.
//
// # Same figures on every architecture
//
// A compiler may fuse x*y+z into one instruction on arm64 and not on amd64, and
// math.Exp, Log and Lgamma are assembly on some machines and Go on others.
// Nothing here lets a product of floats run into a sum (the arm64 code of the
// package has no fused instruction) or calls those functions. Probabilities
// are ratios of whole numbers (math/big), compared as whole numbers and rounded
// to float64 once, at the end; so they are correct to the last bit, cannot
// overflow or underflow, and a cut such as alpha/2 never flips on a rounding
// error. gonum's binomial distribution and incomplete beta function are close (5
// parts in 10^13 at n = 1000) but go through Lgamma and Exp, which may differ
// from one architecture to the next; the tests use the beta function as a second
// opinion.
//
// # The bootstrap without resampling
//
// A percentile bootstrap draws n of the n values with replacement, many times,
// and takes quantiles of the medians. With a finite number of draws the end
// points are a lottery: at n = 9 and 95 % an end moves to the next value with
// 14 % (1,000 draws) or 7 % (2,000), at n = 15 with 43 % (2,000). But the
// distribution under infinitely many draws is known. All n^n resamples are
// equally likely, so each probability is a count of resamples over n^n:
//
//   - m or more of n draws fall on the k smallest values:
//     sum over j from m to n of C(n,j) k^j (n-k)^(n-j). For odd n with
//     m = (n+1)/2 this is P(med* <= x(k)) = P(Bin(n,k/n) >= (n+1)/2).
//   - for n = 2h the median is (x(i)+x(j))/2, where i <= j are the ranks of the
//     h-th and (h+1)-th smallest draws. For i < j that pair has
//     C(n,h) (i^h-(i-1)^h) ((n-j+1)^h-(n-j)^h) resamples. The sum over j
//     telescopes, see evenMedian.atMost.
//
// Equal values keep their own ranks and equal sums fall together, because a
// probability is always that of med* <= v for a number v, never of a rank.
//
// The end points of BootstrapMedian at the nominal level 1-alpha are: Low, the
// smallest v with P(med* <= v) >= alpha/2, and High, the largest v with
// P(med* >= v) >= alpha/2. High is computed as the negated Low of the negated
// values, so the interval of -x is the negated interval, bit for bit. numpy's
// percentile interpolates between neighbouring medians instead; with many draws
// that differs only where a probability equals alpha/2.
//
// # What Level means
//
// Level is the attained coverage: the probability that the interval holds the
// population's median, for independent values from any one continuous
// distribution (for a distribution with ties, at least that).
//
//   - OrderStatistic: exact, 1-2 P(Bin(n,1/2) <= k-1) for [x(k), x(n+1-k)].
//   - BootstrapMedian, odd n: exact, the same formula. The k it selects depends
//     on n and the nominal level only, never on the values, and the formula is
//     the coverage because of that.
//   - BootstrapMedian, even n: NaN, to be shown as null. The ends are means of
//     two order statistics, and which two depends on the values, so the coverage
//     depends on the distribution and no exact level exists. What holds for
//     every distribution is a bracket: with kOuter and kInner the smallest k
//     with P(Bin(n,k/n) >= n/2) >= alpha/2 and P(Bin(n,k/n) >= n/2+1) >=
//     alpha/2, the interval lies inside [x(kOuter), x(n+1-kOuter)] and, for
//     kInner <= n/2, holds [x(kInner), x(n+1-kInner)]. At n = 10 and 95 % these are [x(2), x(9)] and
//     [x(3), x(8)] with 97.85 and 89.06 %. Publishing either as "the level"
//     would claim too much or too little; OrderStatistic has an exact level at
//     the same n.
//
// A nominal level is read as the shortest decimal that denotes the float: 0.95
// means 19/20, and alpha/2 is exactly 1/40.
//
// # Tried and dropped
//
//   - Resampling with a fixed seed: repeatable, but still one ticket of the
//     lottery, and another program with another generator gets other ends.
//   - BCa: with few distinct medians its two corrections cannot move the
//     selected order statistic usefully. Basic (reversed percentile): covers
//     82 % at n = 9 where 95 was asked, 3 % with two modes.
//   - Log-space sums: short, but they need Lgamma and Exp.
//   - For even n, a table of all pair weights: the telescoped sum needs n terms
//     for one probability, and the search only some twenty probabilities.
package stats
