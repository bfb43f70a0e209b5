package cpu

import "github.com/fanoutbench/fanoutbench/runtime/model/kernels"

// product is a matrix times the tokens' activations. Its parts are grain rows.
type product struct {
	w     *kernels.Matrix
	in    *kernels.Input
	out   []float32 // [tokens, ld]
	ld    int       // 0: the matrix's rows
	rows  int       // the first so many; 0: all
	grain int
}

func (p *product) parts() int { return (p.rows + p.grain - 1) / p.grain }

// Parts are large enough to be worth their start and to be read in one go, and so many
// that the threads end at about the same time. Rows are done in steps of 16, so that the
// kernels see whole vectors.
const (
	partBytes      = 128 << 10
	partsPerThread = 4
	grainStep      = 16
)

// task fills in what a product leaves out.
func (m *Model) task(p product) product {
	p.in = &m.inputs[p.w.Format]
	if p.rows == 0 {
		p.rows = p.w.Rows
	}
	if p.ld == 0 {
		p.ld = p.w.Rows
	}
	threads := len(m.pool.workers) + 1
	p.grain = min(partBytes/(len(p.w.Data)/p.w.Rows), p.rows/(partsPerThread*threads))
	p.grain = max(p.grain/grainStep*grainStep, grainStep)
	return p
}

// plan makes tasks of products with the same activations, [n, cols], and prepares these
// once for each format among the matrices.
func (m *Model) plan(n int, from []float32, products ...product) {
	m.tasks = m.tasks[:0]
	var prepared [kernels.Q8 + 1]bool
	for _, p := range products {
		if f := p.w.Format; !prepared[f] {
			prepared[f] = true
			m.filled, m.from = &m.inputs[f], from[:n*p.w.Cols]
			m.filled.Reset(f, n, p.w.Cols)
			m.each(n, m.bodies.fill)
		}
		m.tasks = append(m.tasks, m.task(p))
	}
}

func (m *Model) fillToken(_, i int) { m.filled.Fill(m.from, i, i+1) }

// multiply does products with the same activations, [n, cols], in one region.
func (m *Model) multiply(n int, from []float32, products ...product) {
	m.plan(n, from, products...)
	parts := 0
	for i := range m.tasks {
		parts += m.tasks[i].parts()
	}
	m.pool.run(parts, m.bodies.products)
}

func (m *Model) productPart(_, part int) {
	for i := range m.tasks {
		p := &m.tasks[i]
		if n := p.parts(); part >= n {
			part -= n
			continue
		}
		from := part * p.grain
		kernels.Multiply(p.out, p.ld, p.w, p.in, from, min(from+p.grain, p.rows))
		return
	}
}

// gatedPart makes silu(gate)·up of a part of their rows, the two tasks at hand.
func (m *Model) gatedPart(_, part int) {
	gate, up := &m.tasks[0], &m.tasks[1]
	from := part * gate.grain
	to := min(from+gate.grain, gate.rows)
	kernels.Multiply(gate.out, gate.ld, gate.w, gate.in, from, to)
	kernels.Multiply(up.out, up.ld, up.w, up.in, from, to)
	for t := range m.tokens {
		kernels.SiLUMul(row(gate.out, t, gate.ld)[from:to], row(up.out, t, up.ld)[from:to])
	}
}
