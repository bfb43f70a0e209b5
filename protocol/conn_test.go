package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// lines are all types that travel as a line.
var lines = []any{
	Hello{}, Receipt{}, Trial{}, Result{}, Error{}, Signal{},
	Configure{}, Ready{}, Prepare{}, Report{}, Listing{},
}

func TestLinesRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var pipe bytes.Buffer
		c := NewConn(&pipe, &pipe)
		for _, kind := range lines {
			sent := reflect.New(reflect.TypeOf(kind))
			random(rng, sent.Elem())
			if err := c.Send(sent.Interface()); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(pipe.Bytes(), []byte("\n")) != 1 {
				t.Fatalf("seed %d: %T was not sent as one line: %q", seed, kind, pipe.Bytes())
			}
			if _, ok := kind.(Listing); ok { // not a line of a conversation: it has no type
				continue
			}
			got := reflect.New(reflect.TypeOf(kind))
			line, err := c.Receive()
			if err == nil {
				err = line.Expect(sent.Elem().FieldByName("Type").String(), got.Interface())
			}
			if err != nil || !reflect.DeepEqual(got.Interface(), sent.Interface()) {
				t.Fatalf("seed %d: got %+v, %v, want %+v", seed, got.Elem(), err, sent.Elem())
			}
		}
	}
}

// TestUnknownKeys puts one key more into a line of every type.
func TestUnknownKeys(t *testing.T) {
	for _, kind := range lines {
		sent := reflect.New(reflect.TypeOf(kind))
		random(rand.New(rand.NewPCG(1, 2)), sent.Elem())
		b, err := json.Marshal(sent.Interface())
		if err != nil {
			t.Fatal(err)
		}
		raw := strings.Replace(string(b), "{", `{"surplus":1,`, 1)
		err = Line{Type: "x", Raw: []byte(raw)}.Decode(reflect.New(reflect.TypeOf(kind)).Interface())
		if err == nil || !strings.Contains(err.Error(), "surplus") {
			t.Errorf("%T: got %v, want an error that names the key", kind, err)
		}
	}
}

// TestReceive reads one input to its end: the types of the lines that are right,
// and for each wrong one a part of its error.
func TestReceive(t *testing.T) {
	long := strings.Repeat("x", MaxLine-len(`{"type":""}`)-1)
	for _, test := range []struct {
		name, input string
		want        []string
	}{
		{"nothing", "", []string{"EOF"}},
		{"an end between lines", "{\"type\":\"a\"}\n", []string{"a", "EOF"}},
		{"half a line", "{\"type\":\"a\"}\n{\"type\":\"b\"", []string{"a", "input ended inside the line"}},
		{"a whole object without its line end", `{"type":"a"}`, []string{"input ended inside the line"}},
		{"no object", "[1]\n{\"type\":\"a\"}\n", []string{"not a JSON object", "a", "EOF"}},
		{"a string", "\"type\"\n", []string{"not a JSON object", "EOF"}},
		{"null", "null\n", []string{"not a JSON object: it is null", "EOF"}},
		{"an empty line", "\n{\"type\":\"a\"}\n", []string{"not a JSON object", "a", "EOF"}},
		{"not JSON", "Traceback (most recent call last):\n", []string{`line "Traceback (most recent call last):" is not a JSON object`, "EOF"}},
		{"two objects", "{\"type\":\"a\"}{\"type\":\"b\"}\n", []string{"not a JSON object", "EOF"}},
		{"blanks and a carriage return", " {\"type\" : \"a\"}\r\n", []string{"a", "EOF"}},
		{"no type", "{\"id\":1}\n", []string{`no "type"`, "EOF"}},
		{"a type that is null", "{\"type\":null}\n", []string{`no "type"`, "EOF"}},
		{"a type that is a number", "{\"type\":5}\n", []string{`no "type"`, "EOF"}},
		{"a type in capitals", "{\"Type\":\"a\"}\n", []string{`no "type"`, "EOF"}},
		{"bytes that are no UTF-8", "{\"type\":\"a\",\"x\":\"\xff\"}\n", []string{"byte 17 is not UTF-8", "EOF"}},
		{"half a surrogate pair", `{"type":"a","x":"\ud83d"}` + "\n", []string{`\ud83d at byte 17 is half a character`, "EOF"}},
		{"the longest line", `{"type":"` + long + "\"}\n{\"type\":\"a\"}\n", []string{long, "a", "EOF"}},
		{"a byte more", `{"type":"x` + long + "\"}\n{\"type\":\"a\"}\n", []string{"a line of more than 4194304 bytes", "a line of more than 4194304 bytes"}},
		{"no line end at all", strings.Repeat("[", MaxLine+1), []string{"a line of more than 4194304 bytes"}},
	} {
		for _, in := range []io.Reader{strings.NewReader(test.input), iotest.HalfReader(strings.NewReader(test.input))} {
			c := NewConn(in, nil)
			for i, want := range test.want {
				line, err := c.Receive()
				got := line.Type
				if err != nil {
					got = err.Error()
				}
				if err == nil && got != want || !strings.Contains(got, want) {
					t.Errorf("%s: line %d gave %.200q, want %.200q", test.name, i, got, want)
				}
			}
		}
	}
}

// A line's end is never taken from what comes after an error of reading.
func TestReadErrorStays(t *testing.T) {
	failed := errors.New("unplugged")
	c := NewConn(io.MultiReader(strings.NewReader(`{"type":`), iotest.ErrReader(failed), strings.NewReader("\"a\"}\n")), nil)
	for range 3 {
		if line, err := c.Receive(); !errors.Is(err, failed) {
			t.Fatalf("got %+v, %v, want the reader's error", line, err)
		}
	}
}

