package tensor

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestSizes(t *testing.T) {
	for _, test := range []struct {
		dtype DType
		shape []uint64
		want  uint64
	}{
		{F32, nil, 4}, {F32, []uint64{3, 5}, 60}, {F16, []uint64{7}, 14}, {BF16, []uint64{0, 9}, 0},
		{Q8_0, []uint64{3, 64}, 3 * 2 * 34}, {Q4_0, []uint64{32}, 18}, {Q4_1, []uint64{2, 2, 96}, 4 * 3 * 20},
	} {
		if got, err := test.dtype.Size(test.shape); err != nil || got != test.want {
			t.Errorf("%v %v: %d, %v, want %d", test.dtype, test.shape, got, err, test.want)
		}
	}
}

func TestTensorsThatCannotBe(t *testing.T) {
	for want, try := range map[string]struct {
		dtype DType
		shape []uint64
		bytes int
	}{
		`tensor "x" has 11 bytes, expected 12 for BF16 [2 3]`:                                   {BF16, []uint64{2, 3}, 11},
		`tensor "x" has 5 dimensions, expected at most 4`:                                       {F32, []uint64{1, 1, 1, 1, 1}, 4},
		`tensor "x": Q8_0 [64 33]: rows of 33, expected a multiple of 32`:                       {Q8_0, []uint64{64, 33}, 34},
		`tensor "x": Q4_0 without dimensions`:                                                   {Q4_0, nil, 18},
		`tensor "x": F32 [4294967296 4294967296] takes more bytes than`:                         {F32, []uint64{1 << 32, 1 << 32}, 0},
		`tensor "x": F32 [2305843009213693952] takes more bytes than`:                           {F32, []uint64{1 << 61}, 0},
		`tensor "x": [0 18446744073709551615] has a dimension above`:                            {F32, []uint64{0, math.MaxUint64}, 0},
		`tensor "x": Q8_0 [18446744073709551584 18446744073709551584] takes more bytes than ca`: {Q8_0, []uint64{math.MaxUint64 - 31, math.MaxUint64 - 31}, 0},
		`tensor "x": no dtype DType(99)`:                                                        {99, []uint64{1}, 4},
	} {
		_, err := New("x", try.dtype, try.shape, make([]byte, try.bytes))
		wantError(t, err, want)
	}
	_, err := New(strings.Repeat("long", 1000), F32, nil, nil)
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("error %v, want a short one", err)
	}
}

func TestMap(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range [][]byte{nil, []byte("some bytes")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Map(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Bytes, content) {
			t.Errorf("%q, want %q", m.Bytes, content)
		}
		for range 2 { // a second time does nothing
			if err := m.Close(); err != nil || m.Bytes != nil {
				t.Errorf("closed: %v, %d bytes", err, len(m.Bytes))
			}
		}
	}
	_, err := Map(dir)
	wantError(t, err, dir+" is d")
	_, err = Map(filepath.Join(dir, "none"))
	wantError(t, err, "none: no such file")
}

// A mapping is the file, not a copy of it: what is written there is seen.
func TestMapIsNoCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("behind"); err != nil {
		t.Fatal(err)
	}
	if got := string(m.Bytes); got != "behind" {
		t.Errorf("%q, want what was written to the file", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if raw, err := ReadFile(path, 5); err != nil || string(raw) != "12345" {
		t.Errorf("%q, %v", raw, err)
	}
	_, err := ReadFile(path, 4)
	wantError(t, err, "file has more than 4 bytes")
	_, err = ReadFile(filepath.Dir(path), 4)
	wantError(t, err, " is d")
}

// A pipe that nobody writes to would keep who opens it for ever, a device who reads it.
func TestPipesAndDevices(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, os.DevNull} {
		_, err := Map(path)
		wantError(t, err, path+" is ")
		_, err = ReadFile(path, 4)
		wantError(t, err, "expected a file")
	}
}
