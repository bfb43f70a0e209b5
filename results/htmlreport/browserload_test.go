//go:build browser

package htmlreport

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// The page of a load test, as the browser makes it, has every line of every table that the report has;
// it asked for nothing but the page, and nothing was said on the console.
func TestBrowserLoadDOM(t *testing.T) {
	f := loadRun(t, nil, nil)
	s := serve(t, map[string]string{"/load": loadPageOf(t, f)})
	out, log := s.output(t, "--enable-logging=stderr", "--dump-dom", s.URL+"/load")
	dom := string(out)
	for _, section := range f.Sections() {
		for i, line := range section.Lines {
			var row strings.Builder
			for _, text := range line {
				fmt.Fprintf(&row, ">%s</t", text)
			}
			cells := strings.Split(strings.TrimSuffix(row.String(), "</t"), "</t")
			if !hasInOrder(dom[max(0, strings.Index(dom, ">"+section.Title+"</h2>")):], cells) {
				t.Errorf("%s: line %d is not on the page: %q", section.Title, i, line)
			}
		}
	}
	if got, want := s.requests(), []string{http.MethodGet + " " + s.URL + "/load"}; !slices.Equal(got, want) {
		t.Errorf("the browser asked for %q, want %q", got, want)
	}
	if said := consoleLines(log); len(said) > 0 {
		t.Errorf("on the console: %q", said)
	}
}

// hasInOrder says whether the parts stand in the text one behind the other.
func hasInOrder(text string, parts []string) bool {
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// consoleLines are those of the browser's log that a page's console has.
func consoleLines(log []byte) (said []string) {
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(":CONSOLE")) {
			said = append(said, strings.TrimSpace(string(line)))
		}
	}
	return said
}

// The log has what a page's console has: a script, and what the policy of the page stops.
func TestBrowserConsoleIsSeen(t *testing.T) {
	page := loadPageOf(t, loadRun(t, nil, nil))
	s := serve(t, map[string]string{
		"/script": "<!doctype html><title>x</title><script>nothing.here()</script>",
		"/policy": strings.Replace(page, "</main>", `<img src="http://elsewhere.example/x.png"></main>`, 1),
	})
	for _, path := range []string{"/script", "/policy"} {
		if _, log := s.output(t, "--enable-logging=stderr", "--dump-dom", s.URL+path); len(consoleLines(log)) == 0 {
			t.Errorf("%s: nothing on the console, want an error; the log: %s", path, log)
		}
	}
}

// Every cell has its five drawings, wide and narrow, in both schemes, each large enough to be read.
func TestBrowserLoadDrawings(t *testing.T) {
	f := loadRun(t, nil, nil)
	s := serve(t, map[string]string{"/inspect": inspector, "/load": loadPageOf(t, f)})
	for scheme, flags := range map[string][]string{"light": nil, "dark": {dark}} {
		for width, found := range inspect(t, s, []string{"/load"}, []int{1600, 400}, flags...) {
			if want := 5 * len(f.Plan.Cells); found.Drawings != want {
				t.Errorf("%s %s: %d drawings, want %d", scheme, width, found.Drawings, want)
			}
		}
		if os.Getenv(envScreenshots) != "" {
			s.screenshot(t, "/load", scheme+"-load", 1600, 4600, flags...)
			s.screenshot(t, "/load", scheme+"-load-400", 400, 6500, flags...)
		}
	}
	picture := s.screenshot(t, "/load", "colours", 1200, 4600)
	for _, arm := range []string{batchrun.Reference, batchrun.Candidate} {
		if n := pixels(picture, themeColour(t, "light", arm)); n < 20 {
			t.Errorf("%d pixels are the %s's, want some", n, arm)
		}
	}
}
