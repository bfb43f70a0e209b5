//go:build cuda

package cuda

import "encoding/binary"

// staging is a block's numbers as they go up, in one piece: the arrays of 64 bits first.
type staging struct {
	bytes []byte
	at    uint64 // on the device
}

// stagingBytes is the most that a block's arrays take: of each token its id, the start of its
// table, its row, position, slot and length.
func stagingBytes(r room) int64 { return int64(r.tokens)*(3*8+3*4) + int64(r.table)*4 }

// numbers are the addresses of a block's arrays on the device.
type numbers struct {
	ids, starts, rows         uint64 // int64
	positions, slots, lengths uint64 // int32
	table                     uint64 // int32
}

func (s *staging) reset() { s.bytes = s.bytes[:0] }

// here is where the next number will be on the device.
func (s *staging) here() uint64 { return s.at + uint64(len(s.bytes)) }

func (s *staging) long(n int) { s.bytes = binary.LittleEndian.AppendUint64(s.bytes, uint64(n)) }
func (s *staging) short(n int) {
	s.bytes = binary.LittleEndian.AppendUint32(s.bytes, uint32(n))
}
