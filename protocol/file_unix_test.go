//go:build unix

package protocol

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadFileOfOtherKinds: none of these may keep the reader waiting, or be
// read without end.
func TestReadFileOfOtherKinds(t *testing.T) {
	dir, err := os.MkdirTemp("", "") // a socket's address has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	right := described(t, at("right.json"), []byte(`{"rows":[]}`))
	for link, target := range map[string]string{"to-right": right.Path, "to-fifo": at("fifo"), "to-nothing": at("none"), "to-itself": at("to-itself")} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ path, want string }{
		{at("to-right"), ""}, // the hash says what it is, whatever its path
		{at("fifo"), "no regular file but p"},
		{at("to-fifo"), "no regular file but p"},
		{at("socket"), at("socket")},
		{at("to-nothing"), "no such file"},
		{at("to-itself"), at("to-itself")},
		{"/dev/zero", "no regular file but D"},
		{"/dev/null", "no regular file but D"},
	} {
		var d Delivery
		err := ReadFile(File{Path: test.path, SHA256: right.SHA256, Bytes: right.Bytes}, &d)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.path, err, test.want)
		}
	}
}
