package metrics

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// create makes a part's counters in the folder.
func create(t testing.TB, folder, name string, specs ...counters.Spec) *counters.Set {
	t.Helper()
	s, err := counters.Create(filepath.Join(folder, name+".counters"), specs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func spec(name string, kind counters.Kind, buckets ...float64) counters.Spec {
	return counters.Spec{Name: name, Help: "Counts " + name + ".", Kind: kind, Buckets: buckets}
}

// serve answers on a real port as worker-1 of the folder's server.
func serve(t testing.TB, folder string) string {
	t.Helper()
	h, err := Handler(part.Env{
		ID: part.ID{Kind: part.Worker, Index: 1}, Folder: folder, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, `a "model"`)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// get is one scrape: its status and its text.
func get(t testing.TB, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// parsed is a scrape as Prometheus's own parser reads it: the samples of
// counters and gauges by name, added up over their labels, and the types by name.
func parsed(t testing.TB, text string) (samples map[string]float64, types map[string]string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	samples, types = map[string]float64{}, map[string]string{}
	for name, f := range families {
		types[name] = strings.ToLower(f.GetType().String())
		for _, m := range f.GetMetric() {
			samples[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return samples, types
}

// ours is the text without what the process and the Go runtime say.
func ours(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, sglangPrefix) || strings.Contains(line, ownPrefix) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
