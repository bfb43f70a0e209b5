package metrics

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/engine"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
)

var rewrite = flag.Bool("rewrite", false, "write what the scrapes give as what they should")

// count fills the folder with the counters of a server of two workers.
func count(t *testing.T, folder string) {
	scheduler := create(t, folder, "scheduler",
		spec("rows_built", counters.KindCounter), spec("num_running_reqs", counters.KindGauge), spec("token_usage", counters.KindGauge),
		spec("queue_high_water", counters.KindGauge), spec("max_total_num_tokens", counters.KindGauge), spec("num_retracted_requests_total", counters.KindCounter),
		spec("loop", counters.KindBeat))
	scheduler.Counter("rows_built").Add(1 << 53)
	scheduler.Gauge("num_running_reqs").Set(5)
	scheduler.Gauge("token_usage").Set(0.25)
	scheduler.Gauge("queue_high_water").Max(17)
	scheduler.Gauge("max_total_num_tokens").Set(1 << 20)
	scheduler.Counter("num_retracted_requests_total").Add(2)

	router := create(t, folder, "detokenizer-router", spec("rows_dropped_router", counters.KindCounter), spec("messages", counters.KindCounter))
	router.Counter("rows_dropped_router").Add(3)
	router.Counter("messages").Add(70)
	detokenizer := create(t, folder, "detokenizer-0",
		spec("rows_dropped_detokenizer", counters.KindCounter), spec("messages", counters.KindCounter), spec("opaque_decodes_total", counters.KindCounter),
		spec("batch_rows", counters.KindHistogram, 1, 16, 256))
	detokenizer.Counter("messages").Add(140)
	detokenizer.Counter("opaque_decodes_total").Add(4)
	detokenizer.Histogram("batch_rows").Observe(32)

	for i, name := range []string{"worker-0", "worker-1"} {
		s := create(t, folder, name,
			spec("rows_delivered", counters.KindCounter), spec("rows_dropped_unknown", counters.KindCounter), spec("rows_missing", counters.KindCounter),
			spec("num_requests_total", counters.KindCounter), spec("time_to_first_token_seconds", counters.KindHistogram, 0.01, 0.1, 1))
		s.Counter("rows_delivered").Add(uint64(100 + i))
		s.Counter("rows_dropped_unknown").Add(uint64(i))
		s.Counter("num_requests_total").Add(uint64(10 + i))
		for _, v := range []float64{0.01, 0.5, 8} {
			s.Histogram("time_to_first_token_seconds").Observe(v * float64(1+i))
		}
	}
}

