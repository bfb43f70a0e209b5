package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// pieceBytes is the most that is written under one deadline.
const pieceBytes = 32 << 10

// exchange is one request and its answer.
type exchange struct {
	api    *api
	w      http.ResponseWriter
	r      *http.Request
	rc     *http.ResponseController
	family family
	events bool      // an event stream has begun
	due    time.Time // the deadline of writes that was set last
}

func newExchange(a *api, w http.ResponseWriter, r *http.Request) *exchange {
	e := &exchange{api: a, w: w, r: r, rc: http.NewResponseController(w)}
	if likeOpenAI(r.URL.Path) {
		e.family = openAI
	}
	return e
}

// likeOpenAI says which paths have the errors of OpenAI's: those that SGLang serves from
// entrypoints/openai.
func likeOpenAI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/tokenize" || path == "/detokenize"
}

func (e *exchange) ctx() context.Context { return e.r.Context() }

// limitBody sets the time for a body, also for one that no handler reads: net/http
// reads those before it answers.
func (e *exchange) limitBody() error {
	if e.r.ContentLength == 0 {
		return nil
	}
	return unlessUnsupported(e.rc.SetReadDeadline(time.Now().Add(e.api.BodyTimeout)))
}

// read reads the body. At its end net/http takes the deadline back: it goes on
// reading, to learn whether the client has left.
func (e *exchange) read() ([]byte, error) {
	most := e.api.Args.MaxBodyBytes
	body, err := io.ReadAll(http.MaxBytesReader(e.w, e.r.Body, most))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &failure{
			status:  http.StatusRequestEntityTooLarge,
			message: "the body is too large, expected at most " + itoa(most) + " bytes",
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &failure{
			status:  http.StatusRequestTimeout,
			message: "the body did not come within " + e.api.BodyTimeout.String(),
		}
	case err != nil:
		return nil, invalid("", "the body cannot be read: %s", err)
	}
	return body, nil
}

// fields reads the body as a JSON object.
func (e *exchange) fields() (*fields, error) {
	body, err := e.read()
	if err != nil {
		return nil, err
	}
	return parseFields(body)
}

func parseFields(body []byte) (*fields, error) {
	if !utf8.Valid(body) {
		return nil, invalid("", "the body is not UTF-8")
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 {
		return nil, invalid("", "the body is empty, expected a JSON object")
	}
	f := &fields{}
	err := json.Unmarshal(body, &f.raw)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return nil, invalid("", "the body is a JSON %s, expected an object", wrong.Value)
	case err != nil:
		return nil, invalid("", "the body is not JSON: %s", err)
	case f.raw == nil:
		return nil, invalid("", "the body is null, expected a JSON object")
	}
	if escape := jsoncheck.HalfCharacter(body); escape != nil {
		return nil, invalid("", "the body has %s, half of a character, expected both halves", escape)
	}
	return f, nil
}

// unlessUnsupported drops the answer of a ResponseWriter without a connection, which has no deadlines.
func unlessUnsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Write gives each piece its own deadline, so that a client has to take something
// in time but a long answer may take long.
func (e *exchange) Write(b []byte) (int, error) {
	written := 0
	for {
		if err := e.limitWrite(); err != nil {
			return written, err
		}
		piece := b[written:min(len(b), written+pieceBytes)]
		n, err := e.w.Write(piece)
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// limitWrite sets the time for a piece: WriteTimeout, or up to an eighth less where the deadline is
// one that an earlier piece was given, since a stream of small events would set it for each.
func (e *exchange) limitWrite() error {
	now := time.Now()
	if e.due.Sub(now) > e.api.WriteTimeout-e.api.WriteTimeout/8 {
		return nil
	}
	e.due = now.Add(e.api.WriteTimeout)
	return unlessUnsupported(e.rc.SetWriteDeadline(e.due))
}

// answer writes a body. A client that cannot be written to has left; there is
// nobody to tell but the log.
func (e *exchange) answer(status int, contentType string, body []byte) {
	e.w.Header().Set("Content-Type", contentType)
	e.w.Header().Set("Content-Length", itoa(int64(len(body))))
	e.w.WriteHeader(status)
	if _, err := e.Write(body); err != nil {
		e.api.Log.Debug("an answer was not taken", "path", e.r.URL.Path, "error", err)
	}
}

// json answers with a value.
func (e *exchange) json(status int, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	e.answer(status, "application/json", body)
	return nil
}

// marshal encodes without HTML's escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// fail ends the exchange with an error, as a response or as an event.
func (e *exchange) fail(err error) {
	var notTaken errNotTaken
	f, heard := asFailure(e.ctx(), err)
	if !heard || errors.As(err, &notTaken) {
		e.api.Log.Debug("a client left", "path", e.r.URL.Path, "error", err)
		return
	}
	if f.status >= 500 {
		e.api.Log.Warn("a request failed", "path", e.r.URL.Path, "status", f.status, "error", f.message)
	}
	if e.events {
		e.failEvents(f)
		return
	}
	if f.status == http.StatusUnauthorized {
		e.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if err := e.json(f.status, e.family.body(f)); err != nil {
		e.api.Log.Error("an error cannot be written", "error", err)
	}
}

// failEvents ends a stream with an error event.
func (e *exchange) failEvents(f *failure) {
	body, err := marshal(e.family.event(f))
	if err != nil {
		e.api.Log.Error("an error cannot be written", "error", err)
		return
	}
	event := append(append([]byte("data: "), body...), "\n\ndata: [DONE]\n\n"...)
	if err := e.send(event); err != nil {
		e.api.Log.Debug("a stream's error was not taken", "path", e.r.URL.Path, "error", err)
	}
}

// begin makes the answer an event stream; what fails from here on is an event.
func (e *exchange) begin() {
	e.events = true
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
}

// send writes whole events.
func (e *exchange) send(events []byte) error {
	if _, err := e.Write(events); err != nil {
		return errNotTaken{err}
	}
	if err := e.rc.Flush(); err != nil {
		return errNotTaken{err}
	}
	return nil
}

// errNotTaken is a client that is gone or does not read.
type errNotTaken struct{ error }

// done ends a stream.
func (e *exchange) done() error { return e.send([]byte("data: [DONE]\n\n")) }

// drive hands the updates of a call to take until each index has finished.
func drive(ctx context.Context, call manager.Call, take func(*manager.Update) error) error {
	for {
		u, err := call.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := aborted(u.Finish); err != nil {
			return err
		}
		if err := take(&u); err != nil {
			return err
		}
	}
}
