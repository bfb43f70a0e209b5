package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// State of the server.
type State int

// The states, in the order in which a server goes through them.
const (
	Starting State = iota
	Warming        // only /health_generate is answered, which the server asks itself
	Serving
	Ending
)

// Time-outs of a Config that names none.
const (
	defaultBodyTimeout  = 60 * time.Second
	defaultWriteTimeout = 60 * time.Second
)

// Config is what the handlers need. All fields but those said to be optional
// must be set.
type Config struct {
	Service      manager.Service
	Tokenizer    backend.Tokenizer
	Info         backend.Info
	Args         args.Args
	State        func() State
	Stuck        func() string    // names the part that does not answer, or ""; optional
	Metrics      http.Handler     // nil: metrics are off
	Template     ChatTemplate     // nil: the model has none, chats are refused
	Now          func() time.Time // nil: time.Now
	Log          *slog.Logger
	Version      string
	BodyTimeout  time.Duration // for a whole body; 0: a minute
	WriteTimeout time.Duration // for a piece of an answer; 0: a minute
}

// api is the handler.
type api struct {
	Config
	key     [sha256.Size]byte // of the API key
	created int64             // Unix seconds
	routes  map[string]route
}

// route is a path's handlers by method.
type route struct {
	methods map[string]func(*exchange) error
	open    bool // needs no API key
}

// New makes the handler of all endpoints.
func New(c Config) http.Handler {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.BodyTimeout == 0 {
		c.BodyTimeout = defaultBodyTimeout
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = defaultWriteTimeout
	}
	a := &api{Config: c, key: sha256.Sum256([]byte(c.Args.APIKey)), created: c.Now().Unix()}
	a.routes = a.table()
	return a
}

func (a *api) table() map[string]route {
	post := func(f func(*exchange) error) map[string]func(*exchange) error {
		return map[string]func(*exchange) error{http.MethodPost: f}
	}
	either := get(a.flushCache)
	either[http.MethodPost] = a.flushCache
	routes := map[string]route{
		"/generate":            {methods: post(a.whileServing(a.generate))},
		"/v1/completions":      {methods: post(a.whileServing(a.completions))},
		"/v1/chat/completions": {methods: post(a.whileServing(a.chat))},
		"/v1/score":            {methods: post(a.whileServing(a.score))},
		"/tokenize":            {methods: post(a.tokenize)},
		"/v1/tokenize":         {methods: post(a.tokenize)},
		"/detokenize":          {methods: post(a.detokenize)},
		"/v1/detokenize":       {methods: post(a.detokenize)},
		"/v1/models":           {methods: get(a.models)},
		"/health":              {methods: get(a.health), open: true},
		"/health_generate":     {methods: get(a.healthGenerate), open: true},
		"/server_info":         {methods: get(a.serverInfo)},
		"/get_server_info":     {methods: get(a.serverInfo)},
		"/model_info":          {methods: get(a.modelInfo)},
		"/get_model_info":      {methods: get(a.modelInfo)},
		"/flush_cache":         {methods: either},
		"/abort_request":       {methods: post(a.abortRequest)},
		"/admissions":          {methods: post(a.admissions)},
	}
	if a.Metrics != nil {
		routes["/metrics"] = route{methods: get(a.metrics), open: true}
	}
	return routes
}

// get has a handler for the methods that only ask.
func get(f func(*exchange) error) map[string]func(*exchange) error {
	return map[string]func(*exchange) error{http.MethodGet: f, http.MethodHead: f}
}

// ServeHTTP answers a request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := newExchange(a, w, r)
	err := e.limitBody()
	if err == nil {
		err = a.dispatch(e)
	}
	if err != nil {
		e.fail(err)
	}
}

// dispatch finds the handler. The key is asked for before anything is said of paths.
func (a *api) dispatch(e *exchange) error {
	path := e.r.URL.Path
	found, known := a.routes[path]
	if name, is := strings.CutPrefix(path, "/v1/models/"); is && name != "" {
		found, known = route{methods: get(func(e *exchange) error { return a.model(e, name) })}, true
	}
	switch {
	case !found.open && !a.authorized(e.r):
		return &failure{status: http.StatusUnauthorized, message: "Unauthorized"}
	case !known && path == "/metrics":
		return &failure{status: http.StatusNotFound, message: "path is " + quote(path) + ", expected a server with --enable-metrics"}
	case !known:
		return &failure{status: http.StatusNotFound, message: "path is " + quote(path) + ", expected one of the endpoints of this server"}
	}
	handle, allowed := found.methods[e.r.Method]
	if !allowed {
		e.w.Header().Set("Allow", strings.Join(sortedKeys(found.methods), ", "))
		return &failure{
			status:  http.StatusMethodNotAllowed,
			message: "method is " + quote(e.r.Method) + ", expected " + strings.Join(sortedKeys(found.methods), " or "),
		}
	}
	return handle(e)
}

// authorized compares digests, so that the time says nothing of the key, its length included.
func (a *api) authorized(r *http.Request) bool {
	if a.Args.APIKey == "" {
		return true
	}
	given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	digest := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(digest[:], a.key[:]) == 1 && is
}

// whileServing refuses new work while the server starts or ends.
func (a *api) whileServing(f func(*exchange) error) func(*exchange) error {
	return func(e *exchange) error {
		if err := a.serving(); err != nil {
			return err
		}
		return f(e)
	}
}

func (a *api) serving() error {
	switch a.State() {
	case Serving:
		return nil
	case Ending:
		return &failure{status: http.StatusServiceUnavailable, message: "the server is ending"}
	}
	return &failure{status: http.StatusServiceUnavailable, message: "the server is starting"}
}
