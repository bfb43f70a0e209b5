package tokenizer

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// TestReplacementCounts has the counts of Python 3's
// bytes.decode("utf-8", errors="replace").
func TestReplacementCounts(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a€b", "a€b"},
		{"\xe2\x82", "�"},
		{"\xe2\x82A", "�A"},
		{"\xf0\x9f\x98", "�"},
		{"\xf0\x9f\x98\xe2\x82\xac", "�€"},
		{"\x80\x80", "��"},
		{"\xc0\x80", "��"},
		{"\xe0\x80\x80", "���"},
		{"\xed\xa0\x80", "���"},
		{"\xf4\x90\x80\x80", "����"},
		{"\xf0\x80\x80\x41", "���A"},
		{"\xff\xfe", "��"},
		{"�\xef\xbf", "��"},
		{"a\x80b\xe2", "a�b�"},
	} {
		b, err := NewBytes([]Token{{ID: 0, Bytes: []byte(c.in)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b.AppendDecode([]byte("é"), []int64{0}, true, true)); got != "é"+c.want {
			t.Errorf("%x: got %q, want %q", c.in, got, "é"+c.want)
		}
	}
}

// replaceSlowly finds the maximal part by trial: a prefix belongs to a
// character when some continuation completes it.
func replaceSlowly(in []byte) []byte {
	var out []byte
	for len(in) > 0 {
		if r, size := utf8.DecodeRune(in); r != utf8.RuneError || size > 1 {
			out, in = append(out, in[:size]...), in[size:]
			continue
		}
		n := 1
		for n < len(in) && n < 4 && begins(in[:n+1]) {
			n++
		}
		out, in = append(out, "�"...), in[n:]
	}
	return out
}

func begins(p []byte) bool {
	// Every lead and second byte that is possible at all is possible with one
	// of these tails.
	for _, tail := range []string{"", "\x80", "\x80\x80"} {
		if c := append(bytes.Clone(p), tail...); utf8.Valid(c) && utf8.RuneCount(c) == 1 {
			return true
		}
	}
	return false
}

func FuzzBytesDecode(f *testing.F) {
	f.Add([]byte("a€\xf0\x9f\x98"), []byte("\x80 中"), true)
	f.Add([]byte("\xe0\xa0"), []byte("\xed\xa0\xf4\x8f"), false)
	f.Fuzz(func(t *testing.T, one, two []byte, skip bool) {
		b, err := NewBytes([]Token{{ID: 3, Bytes: one}, {ID: 1, Bytes: two, Special: true}})
		if err != nil {
			t.Fatal(err)
		}
		raw := bytes.Join([][]byte{one, two, one}, nil)
		if skip {
			raw = append(bytes.Clone(one), one...)
		}
		if got, want := b.AppendDecode(nil, []int64{3, 1, 3}, skip, true), replaceSlowly(raw); !bytes.Equal(got, want) {
			t.Fatalf("%x: got %q, want %q", raw, got, want)
		}
	})
}
