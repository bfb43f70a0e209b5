package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/fanoutbench/fanoutbench/stats"
)

// comparison is what two continuations of one prompt have in common.
type comparison struct {
	Same  int       // positions from the first on at which both chose the same
	Noise []float64 // of these, where both name our two likeliest
	// Of the first difference; Differs says that there is one.
	Differs     bool
	Ours, Peers int64 // what each chose
	// Gap is by how much our choice leads the peer's in our log-probabilities, PeersGap by how much the
	// peer's leads ours in the peer's: infinite where the other's choice is not among the candidates.
	Gap, PeersGap float64
}

// compare looks at both up to their first difference. The shorter one must have ended with a token that ends texts, the other
// had as many to give: that is checked.
func compare(ours, peers generated) (comparison, error) {
	for name, g := range map[string]generated{"ours": ours, "peer's": peers} {
		if len(g.IDs) == 0 || len(g.Top) != len(g.IDs) {
			return comparison{}, fmt.Errorf("%s: %d ids and %d lists of candidates, expected one list an id and at least one", name, len(g.IDs), len(g.Top))
		}
	}
	var c comparison
	for ; c.Same < min(len(ours.IDs), len(peers.IDs)); c.Same++ {
		i := c.Same
		if ours.IDs[i] != peers.IDs[i] {
			c.Differs, c.Ours, c.Peers = true, ours.IDs[i], peers.IDs[i]
			c.Gap, c.PeersGap = gap(ours.Top[i], c.Ours, c.Peers), gap(peers.Top[i], c.Peers, c.Ours)
			return c, nil
		}
		if noise, ok := noiseAt(ours.Top[i], peers.Top[i]); ok {
			c.Noise = append(c.Noise, noise)
		}
	}
	if len(ours.IDs) != len(peers.IDs) {
		return comparison{}, fmt.Errorf("%d ids of ours and %d of the peer's are equal as far as they go, expected both to end at once", len(ours.IDs), len(peers.IDs))
	}
	return c, nil
}

// gap is the log-probability of a without that of b.
func gap(top []candidate, a, b int64) float64 {
	left, okLeft := find(top, a)
	right, okRight := find(top, b)
	if !okLeft || !okRight {
		return math.Inf(1)
	}
	return left.Logprob - right.Logprob
}

func find(top []candidate, id int64) (candidate, bool) {
	i := slices.IndexFunc(top, func(c candidate) bool { return c.ID == id })
	if i < 0 {
		return candidate{}, false
	}
	return top[i], true
}

// noiseAt is by how much the lead of our likeliest over our second is another with the peer; not ok where either lists too few.
func noiseAt(ours, peers []candidate) (float64, bool) {
	if len(ours) < 2 {
		return 0, false
	}
	theirs := gap(peers, ours[0].ID, ours[1].ID)
	if math.IsInf(theirs, 1) {
		return 0, false
	}
	return math.Abs(ours[0].Logprob - ours[1].Logprob - theirs), true
}

// noise describes what was found over all prompts.
type noise struct {
	Positions int     `json:"positions"`
	Median    float64 `json:"median"`
	P99       float64 `json:"p99"`
	Largest   float64 `json:"largest"`
}

// summarize refuses to call a few positions a measure.
func summarize(all []float64) (noise, error) {
	const fewest = 5
	if len(all) < fewest {
		return noise{}, fmt.Errorf("%d positions have a noise, expected at least %d", len(all), fewest)
	}
	p99, ok := stats.Percentile(all, 0.99)
	n := noise{Positions: len(all), Median: stats.Median(all), P99: p99, Largest: slices.Max(all)}
	if !ok || math.IsNaN(n.Median) {
		return noise{}, fmt.Errorf("noise %v, expected finite numbers", all)
	}
	return n, nil
}
