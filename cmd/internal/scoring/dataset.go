package scoring

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxRecord is the longest line of a dataset.
const maxRecord = 64 << 20

// ReadDatasetFile reads a dataset from a file.
func ReadDatasetFile(path, api string) ([]Prompt, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scoring: dataset: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	prompts, err := ReadDataset(f, api)
	if err != nil {
		return nil, fmt.Errorf("scoring: dataset %s%w", path, err)
	}
	return prompts, nil
}

// ReadDataset reads lines of JSON, each a request of the API. Its errors begin
// with the line: ":12: ...".
func ReadDataset(r io.Reader, api string) ([]Prompt, error) {
	read, ok := map[string]func(*record) Prompt{Score: scoreRecord, Completions: completionRecord, Chat: chatRecord}[api]
	if !ok {
		return nil, fmt.Errorf(": api is %q, expected score, completions or chat", api)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecord)
	var prompts []Prompt
	for lines.Scan() {
		p, err := parseRecord(lines.Bytes(), read)
		if err != nil {
			return nil, fmt.Errorf(":%d: %w", len(prompts)+1, err)
		}
		prompts = append(prompts, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf(":%d: %w", len(prompts)+1, err)
	}
	if len(prompts) == 0 {
		return nil, errors.New(": no line, expected at least one request")
	}
	return prompts, nil
}

// record is a line whose fields are taken one by one.
type record struct {
	fields map[string]json.RawMessage
	err    error
}

func parseRecord(line []byte, read func(*record) Prompt) (Prompt, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return Prompt{}, errors.New("an empty line, expected a request")
	}
	fields, err := oneObject(line)
	if err != nil {
		return Prompt{}, err
	}
	r := &record{fields: fields}
	p := read(r)
	if r.err != nil {
		return Prompt{}, r.err
	}
	for name := range r.fields {
		return Prompt{}, fmt.Errorf("field %q is not one of this API's", name)
	}
	return p, nil
}

// oneObject reads the one object of a line; a name that is there twice is an error.
func oneObject(line []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	open, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("begins with %v, expected an object", open)
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("no JSON: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		key, _ := name.(string) // in an object, names are strings
		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("field %q is there twice", key)
		}
		fields[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more behind the object, expected one a line")
	}
	return fields, nil
}

func (r *record) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// take takes a field's value out.
func (r *record) take(name string) (json.RawMessage, bool) {
	raw, has := r.fields[name]
	delete(r.fields, name)
	return raw, has
}

// must is take for a field that has to be there.
func (r *record) must(name string) json.RawMessage {
	raw, has := r.take(name)
	if !has {
		r.fail("no field %q", name)
	}
	return raw
}

// is decodes a value if it is of that type, without null in place of an element.
func is[T any](raw json.RawMessage) (value T, ok bool) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return value, false
	}
	return value, json.Unmarshal(raw, &value) == nil
}

// list decodes a list of at least one element.
func list[T any](raw json.RawMessage) ([]T, bool) {
	parts, ok := is[[]json.RawMessage](raw)
	if !ok || len(parts) == 0 {
		return nil, false
	}
	all := make([]T, len(parts))
	for i, part := range parts {
		if all[i], ok = is[T](part); !ok {
			return nil, false
		}
	}
	return all, true
}

// ids decodes a list of token ids, which may be empty.
func ids(raw json.RawMessage) ([]int64, bool) {
	parts, ok := is[[]json.RawMessage](raw)
	if !ok {
		return nil, false
	}
	all := make([]int64, len(parts))
	for i, part := range parts {
		if all[i], ok = is[int64](part); !ok || all[i] < 0 {
			return nil, false
		}
	}
	return all, true
}

func scoreRecord(r *record) Prompt {
	query, items := r.must("query"), r.must("items")
	var p Prompt
	var ok bool
	if p.Query, ok = is[string](query); ok {
		if p.Items, ok = list[string](items); !ok {
			r.fail("items is %s, expected a list of at least one text, as query is text", quote(items))
		}
	} else if p.QueryIDs, ok = ids(query); ok {
		p.ItemIDs = idLists(r, items)
	} else {
		r.fail("query is %s, expected a text or a list of token ids", quote(query))
	}
	if labels, has := r.take("label_token_ids"); has {
		if p.Labels, ok = ids(labels); !ok || len(p.Labels) == 0 {
			r.fail("label_token_ids is %s, expected a list of at least one token id", quote(labels))
		}
	}
	return p
}

func idLists(r *record, raw json.RawMessage) [][]int64 {
	parts, ok := list[json.RawMessage](raw)
	all := make([][]int64, len(parts))
	for i, part := range parts {
		if all[i], ok = ids(part); !ok {
			break
		}
	}
	if !ok {
		r.fail("items is %s, expected a list of at least one list of token ids, as query is ids", quote(raw))
	}
	return all
}

func completionRecord(r *record) Prompt {
	raw := r.must("prompt")
	if text, ok := is[string](raw); ok {
		return Prompt{Items: []string{text}}
	}
	texts, ok := list[string](raw)
	if !ok {
		r.fail("prompt is %s, expected a text or a list of at least one", quote(raw))
	}
	return Prompt{Items: texts}
}

func chatRecord(r *record) Prompt {
	raw := r.must("messages")
	parts, ok := list[json.RawMessage](raw)
	var p Prompt
	for _, part := range parts {
		fields, err := oneObject(part)
		if err != nil {
			r.fail("messages: %w", err)
			return p
		}
		inner := &record{fields: fields}
		role, isText := is[string](inner.must("role"))
		content, isText2 := is[string](inner.must("content"))
		ok = ok && isText && isText2 && len(inner.fields) == 0
		p.Messages = append(p.Messages, Message{role, content})
	}
	if !ok {
		r.fail("messages is %s, expected a list of at least one {role, content}, both texts", quote(raw))
	}
	return p
}
