package supervisor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// warmUpMargin is what the answer may take beyond the health check's own limit.
const warmUpMargin = 10 * time.Second

// warmUp asks the server for one token, while it watches the parts.
func (s *server) warmUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(s.Args.HealthTimeout)+warmUpMargin)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- s.askHealth(ctx) }()
	for {
		select {
		case err := <-answered:
			return err
		case <-s.Now:
			return errNow
		case e := <-s.events:
			if err := s.note(e); err != nil {
				return err
			}
			if e.kind == typeSignal {
				return errAsked
			}
		}
	}
}

// answerLimit is how much of an answer is put into an error.
const answerLimit = 500

func (s *server) askHealth(ctx context.Context) (err error) {
	url := s.self() + "/health_generate"
	defer func() {
		if err != nil {
			err = fmt.Errorf("the server's own first request, GET %s: %w", url, err)
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if s.Args.APIKey != "" {
		r.Header.Set("Authorization", "Bearer "+s.Args.APIKey)
	}
	// No connection is kept: it would be one of those that a worker waits for.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s, body %q; want 200", answer.Status, body)
	}
	return err
}
