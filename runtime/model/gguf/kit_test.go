package gguf

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// pack writes values one after another: strings with their lengths, bytes as they are.
func pack(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		case float32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		case float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// Short for the types of the numbers that a file has most of.
func u32(n int) uint32 { return uint32(n) }
func u64(n int) uint64 { return uint64(n) }

// made is a file: keys and infos are packed, each with how many there are.
type made struct {
	version       uint32
	keys, tensors int
	keyBytes      []byte
	infoBytes     []byte
	data          []byte
	alignment     int
}

func (m made) bytes() []byte {
	if m.version == 0 {
		m.version = 3
	}
	if m.alignment == 0 {
		m.alignment = 32
	}
	b := pack([]byte("GGUF"), m.version, u64(m.tensors), u64(m.keys), m.keyBytes, m.infoBytes)
	for len(b)%m.alignment != 0 {
		b = append(b, 0)
	}
	return append(b, m.data...)
}

// counting are n bytes that count up.
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// matrix is the info of one.
func matrix(name string, cols, rows uint64, dtype int, offset uint64) []byte {
	return pack(name, u32(2), cols, rows, u32(dtype), offset)
}
