package pickle

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle/pickletest"
)

// checkColumn holds every row of a column, and some groups of rows, against the
// twin. It returns the error of Parse.
func checkColumn(t *testing.T, data []byte) error {
	t.Helper()
	before := bytes.Clone(data)
	var c Column
	if err := c.Parse(data); err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(data) {
			t.Fatalf("got %#v, want an *Error inside the pickle", err)
		}
		if _, ok := c.AppendRow(nil, 0); ok || !c.Null() {
			t.Fatalf("a row after %v", err)
		}
		return err
	}
	whole, err := pickletest.Unpickle(data)
	if err != nil {
		t.Fatalf("the twin cannot read what Parse can: %v", err)
	}
	var groups [][]int32
	var every []int32
	for i := range int32(min(c.rows, 400)) + 1 {
		groups = append(groups, []int32{i})
		every = append([]int32{i}, every...)
	}
	groups = append(groups, every, nil)
	if c.rows > 1 {
		groups = append(groups, []int32{0, int32(c.rows - 1)}, []int32{int32(c.rows - 1), 0, 1, 0})
	}
	for _, rows := range groups {
		got, ok := c.AppendRows([]byte("x"), rows)
		want := pickletest.Cut(whole, rows)
		if got[0] != 'x' || ok != (want != nil) || !ok && len(got) != 1 {
			t.Fatalf("rows %v: got %q, %t, want null %t", rows, got, ok, want == nil)
		}
		if !ok {
			continue
		}
		v, err := pickletest.Unpickle(got[1:])
		if err != nil {
			t.Fatalf("rows %v: %q: %v", rows, got[1:], err)
		}
		if v.String() != want.String() {
			t.Fatalf("rows %v: %q is\n%v\nwant\n%v", rows, got[1:], v, want)
		}
	}
	if !bytes.Equal(data, before) {
		t.Fatal("the pickle was changed")
	}
	return nil
}

// Pickles by hand, each with what CPython's disassembler would show.
var columns = map[string]string{
	"none":                        "N",
	"empty list":                  "]",
	"empty tuple":                 ")",
	"empty dict":                  "}",
	"one":                         "]K\x07a",
	"two":                         "](K\x07K\x08e",
	"tuple":                       "K\x01K\x02\x86",
	"appended in turns":           "](K\x01K\x02eK\x03a(K\x04K\x05e",
	"a shared list":               "](]\x94K\x01ah\x00e",
	"a get of a get":              "](]\x94h\x00a]\x94h\x00ah\x01e",
	"a key that is fetched":       "}(\x8c\x01a\x94](h\x00h\x00eh\x00]h\x00au",
	"one list for two keys":       "}(\x8c\x01a]\x94(K\x01K\x02e\x8c\x01bh\x00u",
	"short, None, long":           "}(\x8c\x01a]K\x01a\x8c\x01bN\x8c\x01c](K\x01K\x02eu",
	"a list out of a row":         "}(\x8c\x01a](](]\x94(K\x01K\x02eee\x8c\x01bh\x00u",
	"a tuple out of a row":        "}(\x8c\x01a](]((K\x01K\x02t\x94e]e\x8c\x01bh\x00u",
	"pairs one by one":            "}\x8c\x01a]K\x01as\x8c\x01b]K\x02as",
	"frames":                      "\x95\x04\x00\x00\x00\x00\x00\x00\x00]\x94K\x01\x95\x00\x00\x00\x00\x00\x00\x00\x00a",
	"numbered twice":              "](]\x94\x94h\x01\x94h\x02h\x00e",
	"a list in itself":            "](]\x94h\x00ah\x00e",
	"a column in itself":          "]\x94(h\x00h\x00e",
	"a tuple around its list":     "](]\x94h\x00\x85\x94ah\x01e",
	"a tuple around the column":   "]\x94(h\x00\x85\x94h\x01e",
	"a class, fetched":            "](\x8c\x01m\x94\x8c\x01C\x94\x93\x94)\x81\x94}\x94\x8c\x01k\x94K\x01sbh\x02)\x81\x94}h\x05K\x02sbe",
	"inner first, then the outer": "](]\x94]\x94K\x01aah\x01h\x00\x86e",
	"a class and its module":      "](\x8c\x01m\x94\x8c\x01C\x94\x93\x94h\x00h\x02\x86h\x00h\x00\x93h\x02\x86e",
	"an object of lists":          "](\x8c\x01m\x8c\x01L\x93)\x81\x94K\x01a(K\x02K\x03eh\x00e",
	"sets":                        "](\x8f\x94(K\x01K\x02\x90(K\x01\x91\x94h\x00h\x01e",
	"new with keywords":           "]\x8c\x01m\x8c\x01C\x93)}\x92a",
	"long things":                 "](X\x01\x00\x00\x00aB\x01\x00\x00\x00b\x8d\x01\x00\x00\x00\x00\x00\x00\x00c\x8e\x00\x00\x00\x00\x00\x00\x00\x00\x8a\x01\x05\x8b\x01\x00\x00\x00\x06J\x01\x00\x00\x00M\x01\x00e",
	"ancestors in turn":           "]\x94(]\x94(]\x94(h\x01h\x00\x86\x94h\x02eh\x03eh\x03e",
}

