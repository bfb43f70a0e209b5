package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// failure is an answer that is an error.
type failure struct {
	status  int
	kind    string // "": by status
	param   string // the field
	message string
}

func (f *failure) Error() string { return f.message }

// invalid is a bad request because of a field.
func invalid(param, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// internal is a fault of the server.
func internal(format string, args ...any) *failure {
	return &failure{status: http.StatusInternalServerError, message: fmt.Sprintf(format, args...)}
}

// kinds names the errors of a status, as SGLang and the OpenAI clients do.
var kinds = map[int]string{
	http.StatusBadRequest:            "BadRequestError",
	http.StatusUnauthorized:          "AuthenticationError",
	http.StatusNotFound:              "NotFoundError",
	http.StatusMethodNotAllowed:      "MethodNotAllowedError",
	http.StatusRequestTimeout:        "RequestTimeoutError",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLargeError",
	http.StatusTooManyRequests:       "RateLimitError",
	http.StatusServiceUnavailable:    "ServiceUnavailableError",
}

// asFailure makes an answer of any error; false: the client has left, nobody reads
// one. What we made ourselves is told all the same: net/http takes a body that
// does not come in time for a client that left.
func asFailure(ctx context.Context, err error) (*failure, bool) {
	var f *failure
	var refused *manager.Error
	switch {
	case errors.As(err, &f):
	case ctx.Err() != nil:
		return nil, false
	case errors.As(err, &refused):
		f = &failure{status: refused.Status, kind: refused.Type, message: refused.Message}
	default:
		f = internal("%s", err)
	}
	out := *f
	if out.status < 400 || out.status > 599 {
		out.status = http.StatusInternalServerError
	}
	if out.kind == "" {
		out.kind = kinds[out.status]
	}
	if out.kind == "" {
		out.kind = "InternalServerError"
	}
	return &out, true
}

// aborted is the failure of a finish that is an abort with a status code.
func aborted(f *manager.Finish) error {
	if f == nil || f.Type != "abort" || f.StatusCode == 0 {
		return nil
	}
	message := f.Message
	if message == "" {
		message = "the request was aborted"
	}
	return &failure{status: f.StatusCode, kind: f.ErrType, message: message}
}

// family is the shape of errors.
type family int

const (
	native family = iota
	openAI
)

// openAIError has SGLang's fields; what clients read is message, type, param and code.
type openAIError struct {
	Object  string  `json:"object"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

type nativeError struct {
	Message string `json:"message"`
}

func (s family) detail(f *failure) any {
	if s == native {
		return nativeError{f.message}
	}
	e := openAIError{Object: "error", Message: f.message, Type: f.kind, Code: f.status}
	if f.param != "" {
		e.Param = &f.param
	}
	return e
}

// body is a response's. SGLang answers what a request got wrong in the shape of its
// endpoint, and what the server could not do in the OpenAI endpoints' everywhere.
func (s family) body(f *failure) any {
	if s == native && f.status < 500 && f.status != http.StatusTooManyRequests {
		return s.event(f)
	}
	return openAI.detail(f)
}

// event is a stream's.
func (s family) event(f *failure) any {
	return struct {
		Error any `json:"error"`
	}{s.detail(f)}
}

// quote shows a value from outside, shortened.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return strconv.Quote(s[:cut]) + "..."
	}
	return strconv.Quote(s)
}

// show shows a JSON value from outside as it was written, shortened.
func show(raw json.RawMessage) string {
	const most = 80
	if len(raw) <= most {
		return string(raw)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	return string(raw[:cut]) + "..."
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