func TestText(t *testing.T) {
	folder := t.TempDir()
	count(t, folder)
	status, text := get(t, serve(t, folder))
	if status != 200 {
		t.Fatal(status, text)
	}
	golden := filepath.Join("testdata", "metrics.txt")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(ours(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := ours(text); got != string(want) {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}

	// As Prometheus reads it.
	samples, types := parsed(t, text)
	for name, want := range map[string]struct {
		typ string
		sum float64
	}{
		"sglang:num_requests_total":           {"counter", 21},
		"sglang:num_running_reqs":             {"gauge", 5},
		"sglang:token_usage":                  {"gauge", 0.25},
		"sglang:time_to_first_token_seconds":  {"histogram", 6},
		"fanoutbench:rows_delivered_total":    {"counter", 201},
		"fanoutbench:rows_dropped_total":      {"counter", 4},
		"fanoutbench:rows_in_flight":          {"gauge", 1<<53 - 205},
		"fanoutbench:messages_total":          {"counter", 210},
		"fanoutbench:opaque_decodes_total":    {"counter", 4},
		"fanoutbench:batch_rows":              {"histogram", 1},
		"sglang:num_retracted_requests_total": {"counter", 2},
	} {
		if types[name] != want.typ || samples[name] != want.sum {
			t.Errorf("%s is a %q of %v, wanted a %s of %v", name, types[name], samples[name], want.typ, want.sum)
		}
	}

	// The worker's own process.
	if !strings.Contains(text, `go_goroutines{part="worker-1"} `) || !strings.Contains(text, `process_start_time_seconds{part="worker-1"} `) {
		t.Error("the worker's own process is not there, or without its name")
	}
}

// A scrape shows what was counted before it, every time.
func TestScrapesAreLive(t *testing.T) {
	folder := t.TempDir()
	url := serve(t, folder)
	if samples, _ := parsed(t, must(t, url)); samples["fanoutbench:rows_in_flight"] != 0 {
		t.Errorf("without parts: %v", samples)
	}
	s := create(t, folder, "worker-0", spec("num_requests_total", counters.KindCounter))
	for i := range 5 {
		s.Counter("num_requests_total").Add(1)
		if samples, _ := parsed(t, must(t, url)); samples["sglang:num_requests_total"] != float64(i+1) {
			t.Errorf("%v requests, wanted %d", samples["sglang:num_requests_total"], i+1)
		}
	}
}

func must(t testing.TB, url string) string {
	t.Helper()
	status, text := get(t, url)
	if status != 200 {
		t.Fatalf("%d: %s", status, text)
	}
	return text
}

func TestHeartbeats(t *testing.T) {
	folder := t.TempDir()
	url := serve(t, folder)
	s := create(t, folder, "router", spec("requests", counters.KindBeat), spec("answers", counters.KindBeat))
	text := must(t, url)
	if strings.Contains(text, "heartbeat") {
		t.Errorf("no loop has beaten, but\n%s", ours(text))
	}
	s.Beat("requests").Busy()
	begun := counters.Now()
	text = must(t, url)
	if !strings.Contains(text, `fanoutbench:heartbeat_age_seconds{loop="requests",part="router",state="busy"} `) || strings.Contains(text, "answers") {
		t.Error(ours(text))
	}
	if samples, _ := parsed(t, text); samples["fanoutbench:heartbeat_age_seconds"] > counters.Now()-begun+10 {
		t.Errorf("the age is %v", samples)
	}
	s.Beat("requests").Idle()
	s.Beat("answers").Idle()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if text = must(t, url); strings.Count(text, `state="ended"`) != 2 {
		t.Error(ours(text))
	}
}

// A number that misses a part would look like a good one.
func TestFaultsFailTheScrape(t *testing.T) {
	latency := func(bounds ...float64) counters.Spec {
		return spec("e2e_request_latency_seconds", counters.KindHistogram, bounds...)
	}
	type parts map[string][]counters.Spec
	for name, c := range map[string]struct {
		parts parts
		want  string
	}{
		"kind":      {parts{"worker-0": {spec("x", counters.KindGauge)}, "worker-1": {spec("x", counters.KindHistogram, 1)}}, "fanoutbench:x is a gauge of worker-0 and a histogram of worker-1"},
		"sglang":    {parts{"worker-0": {spec("num_requests_total", counters.KindGauge)}}, "num_requests_total of worker-0 is a gauge, SGLang's is a counter"},
		"ratio":     {parts{"a": {spec("token_usage", counters.KindGauge)}, "b": {spec("token_usage", counters.KindGauge)}}, "a and b both give token_usage, a ratio"},
		"buckets":   {parts{"a": {latency(1, 2)}, "b": {latency(1, 3)}}, "has the buckets [1 2] of a and [1 3] of b"},
		"twice":     {parts{"a": {spec("x", counters.KindCounter), spec("x_total", counters.KindCounter)}}, "collected before with the same name and label values"},
		"in flight": {parts{"a": {spec("rows_in_flight", counters.KindGauge)}}, "a counts rows_in_flight"},
		"ledger":    {parts{"a": {spec("rows_built", counters.KindGauge)}}, "rows_built of a is a gauge, wanted a counter"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for p, specs := range c.parts {
				create(t, folder, p, specs...)
			}
			if status, text := get(t, serve(t, folder)); status != 500 || !strings.Contains(text, c.want) {
				t.Errorf("%d %s, wanted 500 and %q", status, text, c.want)
			}
		})
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "worker-0.counters")
	if err := os.WriteFile(path, []byte("fanoutbench"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, text := get(t, serve(t, folder)); status != 500 || !strings.Contains(text, path) {
		t.Errorf("%d %s, wanted 500 and the path", status, text)
	}
}

// Parts may say in their own words what they count; the first one's words go out.
func TestHelpOfSeveralParts(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"b", "a"} {
		create(t, folder, name, counters.Spec{Name: "bytes", Help: "Sent by " + name + ".", Kind: counters.KindCounter})
	}
	text := must(t, serve(t, folder))
	if !strings.Contains(text, "# HELP fanoutbench:bytes_total Sent by a.\n") || strings.Count(text, "\nfanoutbench:bytes_total{") != 2 {
		t.Error(ours(text))
	}
}

// Every name of the table goes out as SGLang's, whatever the parts say of it.
func TestTable(t *testing.T) {
	folder := t.TempDir()
	var specs []counters.Spec
	for name, known := range sglang {
		s := spec(name, known.kind)
		if known.kind == counters.KindHistogram {
			s.Buckets = []float64{1}
		}
		specs = append(specs, s)
	}
	create(t, folder, "scheduler", specs...)
	text := must(t, serve(t, folder))
	_, types := parsed(t, text)
	for name, known := range sglang {
		if types[sglangPrefix+name] != string(known.kind) || !strings.Contains(text, "# HELP sglang:"+name+" "+known.help+"\n") {
			t.Errorf("%s is a %q", name, types[sglangPrefix+name])
		}
	}
	if n := slices.Collect(maps.Keys(types)); strings.Contains(strings.Join(n, " "), "fanoutbench:num") {
		t.Error(n)
	}
}

// Every name of SGLang's in the table is one that a part declares: a scheduler, as it
// runs, or an HTTP worker.
func TestNamesAreCounted(t *testing.T) {
	a := args.Default().Complete()
	a.Device, a.StartTimeout = backend.Sim, parttest.Patience.Seconds()
	e := part.Env{ID: part.ID{Kind: part.Scheduler}, Args: a, Folder: parttest.Folder(t)}
	declared := map[string]bool{}
	for _, s := range manager.Specs() {
		declared[s.Name] = true
	}
	started := parttest.Start(t, engine.Run, e)
	rows := parttest.Bind(t, e, part.ID{Kind: part.Detokenizer}.String())
	started.AwaitReady()
	values, err := counters.Read(part.CountersPath(e.Folder, e.ID))
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		declared[name] = true
	}
	started.Stop(part.Scheduler)
	rows.Close()
	for name := range sglang {
		if !declared[name] {
			t.Errorf("no part counts %s", name)
		}
	}
}

// The ledger is exact in every scrape, while rows are built, delivered and dropped.
func TestLedgerInScrapesUnderLoad(t *testing.T) {
	folder := t.TempDir()
	built := create(t, folder, "a-scheduler", spec("rows_built", counters.KindCounter)).Counter("rows_built")
	worker := create(t, folder, "b-worker", spec("rows_delivered", counters.KindCounter), spec("rows_dropped_request_ended", counters.KindCounter))
	rows, done := make(chan int, 64), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(rows)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			built.Add(1)
			rows <- i
		}
	})
	wg.Go(func() {
		delivered, left := worker.Counter("rows_delivered"), worker.Counter("rows_dropped_request_ended")
		for i := range rows {
			if i%7 == 0 {
				left.Add(1)
			} else {
				delivered.Add(1)
			}
		}
	})
	url := serve(t, folder)
	for i := range 100 {
		s, _ := parsed(t, must(t, url))
		b, d, x, f := s["fanoutbench:rows_built_total"], s["fanoutbench:rows_delivered_total"], s["fanoutbench:rows_dropped_total"], s["fanoutbench:rows_in_flight"]
		if b != d+x+f || f < 0 || i > 0 && b == 0 {
			t.Errorf("scrape %d: built %v, delivered %v, dropped %v, in flight %v", i, b, d, x, f)
		}
	}
	close(done)
	wg.Wait()
}
