// Package stats turns the rounds of a paired measurement into published
// figures: means, medians, paired reductions, intervals and bounds for a median,
// tests over many cells, what a run could have seen, and whether its rounds were
// what a test assumes. Floats in, floats out: no file, clock, goroutine or random
// number (MaxT draws some above 16 rounds, from a seed it is given).
//
// # Units and bad input
//
// Values carry whatever unit the caller gave them; reductions are in percent;
// levels and coverages are probabilities between 0 and 1 (0.95, not 95).
// No function changes its argument, and the order of the values never matters
// (to Autocorrelation alone it does, and to PositionEffect with the coins).
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
// package has no fused instruction) or calls those functions, but for LogRatio and
// what is about normal noise (see Log ratios). Probabilities
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
// # Log ratios
//
// Tests, margins and power work on LogRatio, ln(candidate/reference) of one
// round: it treats the arms alike, and a ratio of ratios becomes a difference.
// ReductionOf turns an end of an interval into percent. math.Log, Log1p, Expm1,
// Erfc and Erfinv may differ in the last bit from one architecture to the next,
// and 6 significant digits do not show that. Nothing steps on such a bit: a sign
// is that of the quotient, which every machine rounds alike, and equal quotients
// have equal logs, so ties stay ties. (Go's amd64 code for math.Log is wrong for
// subnormal numbers; LogRatio never takes the log of one.)
//
// # Which interval says what
//
//   - OrderStatistic, UpperBound, LowerBound: for the median, exact with any
//     noise. These decide. At n = 9 the interval at 95 % is [x(2), x(8)] with
//     96.09 %, the bound x(8) with 98.05 %.
//   - SignedRank about HodgesLehmann: narrower with normal noise (12 % at n = 9),
//     wider with spikes (36 %), and for the centre of symmetry. Two arms with the same
//     noise, however skewed, have symmetric log ratios, so the test of no change
//     is exact. Where the noise of the log ratio itself is skewed the interval
//     covers another figure than the median: with lognormal noise and 60 rounds
//     its coverage of the median falls below 92 %, of nominally 95.
//   - Equivalent, NonInferior: the bounds against a margin. Equivalent is two
//     one-sided tests (Schuirmann 1987), each at full level.
//
// For m figures that are to hold at once, the caller asks for level 1-alpha/m
// (Bonferroni); nine rounds carry that to 25 bounds at 95 %. RoundsForBound and
// RoundsForInterval say how many rounds a level needs at all.
//
// The distribution of the signed ranks (SignedRank) and of rank sums
// (PositionEffect) is counted in float64: sums of non-negative numbers, with
// exact halvings, are exact up to 2^53 and lose some 10^-13 beyond, alike on every
// machine. Whole numbers of math/big are the tests' twin.
//
// # Power
//
// The interval excludes zero on the right side when at most k-1 of n log ratios
// lie on the wrong one, so its power is P(Bin(n,q) <= k-1) with q the probability
// of one (SignPower): that holds with any noise. SmallestEffect and the functions
// about rounds assume normal noise, q = Phi(-effect/spread), and are what a plan
// can go by. Of 80 % promised to nine rounds, with the spread from RobustSpread,
// 68 are kept with Laplace noise, 72 with Student's of 3 degrees, and 51 against 15 %
// of spikes; with 30 rounds 80, 80 and 71. Noise with two modes can turn the
// figure either way (100 % with 9 rounds, below 50 with 30). EmpiricalEffect assumes no shape, but
// needs tens of values. Rounds that share a state (Autocorrelation) make all of
// this too hopeful.
//
// Sources: Hodges and Lehmann 1963; Wilcoxon 1945; Hollander and Wolfe,
// Nonparametric Statistical Methods, 3.1 to 3.6 and 4.1; Noether 1987, Sample
// size determination for some common nonparametric tests; Moran 1948, Some
// theorems on time series; Croux and Rousseeuw 1992, Time-efficient algorithms
// for two highly robust estimators of scale.
//
// # Many cells
//
// MaxT takes the log ratios of n rounds by m cells and asks for which cells the
// arms differ, with one error rate for all: the probability that any cell without
// a difference is named is at most alpha (Westfall and Young, Resampling-Based
// Multiple Testing, 1993). In every round a coin, of the round or of each cell,
// says which arm goes first. If the arms do not differ in a cell, the coin's other
// side would have given the negated log ratio; so all 2^n ways to flip the signs
// of whole rounds are equally likely, whatever the drift, the distribution and the
// correlation of the cells. A cell's adjusted p-value is the share of flips in
// which the largest statistic of any cell reaches the cell's own.
//
//   - The statistic is sum(x) / sqrt(sum(x^2)), its absolute value for Either.
//     Flips leave the sum of squares alone, so it orders them as Student's t does
//     (t^2 = (n-1) T^2/(n-T^2)), but never divides by a spread of zero, and an
//     outlier cannot push it beyond sqrt(n). A cell of zeros has 0 and p-value 1.
//     Signed ranks would be steadier, but at n = 9 their largest value, 45, is not
//     rare enough: of 24 independent cells one has it in 9 % of the flips.
//   - Ties count as reached. Values are rounded to 2^-40 of their cell's largest,
//     sums are of whole numbers, and statistics closer than 1e-9 are equal.
//   - n <= 16: all 2^n flips, p = count/2^n, no seed. Above: B seeded draws and
//     p = (1+count)/(1+B), which is valid for any B (Phipson and Smyth 2010). Few
//     draws lose power, no more; 9,999 give a p of 5 % within 0.4 points.
//   - StepDown compares with fewer cells and is never larger. It holds the rate as
//     well, because a cell's flips depend on no other cell's values.
//   - Above and Below hold the rate exactly where every cell either differs that
//     way or not at all. With cells beside them that went the other way, by 0.3 to 2
//     standard deviations, simulation found no excess.
//
// Simulated at n = 9, correlation 1/2, 5 %: the rate is 4.6 to 5.0 % for 6, 12 and
// 24 normal cells (20,000 families each), and within chance of that or below it
// under five other kinds of noise (fewer families); one cell shifted by two
// standard deviations is found with 0.97, 0.94 and 0.88 (Above: 0.99, 0.98, 0.96).
//
// SimultaneousBounds are order statistics at the share (1-level)/m of each cell
// (Bonferroni). They hold for all cells at once whatever the correlation, need no
// symmetry, and exist from n = 9 for up to 25 cells at 95 % (24: 1-24/512 = 95.3 %).
// Inverting MaxT instead would be sharper but is not sound for each cell by
// itself: its critical value depends on the unknown shifts of the other cells.
// Replacing these by the cells' means or medians missed in 6.5 and 8 % of
// simulated families of 24 normal cells where 5 was asked; taking the worst case
// over them leads back to Bonferroni's share, since the n signs of every cell
// may be another pattern. The price at n = 9: the shifted cell above has a lower bound
// above zero with 0.81. Whether any cell is slower is therefore better asked of
// MaxT; whether all cells are within a margin needs no correction at all, only
// each cell's own bound, because the claim is wrong only if that of a cell is
// (Berger 1982). Bounds from the flips of one cell, the means of its subsets
// (Hartigan 1969), are narrower for few cells (1.02 in place of 1.46 standard
// deviations for 6 cells) and equal for 24, but need one shift for all rounds.
//
// # Looking after every round
//
// The sign e-process bets on the sign of every round. Its value E after n rounds,
// s of them above zero, is 2^n times the mean of p^s (1-p)^(n-s) over p, uniform
// between 0 and 1 (Either) or between 1/2 and 1 (Above). Under a fair coin its
// expectation stays 1, so the probability that it ever reaches 1/alpha is at most
// alpha, over all looks at once (Ville 1939; Howard, Ramdas, McAuliffe and Sekhon,
// Time-uniform, nonparametric, nonasymptotic confidence sequences, 2021). Within
// 60 looks a null cell reaches 20 with 2.46 %, exactly. Each of m cells stops at
// m/alpha. It needs an independent coin in every round.
//
// A round at exactly zero counts for the sign that makes E smallest. Dropping it,
// or counting a half for either sign, is valid for a coin that may turn every
// ratio round, but not for a median of zero: with 50 % above, 20 % below and
// 30 % at zero the rest is not a fair coin. Had the zeros been given to the signs
// so that it is, E would be no smaller than this one; hence the bound holds.
//
// TimeUniform has the medians that E does not exclude, ties and all. Its rank is a
// ratio of whole numbers: [x(1), x(n)] from n = 8 at 95 %, x(2) from 12, x(4) at
// 20, x(7) at 30, x(11) at 40.
//
// E-values of one hypothesis from several hosts join by their mean, whatever their
// dependence, or their product, if independent (Vovk and Wang, E-values:
// Calibration, combination and applications, 2021).
//
// # Percentiles
//
// Percentile is by nearest rank: a value that was measured, the one at the smallest
// rank that is at least qn. PercentileInterval is for the quantile of the
// distribution, two order statistics whose ranks follow from Bin(n,q) alone; it is
// exact for independent values. Latencies of one queue are not independent: the
// interval is then too narrow, and what decides is the rounds. Too few values have no
// interval, and a wider one would be made up. The sums are those of Rates.
//
// # Rates
//
// BinomialInterval is Clopper and Pearson's (1934), for the false alarms among so
// many runs. Tails are sums of 128-bit floats of math/big, which round alike on
// every machine; both ends are found by halving, to the last bit.
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
