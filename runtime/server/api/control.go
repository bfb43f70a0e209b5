package api

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

type modelCard struct {
	ID      string  `json:"id"`
	Object  string  `json:"object"`
	Created int64   `json:"created"`
	OwnedBy string  `json:"owned_by"`
	Root    string  `json:"root"`
	Parent  *string `json:"parent"`
	MaxLen  int     `json:"max_model_len"`
}

func (a *api) card() modelCard {
	name := a.Info.Name
	return modelCard{ID: name, Object: "model", Created: a.created, OwnedBy: "fanoutbench", Root: name, MaxLen: a.Info.ContextLength}
}

// models answers GET /v1/models.
func (a *api) models(e *exchange) error {
	return e.json(http.StatusOK, struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{"list", []modelCard{a.card()}})
}

// model answers GET /v1/models/NAME.
func (a *api) model(e *exchange, name string) error {
	if name != a.Info.Name {
		return &failure{status: http.StatusNotFound, param: "model", message: "model is " + quote(name) + ", expected " + quote(a.Info.Name)}
	}
	return e.json(http.StatusOK, a.card())
}

// serverInfo answers with the settings, what the scheduler has room for, its state and
// the version.
func (a *api) serverInfo(e *exchange) error {
	state, err := a.Service.InternalState(e.ctx())
	if err != nil {
		return err
	}
	var has struct {
		Total  *int `json:"max_total_num_tokens"`
		Limits struct {
			Input *int `json:"max_req_input_len"`
		} `json:"limits"`
	}
	if err := json.Unmarshal(state, &has); err != nil || has.Total == nil || has.Limits.Input == nil {
		return internal("the scheduler's state is %s, expected max_total_num_tokens and limits.max_req_input_len (%v)", show(state), err)
	}
	return e.json(http.StatusOK, struct {
		args.Args
		Served  string            `json:"served_model_name"`
		Context int               `json:"context_length"`
		Total   int               `json:"max_total_num_tokens"`
		Input   int               `json:"max_req_input_len"`
		States  []json.RawMessage `json:"internal_states"`
		Version string            `json:"version"`
	}{a.Args, a.Info.Name, a.Info.ContextLength, *has.Total, *has.Limits.Input, []json.RawMessage{state}, a.Version})
}

// modelInfo answers with what is served.
func (a *api) modelInfo(e *exchange) error {
	return e.json(http.StatusOK, struct {
		ModelPath     string    `json:"model_path"`
		TokenizerPath string    `json:"tokenizer_path"`
		IsGeneration  bool      `json:"is_generation"`
		Preferred     *struct{} `json:"preferred_sampling_params"`
		Version       string    `json:"weight_version"`
		Images        bool      `json:"has_image_understanding"`
		Audio         bool      `json:"has_audio_understanding"`
		Type          *string   `json:"model_type"`
		Served        string    `json:"served_model_name"`
		Architectures []string  `json:"architectures"`
		ContextLength int       `json:"context_length"`
		VocabSize     int       `json:"vocab_size"`
	}{
		ModelPath: a.Args.ModelPath, TokenizerPath: a.Args.TokenizerPath, IsGeneration: true, Version: weightVersion,
		Type: modelType(a.Info.Architecture), Served: a.Info.Name, Architectures: []string{a.Info.Architecture},
		ContextLength: a.Info.ContextLength, VocabSize: a.Info.VocabSize,
	})
}

// modelType is the model_type that a config.json of the architecture has: qwen3 for
// Qwen3ForCausalLM; nil for what is no model.
func modelType(architecture string) *string {
	name, is := strings.CutSuffix(architecture, "ForCausalLM")
	if !is {
		return nil
	}
	name = strings.ToLower(name)
	return &name
}

const flushed = "Cache flushed.\nPlease check backend logs for more details. " +
	"(When there are running or waiting requests, the operation will not be performed.)\n"

// flushCache answers GET and POST /flush_cache?timeout_s=.
func (a *api) flushCache(e *exchange) error {
	timeout, err := seconds(e.r.URL.Query().Get("timeout_s"))
	if err != nil {
		return err
	}
	done, message, err := a.Service.FlushCache(e.ctx(), timeout)
	if err != nil {
		return err
	}
	if done {
		e.answer(http.StatusOK, "text/plain; charset=utf-8", []byte(flushed))
		return nil
	}
	e.answer(http.StatusBadRequest, "text/plain; charset=utf-8", []byte("Cache not flushed: "+message+"\n"))
	return nil
}

// seconds reads a time-out; none is 0.
func seconds(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	const most = 3600
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return 0, invalid("timeout_s", "timeout_s is %s, expected seconds from 0 to %d", quote(text), most)
	}
	return time.Duration(v * float64(time.Second)), nil
}

// abortRequest answers POST /abort_request. An empty rid is the beginning of all
// rids; that must not be how all requests end.
func (a *api) abortRequest(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	rid, all, message := f.text("rid", ""), f.flag("abort_all", false), f.text("abort_message", "")
	if rid == "" && !all {
		f.fail("rid", "is empty, expected a request's, or abort_all")
	}
	if f.err != nil {
		return f.err
	}
	if err := a.Service.Abort(e.ctx(), rid, all, message); err != nil {
		return err
	}
	e.answer(http.StatusOK, "text/plain; charset=utf-8", nil)
	return nil
}

// admissions answers POST /admissions.
func (a *api) admissions(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	rids := f.texts("rids", false)
	if len(rids) == 0 {
		f.fail("rids", "has no request, expected at least one rid")
	}
	if f.err != nil {
		return f.err
	}
	records, err := a.Service.Admissions(e.ctx(), rids)
	if err != nil {
		return err
	}
	e.answer(http.StatusOK, "application/json", records)
	return nil
}

// metrics answers GET /metrics.
func (a *api) metrics(e *exchange) error {
	if err := e.limitWrite(); err != nil {
		return err
	}
	a.Metrics.ServeHTTP(e.w, e.r)
	return nil
}

// health answers GET /health.
func (a *api) health(e *exchange) error {
	if err := a.serving(); err != nil {
		return err
	}
	e.answer(http.StatusOK, "text/plain; charset=utf-8", nil)
	return nil
}

// healthTimeout is SGLang's, for settings without one.
const healthTimeout = 20 * time.Second

func (a *api) healthTimeout() time.Duration {
	s := a.Args.HealthTimeout
	if !(s > 0 && s < math.MaxInt32) {
		return healthTimeout
	}
	return time.Duration(s * float64(time.Second))
}

// withTimeout is a context for the time that a probe has.
func (a *api) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.healthTimeout())
}
