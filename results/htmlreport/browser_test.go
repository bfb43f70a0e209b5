//go:build browser

package htmlreport

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// browser is the Chromium that is there. FANOUTBENCH_CHROMIUM names another.
func browser(t testing.TB) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if name := os.Getenv("FANOUTBENCH_CHROMIUM"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("none of %q is there, want Chromium (Debian package chromium)", names)
	return ""
}

// site serves pages by path, and is the proxy of the browser at the same time:
// whatever it asks for from anywhere is recorded here.
type site struct {
	*httptest.Server
	pages map[string]string

	mu    sync.Mutex
	asked []string
}

func serve(t testing.TB, pages map[string]string) *site {
	t.Helper()
	s := &site{pages: pages}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !ownHost.MatchString(r.Host) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.String())
		s.mu.Unlock()
	}
	page, ok := s.pages[r.URL.Path]
	if !ok || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(page)) // a browser that went away is no fault of the page
}

// ownHost matches where the browser itself calls home to, whatever page it shows.
var ownHost = regexp.MustCompile(`(^|\.)(google|googleapis|gvt1|gstatic)\.com(:\d+)?$`)

// requests are what was asked for since the last call.
func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// run starts the browser once, with nothing kept from another time.
func (s *site) run(t testing.TB, args ...string) []byte {
	t.Helper()
	out, _ := s.output(t, args...)
	return out
}

// output is run's, with what the browser logs.
func (s *site) output(t testing.TB, args ...string) (stdout, log []byte) {
	t.Helper()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-default-apps", "--hide-scrollbars", "--force-device-scale-factor=1",
		"--user-data-dir=" + t.TempDir(), "--proxy-server=" + s.Listener.Addr().String(), "--proxy-bypass-list=<-loopback>",
	}, args...)
	cmd := exec.CommandContext(t.Context(), browser(t), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return out, stderr.Bytes()
}

// dom is the page's document after it was loaded.
func (s *site) dom(t testing.TB, path string, flags ...string) string {
	t.Helper()
	return string(s.run(t, append(flags, "--dump-dom", s.URL+path)...))
}

