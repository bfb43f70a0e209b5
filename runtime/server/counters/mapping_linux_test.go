package counters

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Mappings go when nothing holds them: a server that is scraped for months does
// not run out of them.
func TestMappingsGo(t *testing.T) {
	folder := t.TempDir()
	kept, path := create(t, folder, "kept", all)
	for range 50 {
		read(t, path)
	}
	end := time.Now().Add(30 * time.Second)
	for n := mappings(t, folder); n != 1; n = mappings(t, folder) {
		if time.Now().After(end) {
			t.Fatalf("%d mappings are left, wanted the kept one", n)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	kept.Counter("rows_built").Add(1)
}

func mappings(t *testing.T, folder string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), folder)
}
