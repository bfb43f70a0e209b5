package router

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// typed is a decoded batch.
type typed struct {
	wire.Message
	rids []string
	ipcs []wire.Opt[string]
}

func (b typed) rid(i int) string { return b.rids[i] }

func (b typed) key(rule string, i int) []byte {
	switch {
	case rule == ByRID:
		return []byte(b.rids[i])
	case i < len(b.ipcs) && b.ipcs[i].OK:
		return []byte(b.ipcs[i].V)
	}
	return nil
}

func decode(frame []byte) (typed, error) {
	m, err := wire.Decode(frame)
	if err != nil {
		return typed{}, fmt.Errorf("router: received frame: %w", err)
	}
	switch m := m.(type) {
	case *wire.BatchTokenIDOutput:
		return typed{m, m.RIDs, m.HTTPWorkerIPCs}, nil
	case *wire.BatchEmbeddingOutput:
		return typed{m, m.RIDs, m.HTTPWorkerIPCs}, nil
	}
	return typed{}, fmt.Errorf("router: received frame: got class %s, want BatchTokenIDOutput or BatchEmbeddingOutput", m.Class())
}

// takeRows makes the message of some rows, decoding the opaque columns for it.
func (l *line) takeRows(dst []byte, b typed, rows []int32) ([]byte, error) {
	list := make([]int, len(rows))
	for k, i := range rows {
		list[k] = int(i)
	}
	var part wire.Message
	var err error
	switch m := b.Message.(type) {
	case *wire.BatchTokenIDOutput:
		part, err = wire.Take(m, list, l.decodeAnew)
	case *wire.BatchEmbeddingOutput:
		part, err = wire.Take(m, list, l.decodeAnew)
	}
	if err != nil {
		return dst, err
	}
	return wire.Encode(dst, part)
}
