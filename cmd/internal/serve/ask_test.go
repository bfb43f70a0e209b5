package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// post sends a JSON body and returns status and answer.
func (s *server) post(t *testing.T, path string, body any) (int, map[string]any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return s.raw(t, http.MethodPost, path, data)
}

func (s *server) raw(t *testing.T, method, path string, body []byte) (int, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil && len(data) > 0 {
		answer = map[string]any{"raw": string(data)}
	}
	return response.StatusCode, answer
}

// streamed is a stream read to its end, or as far as it came.
type streamed struct {
	Text   string
	IDs    []int64
	Events int
	Finish string // the last finish reason's type
	Err    string // an error event
	Done   bool   // [DONE] came
}

// ask sends a request to /generate; an answer whose status is not 200 is an error.
func (s *server) ask(ctx context.Context, body map[string]any, stream bool) (*http.Response, error) {
	body["stream"] = stream
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/generate", bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	text, err := io.ReadAll(response.Body)
	return nil, errors.Join(fmt.Errorf("status %s: %s", response.Status, text), err, response.Body.Close())
}

// unary reads an answer in one piece.
func (s *server) unary(ctx context.Context, body map[string]any) (streamed, error) {
	response, err := s.ask(ctx, body, false)
	if err != nil {
		return streamed{}, err
	}
	defer func() { _ = response.Body.Close() }() // read only
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return streamed{}, err
	}
	var got streamed
	return got, got.take("data: " + string(data))
}

// stream reads a /generate stream of a server with --incremental-streaming-output.
func (s *server) generate(ctx context.Context, body map[string]any) (streamed, error) {
	response, err := s.ask(ctx, body, true)
	if err != nil {
		return streamed{}, err
	}
	defer func() { _ = response.Body.Close() }() // read only
	var got streamed
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := got.take(lines.Text()); err != nil {
			return got, err
		}
	}
	return got, lines.Err()
}

func (s *streamed) take(line string) error {
	data, ok := strings.CutPrefix(line, "data: ")
	switch {
	case line == "":
		return nil
	case !ok:
		return fmt.Errorf("a line %q", line)
	case data == "[DONE]":
		s.Done = true
		return nil
	}
	var event struct {
		Text      string  `json:"text"`
		OutputIDs []int64 `json:"output_ids"`
		Meta      struct {
			FinishReason *struct{ Type string } `json:"finish_reason"`
		} `json:"meta_info"`
		Error *struct{ Message string } `json:"error"`
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return fmt.Errorf("an event %q: %w", data, err)
	}
	if event.Error != nil {
		s.Err = event.Error.Message
		return nil
	}
	s.Events++
	s.Text += event.Text
	s.IDs = append(s.IDs, event.OutputIDs...)
	if f := event.Meta.FinishReason; f != nil {
		s.Finish = f.Type
	}
	return nil
}

// prompt is a request of n tokens from the seed, over a simulated or a seeded model.
func prompt(seed, n int) map[string]any {
	return map[string]any{
		"text":            "hello",
		"sampling_params": map[string]any{"max_new_tokens": n, "temperature": 1, "ignore_eos": true, "sampling_seed": seed},
	}
}

// running is how many requests the scheduler computes.
func (s *server) running(t *testing.T) int { return int(s.metric(t, "sglang:num_running_reqs")) }

// metric is a metric's value, summed over its labels; one that is not there is an error.
func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	_, answer := s.raw(t, "GET", "/metrics", nil)
	text, _ := answer["raw"].(string)
	var sum float64
	found := false
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == '{' || rest[0] == ' ') {
			fields := strings.Fields(line)
			n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum, found = sum+n, true
		}
	}
	if !found {
		t.Fatalf("/metrics has no %s", name)
	}
	return sum
}

// body posts a body and returns the answer's, whatever its status.
func (s *server) body(path, body string) string {
	s.t.Helper()
	response, err := http.Post(s.url+path, "", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}
