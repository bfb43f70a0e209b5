//go:build sglang

package scripts_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// loopRows is what testdata/reuse_rows.py prints of one loop and frame.
type loopRows struct {
	Loop, Frame          string
	Rows, Opened, Reused int
	Equal                bool
}

// Real frames through the real loops of 0.5.21 and of its edited copy: rows are
// equal byte for byte, and metadata is opened once behind the first row.
func TestReuseOfRelease(t *testing.T) {
	trees, out := setting(t, "FANOUTBENCH_SGLANG_TREES"), filepath.Join(t.TempDir(), "out")
	tree := filepath.Join(trees, "sglang-0.5.21")
	const file = "sglang/srt/managers/multi_tokenizer_mixin.py"
	before := hash(t, filepath.Join(tree, file))
	printed, errs, err := python(t, sglangPython, "sglang_reuse.py", tree, out)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	if want := fmt.Sprintf("%s %s %s\n", file, before, hash(t, filepath.Join(out, file))); printed != want || hash(t, filepath.Join(tree, file)) != before {
		t.Errorf("printed %q, want %q, and the release as it was", printed, want)
	}
	const wire = "../runtime/wire/testdata/"
	frames := []string{"in-plain-32-step0.bin", "in-rich-1-step0.bin", "in-rich-32-step0.bin", "in-rich-32-step2.bin",
		"grouped-0523-rich-310-worker0.bin", "embedding-output.bin"}
	args := []string{"testdata/reuse_rows.py", tree, out}
	for _, f := range frames {
		args = append(args, wire+f)
	}
	printed, errs, err = python(t, sglangPython, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var got, want []loopRows
	for line := range strings.Lines(printed) {
		var r loopRows
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, r)
	}
	for i, f := range frames {
		rows := []int{32, 1, 32, 32, 78, 2}[i]
		opened := []int{0, 2, 64, 64, 156, 0}[i]
		for _, loop := range []string{"detokenizer", "router"} {
			want = append(want, loopRows{loop, f, rows, opened, min(opened, 4), true})
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// The releases behind it group rows already; the message says where.
func TestReuseRefusesReleasesThatGroup(t *testing.T) {
	trees := setting(t, "FANOUTBENCH_SGLANG_TREES")
	for release, want := range map[string][]string{
		"sglang-0.5.22": {"MultiDetokenizerRouter.event_loop has nothing to edit", "_split_batch_by_target gathers the rows"},
		"sglang-0.5.23": {"multi_http_worker_event_loop has nothing to edit", "_split_batch_by_key gathers the rows"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		_, errs, err := python(t, sglangPython, "sglang_reuse.py", filepath.Join(trees, release), out)
		if err == nil || slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(errs, w) }) {
			t.Errorf("%s: err %v, message %q, want %q", release, err, errs, want)
		}
	}
}