func (s *site) screenshot(t testing.TB, path, name string, width, height int, flags ...string) image.Image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shot.png")
	s.run(t, append(flags, fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot="+file, s.URL+path)...)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv(envScreenshots); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// envScreenshots names a folder where the screenshots are kept, to look at them.
const envScreenshots = "FANOUTBENCH_SCREENSHOTS"

// dark makes the page's prefers-color-scheme dark.
const dark = "--force-dark-mode"

// What the browser makes of the page holds every figure of the primary cells that
// result.json has, and it asked for nothing but the page.
func TestBrowserDOM(t *testing.T) {
	f := decided(t, "default")
	s := serve(t, map[string]string{"/run": written(t, f)})
	dom := s.dom(t, "/run")
	for _, c := range f.Result.Analysis.Primary {
		name := fmt.Sprintf("%d %s %s", c.Count, c.Metadata, c.Metric)
		if got, want := valuesIn(t, rowOf(t, dom, "primary", name)), figuresOf(c); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		row, _ := f.Result.Row(c.Count, c.Metadata, c.Metric)
		if got, want := valuesIn(t, rowOf(t, dom, "all", name)), rowFigures(row); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got, want := s.requests(), []string{"GET " + s.URL + "/run"}; !slices.Equal(got, want) {
		t.Errorf("the browser asked for %q, want %q", got, want)
	}
}

// The recorder sees what a page fetches from elsewhere, and the page's policy
// stops it: the same picture once with and once without the page's head.
func TestBrowserFetchesNothing(t *testing.T) {
	const picture = `<img src="http://elsewhere.example/x.png">`
	f := read(t, "default")
	page := written(t, f)
	s := serve(t, map[string]string{
		"/free":  "<!doctype html><title>x</title>" + picture,
		"/bound": strings.Replace(page, "</main>", picture+"</main>", 1),
	})
	s.dom(t, "/free")
	if got := s.requests(); !slices.Contains(got, "GET http://elsewhere.example/x.png") {
		t.Fatalf("the recorder saw %q, want the picture among them", got)
	}
	s.dom(t, "/bound")
	if got := s.requests(); !slices.Equal(got, []string{"GET " + s.URL + "/bound"}) {
		t.Errorf("the browser asked for %q, want the page alone", got)
	}
}

//go:embed testdata/inspect.html
var inspector string

// inspection is what testdata/inspect.html finds out about a page in a frame.
type inspection struct {
	Width      int      `json:"width"`      // that the content needs
	Faint      []string `json:"faint"`      // text below 4.5 to 1 as computed by the browser
	Texts      int      `json:"texts"`      // elements with text whose contrast was computed
	Faults     []string `json:"faults"`     // ids that are not there or not alone, drawings without a name, tables without a caption
	Focus      []string `json:"focus"`      // what the tab key reaches, in order
	Smallest   float64  `json:"smallest"`   // font size, as scaled, in CSS pixels
	Background string   `json:"background"` // of the body
	Beyond     []string `json:"beyond"`     // elements that reach beyond the window and do not scroll
	Drawings   int      `json:"drawings"`   // that are at least 100 pixels wide and high, with text and lines
}

var findings = regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`)

// inspect looks at pages in frames of several widths, in one run of the browser.
func inspect(t testing.TB, s *site, paths []string, widths []int, flags ...string) map[string]inspection {
	t.Helper()
	query := url.Values{"page": paths}
	for _, w := range widths {
		query.Add("width", strconv.Itoa(w))
	}
	dom := s.dom(t, "/inspect?"+query.Encode(), append(flags, "--window-size=1400,1000")...)
	m := findings.FindStringSubmatch(dom)
	if m == nil {
		t.Fatalf("the inspector found nothing: %.2000s", dom)
	}
	var found map[string]inspection
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &found); err != nil {
		t.Fatalf("%v: %s", err, m[1])
	}
	if len(found) != len(paths)*len(widths) {
		t.Fatalf("the inspector saw %d pages, want %d", len(found), len(paths)*len(widths))
	}
	return found
}

// Every kind of page, in both colour schemes, wide and narrow: contrast as the
// browser computes it, no part cut off, names for everything that is drawn.
func TestBrowserInspects(t *testing.T) {
	pages := map[string]string{"/inspect": inspector}
	var paths []string
	for name, page := range everyPage(t) {
		path := "/" + strings.ReplaceAll(name, " ", "-")
		pages[path], paths = page, append(paths, path)
	}
	s := serve(t, pages)
	widths := []int{1600, 1200, 400}
	for scheme, flags := range map[string][]string{"light": nil, "dark": {dark}} {
		found := inspect(t, s, paths, widths, flags...)
		for _, path := range paths {
			for _, width := range widths {
				t.Run(fmt.Sprintf("%s %d %s", path, width, scheme), func(t *testing.T) {
					checkInspection(t, found[fmt.Sprintf("%s %d", path, width)], width, scheme)
				})
			}
		}
	}
}

func checkInspection(t *testing.T, found inspection, width int, scheme string) {
	t.Helper()
	if found.Texts < 10 || len(found.Faint) > 0 {
		t.Errorf("of %d texts these are too faint: %q", found.Texts, found.Faint)
	}
	if found.Width > width || len(found.Beyond) > 0 {
		t.Errorf("the page needs %d of %d pixels: %q", found.Width, width, found.Beyond)
	}
	if len(found.Faults) > 0 {
		t.Errorf("faults: %q", found.Faults)
	}
	if len(found.Focus) == 0 || !strings.Contains(found.Focus[0], "Skip to the results") {
		t.Errorf("the tab key reaches %q, want the link past the head first", found.Focus)
	}
	if found.Smallest < 9 {
		t.Errorf("the smallest text has %.1f pixels, want at least 9", found.Smallest)
	}
	r, g, b, _ := themeColour(t, scheme, "page").RGBA()
	if want := fmt.Sprintf("rgb(%d, %d, %d)", r>>8, g>>8, b>>8); found.Background != want {
		t.Errorf("the ground is %s, want %s of the %s scheme", found.Background, want, scheme)
	}
}

func themeColour(t testing.TB, scheme, name string) color.RGBA {
	t.Helper()
	n, err := strconv.ParseUint(schemes(t)[scheme][name], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 0xff}
}

// The rendered page has the colours of its scheme: ground, text, and both arms in
// the drawings.
func TestBrowserRendersBothSchemes(t *testing.T) {
	s := serve(t, map[string]string{"/run": written(t, decided(t, "default")), "/history": everyPage(t)["history"]})
	for scheme, flags := range map[string][]string{"light": nil, "dark": {dark}} {
		picture := s.screenshot(t, "/run", scheme, 1200, 3600, flags...)
		for _, name := range []string{"page", "card", "ink", "reference", "candidate", "good"} {
			if n := pixels(picture, themeColour(t, scheme, name)); n < 20 {
				t.Errorf("%s: %d pixels are %s, want some", scheme, n, name)
			}
		}
		if os.Getenv(envScreenshots) != "" {
			s.screenshot(t, "/run", scheme+"-400", 400, 5000, flags...)
			s.screenshot(t, "/history", scheme+"-history", 1200, 1400, flags...)
		}
	}
}

// pixels counts those of a colour.
func pixels(picture image.Image, c color.RGBA) (n int) {
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if r, g, b, _ := picture.At(x, y).RGBA(); (color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xff}) == c {
				n++
			}
		}
	}
	return n
}