func TestExpect(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`{"type":"result","id":"7","metrics":{"complete_ms":1,"first_ms":null,"first_all_ms":null,"spread_ms":null,"worker_cpu_ms":null},"counters":{},"rows":{"path":"","sha256":"","bytes":0}}`, ""},
		{`{"type":"error","message":"no such option"}`, "no such option"},
		{`{"type":"error","message":"no such option","code":1}`, `unknown field "code"`},
		{`{"type":"receipt"}`, `got a line of type "receipt", want "result"`},
		{`{"type":"result","id":7}`, "result line: json: cannot unmarshal number"},
	} {
		line, err := NewConn(strings.NewReader(test.line+"\n"), nil).Receive()
		if err != nil {
			t.Fatal(err)
		}
		var r Result
		err = line.Expect(TypeResult, &r)
		if test.want == "" && (err != nil || r.ID != "7") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %+v, %v, want %q", test.line, r, err, test.want)
		}
		var peer *PeerError
		if errors.As(err, &peer) != (test.want == "no such option") {
			t.Errorf("%s: %v is a *PeerError: %t", test.line, err, errors.As(err, &peer))
		}
	}
}

// A hello of a later version has keys that this one does not know. The error is
// about the version.
func TestLaterVersion(t *testing.T) {
	for _, test := range []struct {
		line, part string
		named      bool
	}{
		{`{"type":"hello","version":2,"colour":"red"}`, "hello line of protocol version", true},
		{`{"type":"hello","version":1,"colour":"red"}`, "protocol version", false},
		{`{"type":"ready","version":"devel","colour":"red"}`, "protocol version", false},
	} {
		line, err := NewConn(strings.NewReader(test.line+"\n"), nil).Receive()
		if err != nil {
			t.Fatal(err)
		}
		var h Hello
		if err := line.Expect(line.Type, &h); err == nil || strings.Contains(err.Error(), test.part) != test.named {
			t.Errorf("%s: got %v, want %q in it: %t", test.line, err, test.part, test.named)
		}
	}
}

func TestSendErrors(t *testing.T) {
	failed := errors.New("broken pipe")
	if err := NewConn(nil, failingWriter{failed}).Send(Signal{Type: TypeStop}); !errors.Is(err, failed) {
		t.Errorf("got %v, want the writer's error", err)
	}
	var out bytes.Buffer
	c := NewConn(nil, &out)
	fit := Error{Message: strings.Repeat("x", MaxLine-len(`{"type":"","message":""}`)-1)}
	if err := c.Send(fit); err != nil || out.Len() != MaxLine {
		t.Errorf("got %v and %d bytes, want the longest line, %d", err, out.Len(), MaxLine)
	}
	out.Reset()
	fit.Message += "x"
	if err := c.Send(fit); err == nil || out.Len() != 0 {
		t.Errorf("got %v and %d bytes, want an error and nothing sent", err, out.Len())
	}
	if err := c.Send(func() {}); err == nil || out.Len() != 0 {
		t.Errorf("got %v and %d bytes, want an error and nothing sent", err, out.Len())
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// naive reads the same input with a line scanner and plain maps.
func naive(input []byte) []string {
	var out []string
	r := bufio.NewReader(bytes.NewReader(input))
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return append(out, fmt.Sprint("end, with a rest: ", len(line) > 0))
		}
		var object map[string]any
		name, ok := "", false
		if json.Unmarshal(line, &object) == nil && wholeTwin(line) {
			name, ok = object["type"].(string)
		}
		out = append(out, fmt.Sprint(name, ok))
	}
}

// wholeTwin says whether valid JSON holds whole characters only: what it says
// is the same without any U+FFFD that it does not spell itself.
func wholeTwin(raw []byte) bool {
	spelt := strings.Count(string(raw), "\uFFFD")
	for rest := string(raw); ; {
		at := strings.IndexByte(rest, '\\')
		if at < 0 {
			break
		}
		if at+6 <= len(rest) && strings.EqualFold(rest[at:at+6], `\ufffd`) && rest[at+1] == 'u' {
			spelt++
		}
		rest = rest[min(len(rest), at+2):]
	}
	return utf8.Valid(raw) && countReplaced(raw) == spelt
}

// countReplaced counts U+FFFD in all strings of raw, keys too.
func countReplaced(raw []byte) int {
	n := 0
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return n
		}
		if s, ok := token.(string); ok {
			n += strings.Count(s, "\uFFFD")
		}
	}
}

func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		"{\"type\":\"stop\"}\n", "{\"type\":\"a\"}\n\n{}\n[]\nnull\n{\"type\":1}\n{\"type\":\"b\"}", "{\"type\":\"\\ud83d\\ude00\\\\ud83d\"}\n",
		"{\"type\":\"\\ude00\\ud83d\"}\n", "{\"type\":\"\\uFFFD\xff\"}\n", "{\"type\":\"a\",\"type\":null}\n", "{\"type\":\"\\ud83d\\n\"}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		c := NewConn(bytes.NewReader(input), nil)
		for i, want := range naive(input) {
			line, err := c.Receive()
			got := fmt.Sprint(line.Type, err == nil)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				got = fmt.Sprint("end, with a rest: ", errors.Is(err, io.ErrUnexpectedEOF))
			}
			if got != want {
				t.Fatalf("line %d: got %q (%v), want %q", i, got, err, want)
			}
		}
	})
}
