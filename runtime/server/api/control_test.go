package api

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

func is(state State) func(*Config) {
	return func(c *Config) { c.State = func() State { return state } }
}

// While it starts or ends a server says so and takes nothing new.
func TestStates(t *testing.T) {
	for state, word := range map[State]string{Starting: "starting", Ending: "ending"} {
		f := newFake(says(0, "a", byLength))
		url := start(t, f, is(state))
		for path, body := range requests {
			if g := post(t, url+path, body); g.status != 503 || g.message(t, path) != "the server is "+word {
				t.Errorf("%s while %s: %d %s", path, word, g.status, g.body)
			}
		}
		for _, path := range []string{"/health", "/health_generate"} {
			if g := do(t, "GET", url+path, ""); g.status != 503 || g.message(t, path) != "the server is "+word {
				t.Errorf("%s while %s: %d %s", path, word, g.status, g.body)
			}
		}
		for _, path := range []string{"/v1/models", "/server_info"} {
			if g := do(t, "GET", url+path, ""); g.status != 200 {
				t.Errorf("%s while %s: %d %s", path, word, g.status, g.body)
			}
		}
		if len(f.submitted) != 0 {
			t.Errorf("%d submissions while %s", len(f.submitted), word)
		}
	}
	url := start(t, newFake(says(0, "a", byLength)), is(Warming))
	for path, want := range map[string]int{"/health": 503, "/health_generate": 200} {
		if g := do(t, "GET", url+path, ""); g.status != want {
			t.Errorf("%s while the server asks itself: %d %s, want %d", path, g.status, g.body, want)
		}
	}
	if g := post(t, url+"/generate", requests["/generate"]); g.status != 503 || g.message(t, "/generate") != "the server is starting" {
		t.Errorf("/generate while the server asks itself: %d %s", g.status, g.body)
	}
	if g := do(t, "GET", start(t, newFake())+"/health", ""); g.status != 200 || g.body != "" {
		t.Errorf("/health: %d %s", g.status, g.body)
	}
}

// All but the health checks and the metrics need the key, unknown paths too.
func TestAPIKey(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.WriteString(w, "rows 1\n"); err != nil {
			t.Error(err)
		}
	})
	url := start(t, newFake(says(0, "a", byLength)), func(c *Config) { c.Args.APIKey, c.Metrics = "secret", metrics })
	for _, path := range []string{"/health", "/health_generate", "/metrics"} {
		if g := do(t, "GET", url+path, ""); g.status != 200 {
			t.Errorf("%s: %d %s", path, g.status, g.body)
		}
	}
	for _, header := range []string{"", "secret", "Bearer ", "Bearer secre", "Bearer secret2", "bearer secret", "Basic secret", "Bearer  secret"} {
		for _, path := range []string{"/v1/models", "/generate", "/server_info", "/nowhere", "/v1/models/small", "/flush_cache"} {
			g := do(t, "GET", url+path, "", "Authorization", header)
			if g.status != 401 || g.message(t, path) != "Unauthorized" || g.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s with %q: %d %s", path, header, g.status, g.body)
			}
		}
	}
	if g := do(t, "GET", url+"/v1/models", "", "Authorization", "Bearer secret"); g.status != 200 {
		t.Errorf("with the key: %d %s", g.status, g.body)
	}
}

func TestMetrics(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		if _, err := io.WriteString(w, "rows 1\n"); err != nil {
			t.Error(err)
		}
	})
	g := do(t, "GET", start(t, newFake(), func(c *Config) { c.Metrics = h })+"/metrics", "")
	if g.status != 200 || g.body != "rows 1\n" || g.header.Get("Content-Type") != "text/plain; version=0.0.4" {
		t.Errorf("%+v", g)
	}
}

