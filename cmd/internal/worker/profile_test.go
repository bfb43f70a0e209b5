package worker

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// The file that prepare names is written when another prepare names another one,
// or none, or the worker ends; a file that is there is refused, and no profile is
// on after it.
func TestProfile(t *testing.T) {
	p := open(t, t.Context())
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	whole := func(name string) bool {
		b, err := os.ReadFile(path(name))
		if err != nil {
			t.Error(err)
		}
		return bytes.HasPrefix(b, []byte("\x1f\x8b"))
	}
	p.ask(p.configure(), protocol.TypeReady, &protocol.Ready{}, "")
	ask := func(name, wrong string) {
		t.Helper()
		q := p.prepare("words")
		if name != "" {
			q.Profile = path(name)
		}
		p.ask(q, protocol.TypePrepared, &protocol.Signal{}, wrong)
	}
	ask("one", "")
	ask("one", "")
	if whole("one") {
		t.Error("the profile ended with the trial")
	}
	ask("two", "")
	if !whole("one") || whole("two") {
		t.Error("want the first profile written, the second going on")
	}
	ask("", "")
	ask("", "")
	if !whole("two") {
		t.Error("the profile goes on without a name")
	}
	ask("two", "file exists")
	ask("nosuch/three", "no such file")
	ask("four", "")
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; err != nil || !whole("four") {
		t.Errorf("the worker ended with %v and its profile is not written", err)
	}
}
