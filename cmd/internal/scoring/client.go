package scoring

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Client asks a server what is not measured.
type Client struct {
	URL     string        // http://host:port
	Key     string        // API key; empty: none
	Model   string        // empty: "default"
	Timeout time.Duration // of one question; 0 is a minute
	// Encode gives the ids of a text in place of the server's /tokenize, which other
	// servers lack; nil: the server is asked.
	Encode func(text string) ([]int64, error)
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 30

// ask sends one question and reads the whole answer.
func (c Client) ask(ctx context.Context, method, path string, body any) (status int, answer []byte, err error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var data []byte
	if raw, is := body.([]byte); is {
		data = raw
	} else if body != nil {
		if data, err = marshal(body); err != nil {
			return 0, nil, fmt.Errorf("scoring: %s: %w", path, err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, fmt.Errorf("scoring: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	c.Authorize(r.Header)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("scoring: %w", err)
	}
	answer, err = io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err := errors.Join(err, got.Body.Close()); err != nil {
		return 0, nil, fmt.Errorf("scoring: %s %s: %w", method, path, err)
	}
	return got.StatusCode, answer, nil
}

// Authorize adds the key to a header, if there is one.
func (c Client) Authorize(h http.Header) {
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
}

// unexpected is the error of a status that was not wanted.
func unexpected(method, path string, status int, want string, answer []byte) error {
	hint := ""
	if status == http.StatusUnauthorized {
		hint = " (the server wants its API key; give it with --api-key-env)"
	}
	return fmt.Errorf("scoring: %s %s: status %d, expected %s%s: %s", method, path, status, want, hint, quote(answer))
}

// quote is the beginning of an answer for a message.
func quote(answer []byte) string {
	const most = 300
	text := strings.TrimSpace(string(answer))
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// call is ask for an answer of status 200 that is JSON.
func (c Client) call(ctx context.Context, path string, body, into any) error {
	status, answer, err := c.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return unexpected(http.MethodPost, path, status, "200", answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("scoring: POST %s: %w: %s", path, err, quote(answer))
	}
	return nil
}

// tokenizeTexts and tokenizeBytes bound one question: as many texts, and as long
// ones, as any server's limit of a body lets through.
const (
	tokenizeTexts = 256
	tokenizeBytes = 1 << 20
)

// Tokenize gives the ids of texts by the server's own tokenizer, or by Encode.
func (c Client) Tokenize(ctx context.Context, texts []string) ([][]int64, error) {
	var all [][]int64
	if c.Encode != nil {
		for i, text := range texts {
			ids, err := c.Encode(text)
			if err != nil {
				return nil, fmt.Errorf("scoring: text %d of %d: %w", i, len(texts), err)
			}
			all = append(all, ids)
		}
		return all, nil
	}
	for len(texts) > 0 {
		n, size := 0, 0
		for n < min(len(texts), tokenizeTexts) && (n == 0 || size+len(texts[n]) <= tokenizeBytes) {
			size += len(texts[n])
			n++
		}
		var answer struct {
			Tokens [][]int64 `json:"tokens"`
		}
		if err := c.call(ctx, "/tokenize", map[string]any{"prompt": texts[:n]}, &answer); err != nil {
			return nil, err
		}
		if len(answer.Tokens) != n {
			return nil, fmt.Errorf("scoring: POST /tokenize: %d lists of tokens, expected %d", len(answer.Tokens), n)
		}
		all, texts = append(all, answer.Tokens...), texts[n:]
	}
	return all, nil
}

// Alphabet asks which two tokens text can be made of.
func (c Client) Alphabet(ctx context.Context) (Alphabet, error) {
	return chooseAlphabet(func(texts []string) ([][]int64, error) { return c.Tokenize(ctx, texts) })
}

// Count sets each prompt's number of tokens, asked from the server, and holds it
// to the number that the prompt has, if it has one. A chat's are not known: the
// template is the server's.
func (c Client) Count(ctx context.Context, prompts []Prompt) error {
	index := map[string]int{}
	var texts []string
	for _, p := range prompts {
		for _, text := range p.joined() {
			if _, known := index[text]; !known {
				index[text] = len(texts)
				texts = append(texts, text)
			}
		}
	}
	lists, err := c.Tokenize(ctx, texts)
	if err != nil {
		return err
	}
	for i := range prompts {
		p := &prompts[i]
		if p.Messages != nil {
			continue
		}
		n := 0
		for _, text := range p.joined() {
			n += len(lists[index[text]])
		}
		for _, ids := range p.ItemIDs {
			n += len(p.QueryIDs) + len(ids)
		}
		if p.Tokens != 0 && n != p.Tokens {
			return fmt.Errorf("scoring: prompt %d has %d tokens by the %s tokenizer, expected %d", i, n, c.whose(), p.Tokens)
		}
		p.Tokens = n
	}
	return nil
}

func (c Client) whose() string {
	if c.Encode != nil {
		return "given"
	}
	return "server's"
}

// PublishedLabels are "Yes" and "No" of Qwen.
var PublishedLabels = []int64{9454, 2753}

// Labels are the published ones where the server takes them, else the first tokens
// of "Yes" and "No" in its own vocabulary.
func (c Client) Labels(ctx context.Context) ([]int64, error) {
	probe := map[string]any{"query": "Q", "items": []string{"A"}, "label_token_ids": PublishedLabels, "model": Options{Model: c.Model}.model()}
	status, answer, err := c.ask(ctx, http.MethodPost, paths[Score], probe)
	if err != nil {
		return nil, err
	}
	switch {
	case status == http.StatusOK:
		return slices.Clone(PublishedLabels), nil
	case status != http.StatusBadRequest || !bytes.Contains(answer, []byte("out of vocabulary")):
		return nil, unexpected(http.MethodPost, paths[Score], status, "200, or 400 for labels that the vocabulary lacks", answer)
	}
	lists, err := c.Tokenize(ctx, []string{"Yes", "No"})
	if err != nil {
		return nil, err
	}
	if len(lists[0]) == 0 || len(lists[1]) == 0 || lists[0][0] == lists[1][0] {
		return nil, fmt.Errorf("scoring: the tokens of Yes and No are %v, expected two that differ; name label ids", lists)
	}
	return []int64{lists[0][0], lists[1][0]}, nil
}

// Flush empties the server's cache, which must be idle within wait.
func (c Client) Flush(ctx context.Context, wait time.Duration) error {
	path := fmt.Sprintf("/flush_cache?timeout_s=%g", wait.Seconds())
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	c.Timeout += wait
	status, answer, err := c.ask(ctx, http.MethodPost, path, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return unexpected(http.MethodPost, path, status, "200", answer)
	}
	return nil
}

// ServerInfo is what the server says of its settings, for the record.
func (c Client) ServerInfo(ctx context.Context) (json.RawMessage, error) {
	const path = "/server_info"
	status, answer, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK || !json.Valid(answer) {
		return nil, unexpected(http.MethodGet, path, status, "200 and JSON", answer)
	}
	return answer, nil
}
