package scheduler

import (
	"cmp"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/kvcache"
)

// policyInForce is the policy that orders the queue as it is now.
func (s *Scheduler) policyInForce() Policy {
	if s.config.SchedulePolicy == LPM && s.tree != nil && len(s.waiting) <= lpmQueueLimit {
		return LPM
	}
	return FCFS
}

// order sorts the waiting requests where the policy in force says so.
func (s *Scheduler) order() {
	if s.policyInForce() != LPM {
		return
	}
	rank := make(map[*request]int, len(s.waiting)) // smaller is earlier
	shared := newPrefixes()
	for _, r := range s.waiting {
		s.match(r)
		rank[r] = -len(r.prefix)
		if len(r.prefix) > inBatchCheck {
			continue
		}
		if shared.longest(r) >= inBatchDeprioritize {
			rank[r] = 1
		} else {
			shared.add(r)
		}
	}
	slices.SortStableFunc(s.waiting, func(a, b *request) int { return cmp.Compare(rank[a], rank[b]) })
}

// prefixes are those of waiting requests: a tree whose slots are nobody's.
type prefixes struct{ tree *kvcache.Cache }

func newPrefixes() prefixes {
	pool, err := kvcache.NewPool(1, 1)
	if err != nil {
		panic(err) // one slot in pages of one is a pool
	}
	return prefixes{kvcache.New(pool)}
}

func (p prefixes) longest(r *request) int {
	slots, _ := p.tree.Match(r.key(len(r.tokens)))
	return len(slots)
}

func (p prefixes) add(r *request) {
	p.tree.Insert(r.key(len(r.tokens)), make([]int32, len(r.tokens)))
}
