package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// vllm PR 11115: what a killed server left is removed by the next, and nothing else.
func TestSweep(t *testing.T) {
	base := shortDir(t)
	live, err := newFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead.path, "socket"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as a process's end does
		t.Fatal(err)
	}
	make := func(name string, mode os.FileMode, files ...string) string {
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(path, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	prefix := folderPrefix()
	kept := []string{
		live.path,
		make("other", 0o700, lockName),
		make(prefix+"open", 0o755, lockName),      // not as a server makes them
		make(prefix+"young", 0o700),               // may be about to get its lock
		make(prefix+"full", 0o700, "precious"),    // without a lock
		make("fanoutserve-99999-", 0o700, "lock"), // another user's name
	}
	old := make(prefix+"bare", 0o700) // killed before it had its lock
	long := time.Now().Add(-2 * bareAge)
	for _, path := range []string{old, filepath.Join(base, prefix+"full")} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(base, "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, prefix+"link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, outside, link)

	swept := sweep(base)
	want := []string{dead.path, old}
	slices.Sort(swept)
	slices.Sort(want)
	if !slices.Equal(swept, want) {
		t.Errorf("swept %q, want %q", swept, want)
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, filepath.Join(base, e.Name()))
	}
	slices.Sort(kept)
	if !slices.Equal(left, kept) {
		t.Errorf("left %q, want %q", left, kept)
	}
	if err := live.remove(); err != nil {
		t.Error(err)
	}
}

// Servers that start and sweep at once never take each other's folder.
func TestSweepersAndMakers(t *testing.T) {
	base := shortDir(t)
	made := make(chan *folder)
	stop := make(chan struct{})
	swept := make(chan struct{})
	for range 2 {
		go func() {
			for {
				select {
				case <-stop:
					swept <- struct{}{}
					return
				default:
					sweep(base)
				}
			}
		}()
		go func() {
			for range 200 {
				f, err := newFolder(base)
				if err != nil {
					t.Errorf("%v", err)
				}
				made <- f
			}
		}()
	}
	for range 400 {
		f := <-made
		if f == nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(f.path, lockName)); err != nil {
			t.Errorf("a live folder was swept: %v", err)
		}
		if err := f.remove(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-swept
	<-swept
}

func TestFolderBase(t *testing.T) {
	for dir, want := range map[string]string{
		"/var/tmp":                        "/var/tmp",
		"/" + strings.Repeat("x", 50):     "/" + strings.Repeat("x", 50),
		"/" + strings.Repeat("long/", 20): "/tmp",
	} {
		if got, err := folderBase(dir); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", dir, got, err, want)
		}
	}
	name := filepath.Join("/"+strings.Repeat("x", 50), folderPrefix()+"4294967295", "detokenizer-router")
	if len(name) > maxSocketPath {
		t.Errorf("%s has %d bytes", name, len(name))
	}
}
