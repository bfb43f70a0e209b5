package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// event is what is read of one event's JSON.
type event struct {
	text       []byte // as it stands between the quotes, escapes and all
	ids        int
	completion int
	finished   bool
	reason     []byte // the finish reason's JSON
}

var (
	textKey       = []byte(`"text":"`)
	idsKey        = []byte(`"output_ids":[`)
	completionKey = []byte(`"completion_tokens":`)
	finishKey     = []byte(`"finish_reason":`)
	null          = []byte("null")
)

// parseEvent reads the members that it knows, wherever they stand. A text that
// holds one of the keys cannot mislead it: quotes in a text are escaped.
func parseEvent(data []byte) (event, error) {
	var e event
	text, err := after(data, textKey)
	if err != nil {
		return e, err
	}
	end := stringEnd(text)
	if end < 0 {
		return e, errors.New("the text has no end")
	}
	e.text = text[:end]
	ids, err := after(data, idsKey)
	if err != nil {
		return e, err
	}
	if e.ids, err = countInts(ids); err != nil {
		return e, err
	}
	completion, err := after(data, completionKey)
	if err != nil {
		return e, err
	}
	if e.completion, err = strconv.Atoi(string(completion[:digits(completion)])); err != nil {
		return e, fmt.Errorf("completion_tokens: %w", err)
	}
	reason, err := after(data, finishKey)
	if err != nil {
		return e, err
	}
	if e.finished = !bytes.HasPrefix(reason, null); e.finished {
		close := bytes.IndexByte(reason, '}')
		if close < 0 {
			return e, errors.New("the finish reason has no end")
		}
		e.reason = reason[:close+1]
	}
	return e, nil
}

func after(data, key []byte) ([]byte, error) {
	at := bytes.Index(data, key)
	if at < 0 {
		return nil, fmt.Errorf("an event without %s: %.200q", key, data)
	}
	return data[at+len(key):], nil
}

// stringEnd is where the quote that ends a JSON string stands, -1 if nowhere.
func stringEnd(s []byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// countInts counts the numbers up to the bracket.
func countInts(s []byte) (int, error) {
	end := bytes.IndexByte(s, ']')
	if end < 0 {
		return 0, errors.New("output_ids has no end")
	}
	if end == 0 {
		return 0, nil
	}
	return bytes.Count(s[:end], []byte{','}) + 1, nil
}

func digits(s []byte) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// unescape makes text of what stood between the quotes of one or many events.
func unescape(raw []byte) (string, error) {
	quoted := append(append([]byte{'"'}, raw...), '"')
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return "", fmt.Errorf("the text is no JSON string: %w", err)
	}
	return s, nil
}