// sglang PR 28143: the probes of two workers had the same rid.
func TestHealthGenerate(t *testing.T) {
	f := newFake(says(0, "a", byLength))
	url := start(t, f)
	for range 2 {
		if g := do(t, "GET", url+"/health_generate", ""); g.status != 200 {
			t.Errorf("%d %s", g.status, g.body)
		}
	}
	f.awaitClose(t, 2)
	rid := regexp.MustCompile(`^HEALTH_CHECK_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	first, second := f.submitted[0][0], f.submitted[1][0]
	if first.RID == second.RID || !rid.MatchString(first.RID) {
		t.Errorf("rids %q and %q", first.RID, second.RID)
	}
	if !slices.Equal(first.InputIDs, []int64{0}) || first.Params.MaxNewTokens != 1 || first.Params.Temperature != 0 || !first.NoLogs {
		t.Errorf("probe %+v", first)
	}
}

// There is a probe for each detokenizer, by the rid that the router goes by, and each
// of them must come back: as a row, be it one that refuses it.
func TestHealthThroughEveryDetokenizer(t *testing.T) {
	full := &manager.Finish{Type: "abort", StatusCode: 503, Message: "the queue is full"}
	unsent := says(1, "", full)
	unsent.Rows = 0
	for name, c := range map[string]struct {
		script []any
		status int
	}{
		"all":            {[]any{says(1, "a", byLength), says(0, "a", byLength), says(2, "a", byLength)}, 200},
		"one is refused": {[]any{says(1, "", full), says(0, "a", byLength), says(2, "a", byLength)}, 200},
		"one is missing": {[]any{says(0, "a", byLength), says(2, "a", byLength), hold{}}, 503},
		"one has no row": {[]any{says(0, "a", byLength), says(2, "a", byLength), unsent}, 503},
	} {
		f := newFake(c.script...)
		g := do(t, "GET", start(t, f, func(c *Config) { c.Args.DetokenizerWorkerNum = 3 })+"/health_generate", "")
		if g.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, g.status, g.body, c.status)
		}
		for i, item := range f.items(t) {
			if at := router.Target([]byte(item.RID), 3); at != i {
				t.Errorf("%s: probe %d goes to detokenizer %d", name, i, at)
			}
		}
		if n := len(f.items(t)); n != 3 {
			t.Errorf("%s: %d probes, want 3", name, n)
		}
		f.awaitClose(t, 1)
	}
}

// sglang issues 26482, 22511: the detokenizer was blamed for a scheduler that was stuck.
func TestHealthNamesWhatIsStuck(t *testing.T) {
	for stuck, want := range map[string]string{
		"":          "no token came back within 300ms",
		"scheduler": "no token came back within 300ms; standing still: scheduler",
	} {
		g := do(t, "GET", start(t, newFake(hold{}), func(c *Config) { c.Stuck = func() string { return stuck } })+"/health_generate", "")
		if g.status != 503 || g.message(t, "/health_generate") != want {
			t.Errorf("%d %s, want %s", g.status, g.body, want)
		}
	}
	broken := newFake(errors.New("the router has gone"))
	if g := do(t, "GET", start(t, broken)+"/health_generate", ""); g.status != 503 || g.message(t, "") != "the router has gone" {
		t.Errorf("%d %s", g.status, g.body)
	}
}

func TestServerInfo(t *testing.T) {
	for _, path := range []string{"/server_info", "/get_server_info"} {
		g := do(t, "GET", start(t, newFake(), func(c *Config) { c.Args.APIKey = "secret" })+path, "", "Authorization", "Bearer secret")
		v := unmarshal[map[string]any](t, g.body)
		if v["device"] != "cpu" || v["served_model_name"] != "small" || v["context_length"] != 100.0 || v["version"] != "1.2.3" || at(v, "internal_states", 0, "waiting") != 0.0 || v["max_total_num_tokens"] != 900.0 || v["max_req_input_len"] != 98.0 {
			t.Errorf("%s: %s", path, g.body)
		}
		if strings.Contains(g.body, "secret") {
			t.Errorf("%s shows the key: %s", path, g.body)
		}
	}
	for _, state := range []string{`{"limits":{"max_req_input_len":98}}`, `{"max_total_num_tokens":900}`, `[]`, ``} {
		f := newFake()
		f.state = state
		if g := do(t, "GET", start(t, f)+"/server_info", ""); g.status != 500 || !strings.Contains(g.message(t, ""), "max_total_num_tokens") {
			t.Errorf("state %s: %d %s", state, g.status, g.body)
		}
	}
	old := do(t, "GET", start(t, newFake())+"/get_model_info", "")
	if newer := do(t, "GET", start(t, newFake())+"/model_info", ""); old.body != newer.body {
		t.Errorf("%s, want %s", old.body, newer.body)
	}
}

func TestFlushCache(t *testing.T) {
	f := newFake()
	url := start(t, f)
	for _, method := range []string{"GET", "POST"} {
		f.flush = true
		if g := do(t, method, url+"/flush_cache?timeout_s=1.5", ""); g.status != 200 || !strings.HasPrefix(g.body, "Cache flushed.\nPlease check backend logs") || f.flushWait != 1500*time.Millisecond {
			t.Errorf("%s: %d %s, waited %s", method, g.status, g.body, f.flushWait)
		}
		f.flush = false
		if g := do(t, method, url+"/flush_cache", ""); g.status != 400 || g.body != "Cache not flushed: 2 requests run\n" || f.flushWait != 0 {
			t.Errorf("%s: %d %s, waited %s", method, g.status, g.body, f.flushWait)
		}
	}
	for _, bad := range []string{"-1", "NaN", "x", "1e9"} {
		if g := do(t, "POST", url+"/flush_cache?timeout_s="+bad, ""); g.status != 400 {
			t.Errorf("timeout_s %s: %d %s", bad, g.status, g.body)
		}
	}
}

// An empty rid is the beginning of every rid: it must not mean all.
func TestAbortRequest(t *testing.T) {
	f := newFake()
	url := start(t, f)
	for body, want := range map[string]string{
		`{"rid":"a"}`:                       "a",
		`{"abort_all":true}`:                "all",
		`{"rid":"a","abort_message":"why"}`: "a why",
	} {
		f.aborts = nil
		if g := post(t, url+"/abort_request", body); g.status != 200 || !slices.Equal(f.aborts, []string{want}) {
			t.Errorf("%s: %d %s, aborts %q", body, g.status, g.body, f.aborts)
		}
	}
	f.aborts = nil
	for _, body := range []string{`{}`, `{"rid":""}`, `{"rid":null,"abort_all":false}`, `{"rid":1}`, ``} {
		if g := post(t, url+"/abort_request", body); g.status != 400 {
			t.Errorf("%s: %d %s", body, g.status, g.body)
		}
	}
	if f.aborts != nil {
		t.Errorf("aborts %q, want none", f.aborts)
	}
}

func TestAdmissions(t *testing.T) {
	f := newFake()
	url := start(t, f)
	if g := post(t, url+"/admissions", `{"rids":["a","b"]}`); g.status != 200 || g.body != `{"records":[]}` || !slices.Equal(f.admissions, []string{"a", "b"}) {
		t.Errorf("%d %s of %q", g.status, g.body, f.admissions)
	}
	for _, body := range []string{`{}`, `{"rids":[]}`, `{"rids":"a"}`, `{"rids":[1]}`, `{"rids":[null]}`} {
		if g := post(t, url+"/admissions", body); g.status != 400 {
			t.Errorf("%s: %d %s", body, g.status, g.body)
		}
	}
}

// A fault of the service is a 500 that says what it is.
func TestServiceFaults(t *testing.T) {
	f := newFake()
	f.fault = errors.New("the scheduler has gone")
	url := start(t, f)
	for _, g := range []got{
		do(t, "GET", url+"/server_info", ""), do(t, "GET", url+"/flush_cache", ""),
		post(t, url+"/abort_request", `{"rid":"a"}`), post(t, url+"/admissions", `{"rids":["a"]}`),
	} {
		if g.status != 500 || g.message(t, "") != "the scheduler has gone" {
			t.Errorf("%d %s", g.status, g.body)
		}
	}
	f = newFake(errors.New("the scheduler has gone"))
	for path, body := range requests {
		if g := post(t, start(t, f)+path, body); g.status != 500 || g.message(t, path) != "the scheduler has gone" {
			t.Errorf("%s: %d %s", path, g.status, g.body)
		}
	}
}
