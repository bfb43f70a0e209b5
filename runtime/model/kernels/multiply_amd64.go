package kernels

// A panel is how much of a matrix goes by before the next tokens are multiplied with it:
// it stays in a core's second cache (512 KiB and more) meanwhile. With few tokens, which
// take little room beside it, a small one is still nearer.
const (
	panelBytes = 256 << 10
	smallPanel = 64 << 10
	fewTokens  = 2 * tileTokens
)

// tileRows is how many rows a tile has, and tileTokens the most tokens.
const (
	tileRows   = 4
	tileTokens = 3
)

// tiling is one call of Multiply by tiles.
type tiling struct {
	out   []float32
	ldo   int
	w     *Matrix
	in    *Input
	whole int // columns that tiles walk
}

// multiplyAVX2 goes through the rows in panels, and through each panel once for every few
// tokens: with the tokens of one tile the matrix is read once from memory.
func multiplyAVX2(out []float32, ldo int, w *Matrix, in *Input, from, to int) {
	m := tiling{out, ldo, w, in, w.Format.whole(w.Cols)}
	if m.whole == 0 {
		multiplyPlain(out, ldo, w, in, from, to)
		return
	}
	size := panelBytes
	if in.tokens <= fewTokens {
		size = smallPanel
	}
	panel := max(tileRows, size/w.Format.rowBytes(w.Cols)&^(tileRows-1))
	for ; from < to; from += panel {
		end := min(from+panel, to)
		for t := 0; t < in.tokens; {
			n := tileWidth(w.Format, in.tokens-t)
			m.rows(from, end, t, n)
			t += n
		}
		if m.whole < w.Cols {
			m.addRest(from, end)
		}
	}
}

// tileWidth is how many of the tokens that are left the next tile takes: four are done
// quicker as two and two than as three and one.
func tileWidth(f Format, left int) int {
	if f == Q8 || left == 4 {
		return min(left, 2)
	}
	return min(left, tileTokens)
}

// rows sets the products of rows with n tokens from t on: four rows at a time, and those
// that are left each as a tile of four times the same row.
func (m *tiling) rows(from, to, t, n int) {
	size := m.w.Format.rowBytes(m.w.Cols)
	groups := (to - from) / tileRows
	if groups > 0 {
		m.tile(n, &m.out[t*m.ldo+from], 4*m.ldo, &m.w.Data[from*size], size, t, groups)
	}
	for r := from + groups*tileRows; r < to; r++ {
		var products [tileTokens][tileRows]float32
		m.tile(n, &products[0][0], 4*tileRows, &m.w.Data[r*size], 0, t, 1)
		for i := range n {
			m.out[(t+i)*m.ldo+r] = products[i][0]
		}
	}
}

// tileKind is a format and a number of tokens.
type tileKind struct {
	format Format
	tokens int
}

// tile calls the assembly of n tokens from t on; ldo and stride are in bytes.
func (m *tiling) tile(n int, out *float32, ldo int, w *byte, stride, t, groups int) {
	cols := m.w.Cols
	if m.w.Format == Q8 {
		ints, scales := &m.in.ints[t*cols], &m.in.scales[t*cols/blockCols]
		blocks := 4 * (cols / blockCols)
		if n == 1 {
			tileQ8x1(out, ldo, w, stride, ints, cols, scales, blocks, cols, groups)
		} else {
			tileQ8x2(out, ldo, w, stride, ints, cols, scales, blocks, cols, groups)
		}
		return
	}
	x := &m.in.floats[t*cols]
	switch kind := (tileKind{m.w.Format, n}); kind {
	case tileKind{F32, 1}:
		tileF32x1(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{F32, 2}:
		tileF32x2(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{F32, 3}:
		tileF32x3(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{F16, 1}:
		tileF16x1(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{F16, 2}:
		tileF16x2(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{F16, 3}:
		tileF16x3(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{BF16, 1}:
		tileBF16x1(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{BF16, 2}:
		tileBF16x2(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	case tileKind{BF16, 3}:
		tileBF16x3(out, ldo, w, stride, x, 4*cols, m.whole, groups)
	}
}

// addRest adds the columns behind the last whole step, in the order of dotPlain.
func (m *tiling) addRest(from, to int) {
	var row [16]float32
	cols, rest := m.w.Cols, m.w.Cols-m.whole
	tail := row[:rest]
	for r := from; r < to; r++ {
		widen(tail, m.w.Format, m.w.row(r)[m.w.Format.rowBytes(m.whole):])
		for t := range m.in.tokens {
			sum := &m.out[t*m.ldo+r]
			for i, x := range m.in.floats[t*cols+m.whole : (t+1)*cols] {
				*sum += float32(tail[i] * x)
			}
		}
	}
}
