package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "record testdata anew with the program of this tree")

// folder stands in testdata for the folder of the hello.
const folder = "$DIR"

const (
	fromDriver     = "> "
	fromController = "< "
)

// spoken are the lines of a conversation, and the type of each.
var spoken = map[string]func() any{
	TypeHello:   func() any { return new(Hello) },
	TypeReceipt: func() any { return new(Receipt) },
	TypeTrial:   func() any { return new(Trial) },
	TypeResult:  func() any { return new(Result) },
	TypeStop:    func() any { return new(Signal) },
	TypeStopped: func() any { return new(Signal) },
}

// TestTranscript reads a conversation that a driver had with the controller of
// this module, and writes the same lines again.
func TestTranscript(t *testing.T) {
	if *rewrite {
		record(t)
	}
	text, err := os.ReadFile("testdata/transcript.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"> hello", "< receipt", "> trial", "< result", "> stop", "< stopped"}
	var order []string
	for line := range strings.Lines(string(text)) {
		from, raw := line[:len(fromDriver)], line[len(fromDriver):]
		got, err := NewConn(strings.NewReader(raw), nil).Receive()
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, from+got.Type)
		if spoken[got.Type] == nil {
			t.Fatalf("a line of type %q, want one of a conversation", got.Type)
		}
		v := spoken[got.Type]()
		if err := got.Decode(v); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := NewConn(nil, &again).Send(v); err != nil || again.String() != raw {
			t.Errorf("sent %s, %v, want %s", again.String(), err, raw)
		}
		checkBulk(t, v)
	}
	if !slices.Equal(order, want) {
		t.Errorf("got the lines %q, want %q", order, want)
	}
}

// checkBulk reads the files that the recorded lines name.
func checkBulk(t *testing.T, line any) {
	t.Helper()
	var f File
	var v any
	switch line := line.(type) {
	case *Trial:
		f, v = line.Work, new(Work)
	case *Result:
		f, v = line.Rows, new(Delivery)
	default:
		return
	}
	f.Path = strings.Replace(f.Path, folder, "testdata", 1)
	if err := ReadFile(f, v); err != nil {
		t.Fatal(err)
	}
	again, err := WriteFile(filepath.Join(t.TempDir(), "again.json"), v)
	if err != nil || again.SHA256 != f.SHA256 {
		t.Errorf("%s: written again it has sha256 %s, %v, want %s", f.Path, again.SHA256, err, f.SHA256)
	}
	if d, ok := v.(*Delivery); ok {
		checkRecordedRows(t, d.Rows)
	}
}

