package counters

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A reader leaves no mapping behind: a server that is scraped for months does
// not run out of them.
func TestReadersUnmap(t *testing.T) {
	folder := t.TempDir()
	kept, path := create(t, folder, "kept", all)
	for range 20 {
		read(t, path)
		if _, err := ReadLedger(folder); err != nil {
			t.Fatal(err)
		}
	}
	wantMappings(t, folder, 1)

	// Also where a part's file is broken.
	if err := os.WriteFile(path+".z.counters", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadLedger(folder)
	wantError(t, err, "begins with")
	wantMappings(t, folder, 1)
	kept.Counter("rows_built").Add(1)
}

func wantMappings(t *testing.T, folder string, want int) {
	t.Helper()
	if n := mappings(t, folder); n != want {
		t.Errorf("%d mappings, wanted %d", n, want)
	}
}

// A Set of which nothing is in use any more lets go of its file, and one metric
// is enough to keep it.
func TestDroppedSetsUnmap(t *testing.T) {
	folder := t.TempDir()
	counters := map[string]*Counter{}
	for _, name := range []string{"a", "b", "c"} {
		s, _ := create(t, folder, name, all)
		counters[name] = s.Counter("rows_built")
	}
	wantMappings(t, folder, 3)
	delete(counters, "a")
	delete(counters, "c")
	end := time.Now().Add(30 * time.Second)
	for n := mappings(t, folder); n != 1; n = mappings(t, folder) {
		if time.Now().After(end) {
			t.Fatalf("%d mappings are left, wanted the one in use", n)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	counters["b"].Add(1)
}

func mappings(t *testing.T, folder string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), folder)
}
