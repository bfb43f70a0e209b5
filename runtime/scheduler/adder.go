package scheduler

import "slices"

// Close says why a prefill batch is not larger.
type Close string

// The reasons; the package documentation has the rules.
const (
	CloseQueueEmpty         Close = "queue-empty" // nobody was left waiting
	CloseNoToken            Close = "no-token"
	CloseMaxPrefillTokens   Close = "max-prefill-tokens"
	CloseChunkedPrefillSize Close = "chunked-prefill-size"
	CloseMaxRunningRequests Close = "max-running-requests"
)

// open is the verdict that lets the next request be tried.
const open Close = ""

// adder makes one prefill batch.
type adder struct {
	s          *Scheduler
	policy     Policy
	mixed      int // decode tokens that ride along
	remInput   int
	remChunk   int
	chunking   bool
	reserved   float64 // of the room, for running and admitted requests' tokens to come too
	taken      int     // of the room, for tokens of this batch alone
	admitted   []*request
	cut        *request // the one of which only a chunk was admitted
	whyCut     Close    // queue-empty where nothing was cut
	hit        int      // tokens of matched prefixes
	input      int      // paged tokens to compute
	reqStates  []reqState
	haveStates bool
}

// reqState is a request as the conservative variant sees it.
type reqState struct {
	left     float64 // tokens it has yet to generate
	occupied int     // slots that come free when it ends
}

func newAdder(s *Scheduler, mixed int) *adder {
	a := &adder{
		s:        s,
		policy:   s.policyInForce(),
		whyCut:   CloseQueueEmpty,
		mixed:    mixed,
		remInput: s.config.MaxPrefillTokens - mixed,
		remChunk: s.config.ChunkedPrefillSize - mixed,
		chunking: s.config.ChunkedPrefillSize > 0,
		taken:    mixed,
		reserved: float64(mixed),
	}
	for _, r := range s.running {
		a.reserved += float64(float64(min(r.maxNew-r.generated(), clipMaxNewTokens)) * s.newTokenRatio)
	}
	return a
}

// remTotal is what is left of the room when everybody goes on to the end.
func (a *adder) remTotal() float64 { return float64(a.s.room()) - a.reserved }

// remCurrent is what is left of the room in this step.
func (a *adder) remCurrent() int { return a.s.room() - a.taken }

// addChunked admits the next chunk of the chunked request.
func (a *adder) addChunked(r *request) {
	rest := len(r.tokens) - len(r.slots)
	n := min(rest, a.remChunk, int(a.remTotal()))
	if n < rest {
		n = a.s.pool.Floor(max(n, 0))
		a.cut, a.whyCut = r, CloseNoToken
		if n == a.s.pool.Floor(max(a.remChunk, 0)) {
			a.whyCut = CloseChunkedPrefillSize
		}
	}
	if n == 0 {
		return
	}
	newTokens := r.remaining()
	if a.cut == r {
		newTokens = 0
	}
	a.admit(r, n, newTokens)
}

// addOne tries a waiting request. A verdict other than open ends the batch; the
// request was admitted where it is the last of a.admitted.
func (a *adder) addOne(r *request) Close {
	a.s.match(r)
	r.extend = len(r.tokens) - len(r.prefix)
	if r.in.SamplingParams.IgnoreEOS && a.s.tree == nil {
		if !a.lone() && !a.outlasts(r) {
			return CloseNoToken
		}
	} else if verdict := a.fits(r); verdict != open {
		return verdict
	}
	a.s.hold(r)
	verdict := open
	if a.s.tree != nil {
		verdict = a.fits(r)
	}
	n := r.extend
	if verdict == open {
		n, verdict = a.length(r)
	}
	if verdict != open {
		a.s.unhold(r)
		return verdict
	}
	newTokens := r.remaining()
	if n < r.extend {
		newTokens = 0
		a.cut, a.whyCut = r, CloseChunkedPrefillSize
	}
	a.hit += len(r.prefix)
	r.adopt()
	a.admit(r, n, newTokens)
	return a.state()
}

// lone says that the model would have nothing to do without the next request.
func (a *adder) lone() bool {
	return len(a.admitted) == 0 && len(a.s.running) == 0 && a.s.chunked == nil
}

// fits is rules 2 and 3.
func (a *adder) fits(r *request) Close {
	switch {
	case float64(r.extend+r.remaining()) >= a.remTotal() && !a.lone():
		return CloseNoToken
	case a.s.pool.Ceil(r.extend) >= a.remInput && len(a.admitted) > 0:
		return CloseMaxPrefillTokens
	}
	return open
}

// length is rule 5: how many tokens of the request are admitted.
func (a *adder) length(r *request) (int, Close) {
	if !a.chunking || a.s.pool.Ceil(r.extend) <= a.remChunk {
		return r.extend, open
	}
	n := a.s.pool.Floor(max(a.remChunk, 0))
	if n == 0 || a.cut != nil {
		return 0, CloseChunkedPrefillSize
	}
	return n, open
}

// state is rule 6.
func (a *adder) state() Close {
	switch {
	case a.remTotal() <= 0 || a.remCurrent() <= 0:
		return CloseNoToken
	case a.remInput <= 0:
		return CloseMaxPrefillTokens
	case a.chunking && a.remChunk <= 0:
		return CloseChunkedPrefillSize
	}
	return open
}

func (a *adder) admit(r *request, n, newTokens int) {
	paged := a.s.pool.Ceil(n)
	r.extend, r.state = n, extending
	a.admitted = append(a.admitted, r)
	a.reserved += float64(paged + newTokens)
	a.taken += paged
	a.remInput -= paged
	a.remChunk -= paged
	a.input += paged
}

// outlasts is the conservative variant: whether the room lasts until all
// requests, this one too, have ended one after the other.
func (a *adder) outlasts(r *request) bool {
	paged := a.s.pool.Ceil(r.extend)
	if paged > a.remCurrent() || float64(paged) > a.remTotal() {
		return false
	}
	if !a.haveStates {
		a.haveStates = true
		for _, other := range a.s.running {
			a.addState(other)
		}
		for _, other := range a.admitted {
			a.addState(other)
		}
	}
	a.addState(r)
	room := a.remCurrent() - paged
	for i, st := range a.reqStates {
		still := float64(len(a.reqStates) - i)
		if float64(room)-float64(st.left*still) <= still {
			return false
		}
		room += st.occupied
	}
	return true
}

// addState puts the request in its place by tokens left.
func (a *adder) addState(r *request) {
	ratio := a.s.newTokenRatio
	if r.in.SamplingParams.IgnoreEOS {
		ratio = 1
	}
	left := float64(float64(r.maxNew)*ratio) - float64(r.generated())
	if left <= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(a.reqStates, left, func(st reqState, left float64) int {
		if st.left < left {
			return -1
		}
		return 1
	})
	a.reqStates = slices.Insert(a.reqStates, i, reqState{left, len(r.tokens)})
}