// checkRecordedRows: three steps of three rows and of a fence row for each of
// two consumers.
func checkRecordedRows(t *testing.T, rows []Row) {
	t.Helper()
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%d.%d %s %s", r.Endpoint, r.Position, r.Fields["rids"], r.Fields["output_strs"]))
	}
	want := []string{
		`0.0 "rid-0" "a"`, `0.1 "rid-2" "a"`, `0.2 "rid-0" " b"`, `0.3 "rid-2" " b"`, `0.4 "rid-0" " c"`, `0.5 "rid-2" " c"`,
		`0.6 "end-0" "a"`, `0.7 "end-0" " b"`, `0.8 "end-0" " c"`,
		`1.0 "rid-1" "a"`, `1.1 "rid-1" " b"`, `1.2 "rid-1" " c"`,
		`1.3 "end-1" "a"`, `1.4 "end-1" " b"`, `1.5 "end-1" " c"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// exampleWork is a small stream of the published fixture's shape.
func exampleWork() Work {
	w := Work{Vocabulary: Vocabulary{Kind: VocabularyWords}, PromptIDs: slices.Repeat([]int64{1}, 10)}
	for i, word := range []string{"[UNK]", "a", "b", "c"} {
		w.Vocabulary.Tokens = append(w.Vocabulary.Tokens, Token{ID: int64(i), Bytes: []byte(word)})
	}
	for step := 1; step <= 3; step++ {
		w.Stream = append(w.Stream, exampleBatch("rid", []int{0, 1, 0}, step, true))
		w.Fence = append(w.Fence, exampleBatch("end", []int{0, 1}, step, false))
	}
	return w
}

func exampleBatch(name string, consumers []int, step int, rich bool) Batch {
	column := func(value func(i int) string) json.RawMessage {
		var values []string
		for i := range consumers {
			values = append(values, value(i))
		}
		return json.RawMessage("[" + strings.Join(values, ",") + "]")
	}
	same := func(value any) json.RawMessage { return column(func(int) string { return fmt.Sprint(value) }) }
	finish := "null"
	if step == 3 {
		finish = `{"type":"length","length":3}`
	}
	b := Batch{Consumers: consumers, Columns: map[string]json.RawMessage{
		"rids":             column(func(i int) string { return fmt.Sprintf(`"%s-%d"`, name, i) }),
		"finished_reasons": same(finish), "decoded_texts": same(`""`),
		"decode_ids": same(fmt.Sprintf("[%d]", step)), "output_ids": same(fmt.Sprintf("[%d]", step)), "read_offsets": same(0),
		"skip_special_tokens": same(true), "spaces_between_special_tokens": same(true), "no_stop_trim": same(false),
		"prompt_tokens": same(10), "reasoning_tokens": same(0), "completion_tokens": same(step), "cached_tokens": same(0),
	}}
	if rich {
		metric := column(func(i int) string { return fmt.Sprintf("[%d.5,0.25]", i) })
		nested := column(func(i int) string { return fmt.Sprintf(`[{"x":[%d],"label":"λ"}]`, i) })
		b.Columns["customized_info"] = fmt.Appendf(nil, `{"metric":%s,"nested":%s}`, metric, nested)
		b.Columns["time_stats"] = column(func(i int) string {
			return fmt.Sprintf(`{"has_timing_data":true,"wait_queue_entry_time":1800000010.00%d,"queue_duration_s":0.25}`, i+step)
		})
	}
	return b
}

// recorder speaks to a controller and keeps every line, as it was sent.
type recorder struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Reader
	text bytes.Buffer
	dir  string
}

func (r *recorder) keep(from string, line []byte) {
	r.text.WriteString(from + strings.ReplaceAll(string(line), r.dir, folder))
}

func (r *recorder) ask(question any) Line {
	r.t.Helper()
	var sent bytes.Buffer
	if err := NewConn(nil, &sent).Send(question); err != nil {
		r.t.Fatal(err)
	}
	r.keep(fromDriver, sent.Bytes())
	if _, err := r.in.Write(sent.Bytes()); err != nil {
		r.t.Fatal(err)
	}
	answer, err := r.out.ReadBytes('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	r.keep(fromController, answer)
	line, err := NewConn(bytes.NewReader(answer), nil).Receive()
	if err != nil {
		r.t.Fatal(err)
	}
	return line
}

// record builds the program and has the conversation of doc.go with it.
func record(t *testing.T) {
	dir, err := os.MkdirTemp("", "fb")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(t.TempDir(), "fanoutbench")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/fanoutbench").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "__controller", "--strategy", "per-row")
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, in: in, out: bufio.NewReader(out), dir: dir}
	converse(r)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"transcript.jsonl": r.text.Bytes(), "work.json": nil, "rows.json": nil} {
		if content == nil {
			if content, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join("testdata", name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func converse(r *recorder) {
	work, err := WriteFile(filepath.Join(r.dir, "work.json"), exampleWork())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, step := range []struct {
		question any
		want     string
	}{
		{Hello{
			Type: TypeHello, Version: Version, Transport: TransportMsgpack, Options: map[string]string{}, HTTPWorkers: 2,
			Consumer: ConsumerDecode, Pace: PaceArrived, Dir: r.dir, WaitMS: 20000,
		}, TypeReceipt},
		{Trial{Type: TypeTrial, ID: "0.0.3.rich", Cell: Cell{Count: 3, Metadata: "rich"}, Work: work}, TypeResult},
		{Signal{Type: TypeStop}, TypeStopped},
	} {
		if err := r.ask(step.question).Expect(step.want, spoken[step.want]()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestEveryKeyIsDocumented: another language has nothing but the page.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(page), func(r rune) bool { return !(r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				if !slices.Contains(words, key) {
					t.Errorf("%v: the page does not have the key %q", of, key)
				}
				visit(of.Field(i).Type)
			}
		}
	}
	for _, v := range append(slices.Clone(lines), Work{}, Delivery{}, Frames{}) {
		visit(reflect.TypeOf(v))
	}
}
