package fanout

import "github.com/fanoutbench/fanoutbench/runtime/wire"

// vectors is the content of a batch of embeddings.
type vectors struct{ *wire.BatchEmbeddingOutput }

// receiveEmbeddings addresses the rows: there is nothing to detokenize.
func (l *line) receiveEmbeddings(m *wire.BatchEmbeddingOutput) *typed {
	b := &typed{vectors{m}, m.RIDs, make([]*consumer, m.Rows())}
	for i := range b.to {
		l.address(b, i, m.HTTPWorkerIPCs, nil)
	}
	return b
}

func (c vectors) wrapped() bool { return wrapped(c.TimeStats) }

func (c vectors) encode(dst []byte, rows []int, open wire.Opener, single bool) ([]byte, error) {
	m, err := wire.Take(c.BatchEmbeddingOutput, rows, open)
	if err != nil {
		return dst, err
	}
	if single {
		m.HTTPWorkerIPCs = nil
	}
	return wire.Encode(dst, m)
}
