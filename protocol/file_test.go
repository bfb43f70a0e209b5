package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFilesRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bulk.json")
	for seed := range uint64(50) {
		for _, kind := range []any{Work{}, Delivery{}, Frames{}} {
			written, got := reflect.New(reflect.TypeOf(kind)), reflect.New(reflect.TypeOf(kind))
			random(rand.New(rand.NewPCG(seed, 2)), written.Elem())
			f, err := WriteFile(path, written.Interface())
			if err == nil {
				err = ReadFile(f, got.Interface())
			}
			if err != nil || !reflect.DeepEqual(got.Interface(), written.Interface()) {
				t.Fatalf("seed %d: got %+v, %v, want %+v", seed, got.Elem(), err, written.Elem())
			}
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file for this user only", st.Mode(), err)
	}
}

// described writes content and says what is true of it.
func described(t testing.TB, path string, content []byte) File {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return File{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
}

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	right := described(t, filepath.Join(dir, "right.json"), []byte(`{"rows":[]}`))
	changed := func(change func(*File)) File {
		f := right
		change(&f)
		return f
	}
	content := func(name, text string) File { return described(t, filepath.Join(dir, name), []byte(text)) }
	for _, test := range []struct {
		name string
		file File
		want string
	}{
		{"as it is", right, ""},
		{"line ends around it", content("ends", "\n{\"rows\":[]}\n"), ""},
		{"no file", changed(func(f *File) { f.Path = filepath.Join(dir, "none") }), "no such file"},
		{"no path", changed(func(f *File) { f.Path = "" }), "no such file"},
		{"a folder", changed(func(f *File) { f.Path = dir }), "no regular file but d"},
		{"too short", changed(func(f *File) { f.Bytes++ }), "has 11 bytes, the line says 12"},
		{"too long", changed(func(f *File) { f.Bytes-- }), "has 11 bytes, the line says 10"},
		{"a negative length", changed(func(f *File) { f.Bytes = -1 }), "says -1 bytes"},
		{"a length beyond the limit", changed(func(f *File) { f.Bytes = MaxFile + 1 }), "want 0 to 1073741824"},
		{"another hash", changed(func(f *File) { f.SHA256 = strings.Repeat("0", 64) }), "has sha256 " + right.SHA256},
		{"the hash in capitals", changed(func(f *File) { f.SHA256 = strings.ToUpper(f.SHA256) }), "has sha256 " + right.SHA256},
		{"no hash", changed(func(f *File) { f.SHA256 = "" }), "has sha256 " + right.SHA256},
		{"an unknown key", content("key", `{"rows":[],"colour":"red"}`), `unknown field "colour"`},
		{"an unknown key of a row", content("deep", `{"rows":[{"endpoint":0,"position":0,"fields":{},"colour":1}]}`), `unknown field "colour"`},
		{"a second value", content("two", `{"rows":[]} {}`), "more than one JSON value"},
		{"a rest that is no JSON", content("rest", `{"rows":[]}]`), "more than one JSON value"},
		{"half a file", content("half", `{"rows":[`), "unexpected EOF"},
		{"an empty file", content("empty", ""), "EOF"},
		{"a list", content("list", "[]"), "cannot unmarshal array"},
		{"bytes that are no UTF-8", content("bytes", "{\"rows\":[{\"fields\":{\"output_strs\":\"\xe2\x82\"}}]}"), "byte 35 is not UTF-8"},
		{"half a surrogate pair", content("half pair", `{"rows":[{"fields":{"output_strs":"\uDE00"}}]}`), `\uDE00 at byte 35 is half a character`},
	} {
		var d Delivery
		err := ReadFile(test.file, &d)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if test.file.Path != "" && err != nil && !strings.Contains(err.Error(), test.file.Path) {
			t.Errorf("%s: %v does not name the file", test.name, err)
		}
	}
}

func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	if f, err := WriteFile(filepath.Join(dir, "x"), func() {}); err == nil || f != (File{}) {
		t.Errorf("got %+v, %v, want an error for what JSON has no form for", f, err)
	}
	if f, err := WriteFile(filepath.Join(dir, "none", "x"), 1); err == nil || f != (File{}) {
		t.Errorf("got %+v, %v, want an error for a folder that is not there", f, err)
	}
}

// FuzzReadFile: what is read is what a reader of JSON finds in the bytes, and
// nothing is read whose description is wrong.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte(`{"rows":[{"endpoint":1,"position":0,"fields":{"rids":"a","output_strs":"\ud83d\ude00"}}]}`), int64(0), byte(0))
	f.Add([]byte(`{"rows":[]}x`), int64(0), byte(0))
	f.Add([]byte(`null`), int64(-4), byte(1))
	path := filepath.Join(f.TempDir(), "bulk.json")
	f.Fuzz(func(t *testing.T, content []byte, longer int64, flip byte) {
		file := described(t, path, content)
		file.Bytes += longer
		sum := []byte(file.SHA256)
		sum[int(flip)%len(sum)] ^= flip & 1
		file.SHA256 = string(sum)
		var got Delivery
		err := ReadFile(file, &got)
		if wrong := longer != 0 || flip&1 == 1; wrong {
			if err == nil || got.Rows != nil {
				t.Fatalf("got %+v, %v from a file that is described wrongly", got, err)
			}
			return
		}
		var want Delivery
		d := json.NewDecoder(bytes.NewReader(content))
		d.DisallowUnknownFields()
		good := json.Valid(content) && d.Decode(&want) == nil && wholeTwin(content)
		if good != (err == nil) || good && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v, want %+v, %t", got, err, want, good)
		}
	})
}
