package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// client is one connection's part of the load.
type client struct {
	config Config
	seed   int

	streams, tokens, events int
	text                    string // of each stream, all being equal
	first, gaps             []time.Duration
}

// request is the body of a request, and its head.
func (c *client) request(stream bool) []byte {
	ids := strings.TrimSuffix(strings.Repeat("65,", c.config.Prompt), ",")
	body := fmt.Sprintf(`{"input_ids":[%s],"stream":%t,"sampling_params":{"max_new_tokens":%d,"temperature":1,"ignore_eos":true,"sampling_seed":%d}}`,
		ids, stream, c.config.Tokens, c.seed)
	return fmt.Appendf(nil, "POST /generate HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		c.config.Address, len(body), body)
}

func (c *client) run(ctx context.Context, until time.Time) error {
	conn, err := dial(ctx, c.config.Address)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // another client's fault ends this one
	defer func() {
		stop()
		_ = conn.Close() // closed already, or read to its end
	}()
	request := c.request(true)
	for n := 0; c.config.Rounds == 0 && time.Now().Before(until) || n < c.config.Rounds; n++ {
		if err := c.stream(conn, request); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return nil // the one that failed first has said why
			}
			return err
		}
	}
	return nil
}

// stream reads one stream to its end and checks it.
func (c *client) stream(conn *connection, request []byte) error {
	last := time.Now()
	body, err := conn.ask(request)
	if err != nil {
		return err
	}
	var raw []byte
	var s state
	for {
		data, err := body.event()
		if err != nil {
			return err
		}
		if bytes.Equal(data, done) {
			break
		}
		e, err := parseEvent(data)
		if err != nil {
			return err
		}
		if err := s.take(e, c.config.Tokens); err != nil {
			return err
		}
		raw = append(raw, e.text...)
		now := time.Now()
		c.time(now.Sub(last), s.events == 1)
		last = now
	}
	if err := body.end(); err != nil {
		return err
	}
	if !s.finished {
		return fmt.Errorf("the stream ended after %d of %d tokens without a finish reason", s.ids, c.config.Tokens)
	}
	text, err := unescape(raw)
	if err != nil {
		return err
	}
	if c.streams > 0 && text != c.text {
		return fmt.Errorf("stream %d has the text %q, the ones before %q", c.streams+1, text, c.text)
	}
	c.text = text
	c.streams++
	c.tokens += s.ids
	c.events += s.events
	return nil
}

func (c *client) time(d time.Duration, first bool) {
	switch {
	case first:
		c.first = append(c.first, d)
	case len(c.gaps) < keepGaps/c.config.Streams:
		c.gaps = append(c.gaps, d)
	}
}

// state is what has been seen of a stream.
type state struct {
	events, ids int
	finished    bool
}

// take adds one event and says what is wrong with it.
func (s *state) take(e event, tokens int) error {
	s.events++
	s.ids += e.ids
	switch {
	case s.finished:
		return fmt.Errorf("event %d comes after the finish reason", s.events)
	case e.completion != s.ids:
		return fmt.Errorf("event %d says completion_tokens %d, its output_ids and those before are %d", s.events, e.completion, s.ids)
	case e.finished && !bytes.Contains(e.reason, []byte(`"type":"length"`)):
		return fmt.Errorf("event %d has the finish reason %s, expected length", s.events, e.reason)
	case e.finished && s.ids != tokens:
		return fmt.Errorf("%d tokens at the finish, expected %d", s.ids, tokens)
	}
	s.finished = e.finished
	return nil
}

// connection speaks HTTP/1.1 over one socket.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func newConnection(c net.Conn) *connection { return &connection{c, bufio.NewReaderSize(c, 16<<10)} }

var done = []byte("[DONE]")

// stream is a response's body.
type stream struct {
	response *http.Response
	lines    *bufio.Reader
	data     []byte // of the last event
}

func (c *connection) ask(request []byte) (*stream, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("status %s: %s", response.Status, body), err)
	}
	return &stream{response: response, lines: bufio.NewReaderSize(response.Body, 4<<10)}, nil
}

// event returns the data of the next event, valid until the one after.
func (s *stream) event() ([]byte, error) {
	line, err := s.line()
	if err != nil {
		return nil, fmt.Errorf("in an event: %w", err)
	}
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	if !ok {
		return nil, fmt.Errorf("a line %.100q, which does not begin with data: and a blank", line)
	}
	s.data = append(s.data[:0], data...) // the next line may move the buffer
	blank, err := s.line()
	if err != nil {
		return nil, fmt.Errorf("behind an event: %w", err)
	}
	if len(blank) > 0 {
		return nil, fmt.Errorf("behind an event comes %.100q, expected a blank line", blank)
	}
	return s.data, nil
}

// line is the next one without its end, valid until the one after.
func (s *stream) line() ([]byte, error) {
	line, err := s.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		start := bytes.Clone(line)
		rest, err = s.lines.ReadBytes('\n')
		line = append(start, rest...)
	}
	if err != nil {
		return nil, err
	}
	return line[:len(line)-1], nil
}

// end makes sure that nothing comes behind [DONE].
func (s *stream) end() error {
	rest, err := io.ReadAll(s.lines)
	if err != nil {
		return fmt.Errorf("behind the last event: %w", err)
	}
	if len(rest) > 0 {
		return fmt.Errorf("behind the last event come %d bytes: %.100q", len(rest), rest)
	}
	return s.response.Body.Close()
}

// unary asks for a text in one piece.
func (c *connection) unary(request []byte) (string, error) {
	body, err := c.ask(request)
	if err != nil {
		return "", err
	}
	var answer struct {
		Text string `json:"text"`
	}
	data, err := io.ReadAll(body.lines)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", err
	}
	return answer.Text, nil
}
