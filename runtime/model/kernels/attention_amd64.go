package kernels

// attendAVX2 takes three queries at a time through the keys and the values: neighbours see
// nearly the same positions.
func attendAVX2(a *Attention, out, q []float32, ld, tokens, heads, first int) {
	if a.Dim%8 != 0 {
		attendPlain(a, out, q, ld, tokens, heads, first)
		return
	}
	for from := 0; from < tokens*heads; from += tileTokens {
		b := block{Attention: a, n: min(tileTokens, tokens*heads-from)}
		for i := range b.n {
			t, h := (from+i)/heads, (from+i)%heads
			b.at[i], b.seen[i] = t*ld+h*a.Dim, first+t+1
		}
		b.attend(out, q)
	}
}

// block is up to three queries, those that see less first.
type block struct {
	*Attention
	n    int
	at   [tileTokens]int // where the query and its result lie
	seen [tileTokens]int // how many positions each sees
}

func (b *block) attend(out, q []float32) {
	dim, width := b.Dim, (b.seen[b.n-1]+tileRows-1)&^(tileRows-1)
	b.queries, b.results, b.scores = grown(b.queries, b.n*dim), grown(b.results, b.n*dim), grown(b.scores, b.n*width)
	for i := range b.n {
		scaled(&b.queries[i*dim], &q[b.at[i]], b.Scale, dim)
	}
	b.score(width)
	for i := range b.n {
		softmaxAVX2(b.scores[i*width:][:b.seen[i]])
	}
	clear(b.results)
	b.weigh(0, b.n, 0, b.seen[0], width)
	for i := 1; i < b.n; i++ {
		b.weigh(i, 1, b.seen[0], b.seen[i], width)
	}
	for i := range b.n {
		copy(out[b.at[i]:][:dim], b.results[i*dim:])
	}
}

// score sets the scores of all positions that the last query sees, four at a time: those
// left are done with one of them more than once.
func (b *block) score(width int) {
	seen := b.seen[b.n-1]
	slots := b.Slots[:seen]
	if groups := seen / tileRows; groups > 0 {
		b.products(&b.scores[0], width, &slots[0], groups)
	}
	rest := slots[seen&^(tileRows-1):]
	if len(rest) == 0 {
		return
	}
	last := [tileRows]int32{rest[0], rest[0], rest[0], rest[0]}
	copy(last[:], rest)
	var products [tileTokens][tileRows]float32
	b.products(&products[0][0], tileRows, &last[0], 1)
	for i := range b.n {
		copy(b.scores[i*width+width-tileRows:][:len(rest)], products[i][:])
	}
}

// products are those of the queries with the keys of groups of four slots.
func (b *block) products(out *float32, ldo int, slots *int32, groups int) {
	keys, stride, size := &b.Keys[b.Offset], 4*b.Stride, 4*b.Dim
	switch b.n {
	case 1:
		scoresx1(out, 4*ldo, keys, stride, slots, &b.queries[0], size, size, groups)
	case 2:
		scoresx2(out, 4*ldo, keys, stride, slots, &b.queries[0], size, size, groups)
	case 3:
		scoresx3(out, 4*ldo, keys, stride, slots, &b.queries[0], size, size, groups)
	}
}

// weigh adds the values of the positions from..to to the results of n queries from the ith on.
func (b *block) weigh(i, n, from, to, width int) {
	if from == to {
		return
	}
	out, shares, values, slots := &b.results[i*b.Dim], &b.scores[i*width+from], &b.Values[b.Offset], &b.Slots[from]
	size, stride := 4*b.Dim, 4*b.Stride
	switch n {
	case 1:
		weighx1(out, size, shares, 4*width, values, stride, slots, to-from, size)
	case 2:
		weighx2(out, size, shares, 4*width, values, stride, slots, to-from, size)
	case 3:
		weighx3(out, size, shares, 4*width, values, stride, slots, to-from, size)
	}
}