func TestColumns(t *testing.T) {
	for name, body := range columns {
		t.Run(name, func(t *testing.T) {
			if err := checkColumn(t, []byte("\x80\x04"+body+".")); err != nil {
				t.Error(err)
			}
		})
	}
	if err := checkColumn(t, []byte("\x80\x05]\x96\x01\x00\x00\x00\x00\x00\x00\x00xa.")); err != nil {
		t.Errorf("a bytearray of protocol 5: %v", err)
	}
}

// Rows are what this package says, to the byte.
func TestRowBytes(t *testing.T) {
	for _, x := range []struct{ body, row string }{
		{"](K\x07K\x08e", "\x80\x04]K\x08a."},
		{"](\x8c\x01a\x94h\x00e", "\x80\x04]\x8c\x01a\x94a."},
		{"](]\x94h\x00\x86h\x00h\x00\x86e", "\x80\x04]]\x94h\x00\x86a."},
		{"](]\x94]\x94K\x01aah\x01h\x00\x86e", "\x80\x04]]\x94K\x01a]\x94h\x00a\x86a."},
		{"}(\x8c\x01a\x94](NK\x02e\x8c\x01b](h\x00h\x00eu", "\x80\x04}(\x8c\x01a\x94]K\x02a\x8c\x01b]h\x00au."},
	} {
		var c Column
		if err := c.Parse([]byte("\x80\x04" + x.body + ".")); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.AppendRow(nil, 1); string(got) != x.row || !ok {
			t.Errorf("%q: got %q, %t, want %q", x.body, got, ok, x.row)
		}
	}
}

func TestErrors(t *testing.T) {
	for want, data := range map[string]string{
		"pickle: end at byte 0: want PROTO":                                                "",
		"pickle: EMPTY_LIST at byte 0: want PROTO with 4 or 5 at the start":                "].",
		"pickle: PROTO at byte 0: want PROTO with 4 or 5":                                  "\x80\x02].",
		"pickle: end at byte 3: want STOP":                                                 "\x80\x04]",
		"pickle: STOP at byte 3: got 1 bytes after it":                                     "\x80\x04].N",
		"pickle: STOP at byte 2: got 0 values and marks on the stack":                      "\x80\x04.",
		"pickle: STOP at byte 4: got 2 values and marks on the stack":                      "\x80\x04](.",
		"pickle: GLOBAL at byte 3: this opcode cannot be split":                            "\x80\x04]cos\nsystem\n.",
		"pickle: byte 0xff at byte 3: this opcode cannot":                                  "\x80\x04]\xff.",
		"pickle: POP at byte 4: this opcode cannot":                                        "\x80\x04]N0.",
		"pickle: BINPUT at byte 3: this opcode cannot":                                     "\x80\x04]q\x00.",
		"pickle: PERSID at byte 3":                                                         "\x80\x04]P1\na.",
		"pickle: NEXT_BUFFER at byte 3":                                                    "\x80\x05]\x97a.",
		"pickle: SHORT_BINUNICODE at byte 3: the pickle ends inside":                       "\x80\x04]\x8c\x09a.",
		"pickle: BINUNICODE8 at byte 3: the pickle ends inside":                            "\x80\x04]\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.",
		"pickle: BINFLOAT at byte 3: the pickle ends inside":                               "\x80\x04]G1234567",
		"pickle: BINBYTES at byte 3: the pickle ends inside":                               "\x80\x04]B\x01\x00",
		"pickle: FRAME at byte 2: the pickle ends inside the frame":                        "\x80\x04\x95\xff\x00\x00\x00\x00\x00\x00\x00].",
		"pickle: BINGET at byte 4: got number 1 of the memo, want one of the 1":            "\x80\x04]\x94h\x01a.",
		"pickle: LONG_BINGET at byte 4: got number 4294967295":                             "\x80\x04]\x94j\xff\xff\xff\xffa.",
		"pickle: LONG_BINGET at byte 4: the pickle ends":                                   "\x80\x04]\x94j\x00",
		"pickle: MEMOIZE at byte 2: got no value on the stack":                             "\x80\x04\x94.",
		"pickle: MEMOIZE at byte 4: got no value on the stack":                             "\x80\x04](\x94e.",
		"pickle: PROTO at byte 3: got it inside":                                           "\x80\x04]\x80\x04.",
		"pickle: APPEND at byte 3: got 1 values on the stack, want 2":                      "\x80\x04]a.",
		"pickle: APPENDS at byte 3: got no MARK":                                           "\x80\x04]e.",
		"pickle: APPENDS at byte 5: got a number or bytes on the stack, want a list or an": "\x80\x04K\x01(e.",
		"pickle: APPEND at byte 4: got a mark on the stack, want a value":                  "\x80\x04](a.",
		"pickle: SETITEMS at byte 5: got 1 keys and values, want pairs":                    "\x80\x04}(Nu.",
		"pickle: APPEND at byte 7: got a value of the memo to change":                      "\x80\x04]\x94h\x00Na.",
		"pickle: STACK_GLOBAL at byte 7: got None on the stack, want a str":                "\x80\x04]\x8c\x01aN\x93a.",
		"pickle: BINFLOAT at byte 2: the column is a number or bytes, want a list with":    "\x80\x04G12345678.",
		"pickle: BININT1 at byte 6: a value of the column's dict is a number or bytes":     "\x80\x04}\x8c\x01aK\x01s.",
	} {
		err := checkColumn(t, []byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", data, err, want)
		}
	}
}

func FuzzColumn(f *testing.F) {
	for _, body := range columns {
		f.Add([]byte("\x80\x04" + body + "."))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4000 { // the twin's own cost
			_ = checkColumn(t, data)
		}
	})
}
