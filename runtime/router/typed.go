package router

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// typed is a decoded batch.
type typed struct{ *wire.BatchTokenIDOutput }

func (b typed) rid(i int) string { return b.RIDs[i] }

func (b typed) key(rule string, i int) []byte {
	switch {
	case rule == ByRID:
		return []byte(b.RIDs[i])
	case i < len(b.HTTPWorkerIPCs) && b.HTTPWorkerIPCs[i].OK:
		return []byte(b.HTTPWorkerIPCs[i].V)
	}
	return nil
}

func decode(frame []byte) (typed, error) {
	msg, err := wire.DecodeTokenID(frame)
	if err != nil {
		return typed{}, fmt.Errorf("router: received frame: %w", err)
	}
	return typed{msg}, nil
}

// takeRows makes the message of some rows, decoding the opaque columns for it.
func (l *line) takeRows(dst []byte, b typed, rows []int32) ([]byte, error) {
	list := make([]int, len(rows))
	for k, i := range rows {
		list[k] = int(i)
	}
	part, err := wire.Take(b.BatchTokenIDOutput, list, l.decodeAnew)
	if err != nil {
		return dst, err
	}
	return wire.Encode(dst, part)
}
