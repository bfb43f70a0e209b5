package wire

import (
	"bytes"
	"math"
	"reflect"
	"testing"
)

// Payloads as Python writes them: array(code, values).tobytes() behind the
// metadata, on x86-64 and arm64 Linux.
var pythonArrays = []struct {
	code   byte
	values []int64
	raw    string
}{
	{'b', []int64{-128, -1, 127}, "\x80\xff\x7f"},
	{'B', []int64{0, 128, 255}, "\x00\x80\xff"},
	{'h', []int64{-32768, -2}, "\x00\x80\xfe\xff"},
	{'H', []int64{258, 65535}, "\x02\x01\xff\xff"},
	{'i', []int64{math.MinInt32, -3}, "\x00\x00\x00\x80\xfd\xff\xff\xff"},
	{'I', []int64{151645, math.MaxUint32}, "\x5d\x50\x02\x00\xff\xff\xff\xff"},
	{'l', []int64{-4}, "\xfc\xff\xff\xff\xff\xff\xff\xff"},
	{'L', []int64{math.MaxInt64}, "\xff\xff\xff\xff\xff\xff\xff\x7f"},
	{'q', []int64{math.MinInt64, 5}, "\x00\x00\x00\x00\x00\x00\x00\x80\x05\x00\x00\x00\x00\x00\x00\x00"},
	{'Q', []int64{72623859790382856}, "\x08\x07\x06\x05\x04\x03\x02\x01"},
	{'q', []int64{}, ""},
}

func TestIntArrays(t *testing.T) {
	for _, c := range pythonArrays {
		data := []byte("\x00\x00\x00\x02\xa1" + string(rune(c.code)) + c.raw)
		want := IntArray{Typecode: c.code, Values: c.values}
		got, err := parseInts(Ext{Type: extIntArray, Data: data})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%c: got %v, %v, want %v", c.code, got, err, want)
		}
		e, err := formatInts(nil, want)
		if err != nil || e.Type != extIntArray || !bytes.Equal(e.Data, data) {
			t.Errorf("%c: got %x, %v, want %x", c.code, e.Data, err, data)
		}
	}
	zero, err := formatInts(nil, IntArray{Values: []int64{1}})
	if err != nil || string(zero.Data[4:6]) != "\xa1q" {
		t.Errorf("the zero typecode: %x, %v", zero.Data, err)
	}
}

// Every typecode takes its smallest and largest value and not the next.
func TestIntArrayRanges(t *testing.T) {
	for code, r := range map[byte][2]int64{
		'b': {math.MinInt8, math.MaxInt8}, 'B': {0, math.MaxUint8},
		'h': {math.MinInt16, math.MaxInt16}, 'H': {0, math.MaxUint16},
		'i': {math.MinInt32, math.MaxInt32}, 'I': {0, math.MaxUint32},
		'l': {math.MinInt64, math.MaxInt64}, 'L': {0, math.MaxInt64},
		'q': {math.MinInt64, math.MaxInt64}, 'Q': {0, math.MaxInt64},
	} {
		takes := func(v int64) bool {
			_, err := formatInts(nil, IntArray{code, []int64{v}})
			return err == nil
		}
		if !takes(r[0]) || !takes(r[1]) {
			t.Errorf("%c refuses %d or %d", code, r[0], r[1])
		}
		if r[0] != math.MinInt64 && takes(r[0]-1) || r[1] != math.MaxInt64 && takes(r[1]+1) {
			t.Errorf("%c takes a value beyond %d or %d", code, r[0], r[1])
		}
	}
	if _, err := parseInts(Ext{extIntArray, []byte("\x00\x00\x00\x02\xa1Q\xff\xff\xff\xff\xff\xff\xff\xff")}); err == nil {
		t.Error("2^64-1 became an int64")
	}
}
