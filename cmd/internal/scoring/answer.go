package scoring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// Answer to one send.
type Answer struct {
	Scores           [][]float64 // an item a row, a label a column; nil: another API
	PromptTokens     int         // as the server counts them; 0: it does not say
	CompletionTokens int
	Chunks           []Chunk // of a stream
}

// ScoresSHA256 is the hash of the scores, as records have it.
func (a Answer) ScoresSHA256() string { return batchrun.ScoresSHA256(a.Scores) }

// notJSON finds what Python writes for numbers that JSON does not have.
var notJSON = regexp.MustCompile(`[:\[,]\s*(NaN|-?Infinity)\b`)

// decode reads a JSON object; an error in it is told as one.
func decode(body []byte, into any) error {
	if m := notJSON.FindSubmatch(body); m != nil && !json.Valid(body) {
		return fmt.Errorf("the answer has %s, expected numbers: %s", m[1], quote(body))
	}
	var fault struct {
		Object string          `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &fault); err != nil {
		return fmt.Errorf("the answer is no JSON object (%w): %s", err, quote(body))
	}
	if fault.Object == "error" || len(fault.Error) > 0 && string(fault.Error) != "null" {
		return fmt.Errorf("the answer is an error: %s", quote(body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer is of another shape (%w): %s", err, quote(body))
	}
	return nil
}

type answerUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
}

// Answer reads the answer to a send; an error says why it counts as failed.
func (s *Set) Answer(send, status int, body []byte) (Answer, error) {
	p := s.Prompt(send)
	a, err := s.read(p, status, body)
	if err == nil && a.PromptTokens != 0 && p.Tokens != 0 && a.PromptTokens != p.Tokens {
		err = fmt.Errorf("prompt_tokens is %d, expected %d", a.PromptTokens, p.Tokens)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("scoring: %w", err)
	}
	return a, nil
}

func (s *Set) read(p Prompt, status int, body []byte) (Answer, error) {
	switch {
	case status != http.StatusOK:
		return Answer{}, fmt.Errorf("status %d, expected 200: %s", status, quote(body))
	case s.API == Score:
		return readScores(body, p.count(), len(s.labels(p)))
	case s.Stream:
		return readStream(body, p.count(), s.OutputTokens)
	}
	return readGeneration(body, p.count(), s.OutputTokens)
}

// aboveOne is how far rounding may take a probability above 1.
const aboveOne = 1e-6

func readScores(body []byte, items, labels int) (Answer, error) {
	var got struct {
		Scores [][]*float64 `json:"scores"`
		Usage  answerUsage  `json:"usage"`
	}
	if err := decode(body, &got); err != nil {
		return Answer{}, err
	}
	if len(got.Scores) != items {
		return Answer{}, fmt.Errorf("%d rows of scores, expected %d, one an item", len(got.Scores), items)
	}
	a := Answer{Scores: make([][]float64, items), PromptTokens: got.Usage.Prompt}
	for i, row := range got.Scores {
		if len(row) != labels {
			return Answer{}, fmt.Errorf("item %d has %d scores, expected %d, one a label", i, len(row), labels)
		}
		for j, v := range row {
			if v == nil {
				return Answer{}, fmt.Errorf("item %d: score %d is null, expected a number", i, j)
			}
			if !(*v >= 0 && *v <= 1+aboveOne) {
				return Answer{}, fmt.Errorf("item %d: score %d is %v, expected a probability, 0 to 1", i, j, *v)
			}
			a.Scores[i] = append(a.Scores[i], *v)
		}
	}
	return a, nil
}

func readGeneration(body []byte, prompts, tokens int) (Answer, error) {
	var got struct {
		Choices []struct {
			Index  int     `json:"index"`
			Finish *string `json:"finish_reason"`
		} `json:"choices"`
		Usage answerUsage `json:"usage"`
	}
	if err := decode(body, &got); err != nil {
		return Answer{}, err
	}
	if len(got.Choices) != prompts {
		return Answer{}, fmt.Errorf("%d choices, expected %d, one a prompt", len(got.Choices), prompts)
	}
	for i, c := range got.Choices {
		if c.Index != i {
			return Answer{}, fmt.Errorf("choice %d has index %d, expected its place", i, c.Index)
		}
		if err := finished(i, c.Finish); err != nil {
			return Answer{}, err
		}
	}
	if want := prompts * tokens; got.Usage.Completion != want {
		return Answer{}, fmt.Errorf("completion_tokens is %d, expected %d", got.Usage.Completion, want)
	}
	return Answer{PromptTokens: got.Usage.Prompt, CompletionTokens: got.Usage.Completion}, nil
}

// finished wants the only end that a request to its full length has.
func finished(index int, reason *string) error {
	if reason == nil {
		return fmt.Errorf("choice %d has no finish_reason, expected length", index)
	}
	if *reason != "length" {
		return fmt.Errorf("choice %d has finish_reason %q, expected length", index, *reason)
	}
	return nil
}

// Chunk of a stream: an event that brought tokens.
type Chunk struct {
	Index  int // of the choice
	Tokens int // that it brought; -1: the server does not say
	End    int // of its event in the body
}

// readStream reads a stream to its [DONE]. Tokens of a chunk are what its choice's
// usage grew by (continuous_usage_stats, which SGLang counts for each choice); of a
// server that leaves it out they are -1. The usage of all is the last event's, one
// without choices, and must be there.
func readStream(body []byte, prompts, tokens int) (Answer, error) {
	r := streamReader{finish: make([]*string, prompts), counts: make([]int, prompts)}
	at := 0
	for at < len(body) {
		event, rest, whole := bytes.Cut(body[at:], []byte("\n\n"))
		if !whole {
			return Answer{}, fmt.Errorf("the stream ends inside an event: %s", quote(event))
		}
		at = len(body) - len(rest)
		if err := r.take(event, at); err != nil {
			return Answer{}, err
		}
	}
	if !r.done {
		return Answer{}, errors.New("the stream ends without [DONE]")
	}
	for i, reason := range r.finish {
		if err := finished(i, reason); err != nil {
			return Answer{}, err
		}
	}
	if want := prompts * tokens; r.answer.CompletionTokens != want {
		return Answer{}, fmt.Errorf("completion_tokens is %d, expected %d", r.answer.CompletionTokens, want)
	}
	return r.answer, nil
}

type streamReader struct {
	answer Answer
	finish []*string
	counts []int // tokens of each choice so far
	done   bool
}

type streamEvent struct {
	Choices []streamChoice `json:"choices"`
	Usage   *answerUsage   `json:"usage"`
}

// take reads one event that ends at end.
func (r *streamReader) take(event []byte, end int) error {
	data, is := bytes.CutPrefix(event, []byte("data: "))
	switch {
	case r.done:
		return fmt.Errorf("an event behind [DONE]: %s", quote(event))
	case !is:
		return fmt.Errorf("an event without data: %s", quote(event))
	case string(data) == "[DONE]":
		r.done = true
		return nil
	}
	var got streamEvent
	if err := decode(data, &got); err != nil {
		return err
	}
	if len(got.Choices) == 0 && got.Usage != nil {
		r.answer.PromptTokens, r.answer.CompletionTokens = got.Usage.Prompt, got.Usage.Completion
	}
	for _, c := range got.Choices {
		if err := r.choice(c, got.Usage, end); err != nil {
			return err
		}
	}
	return nil
}

func (r *streamReader) choice(c streamChoice, usage *answerUsage, end int) error {
	if c.Index < 0 || c.Index >= len(r.finish) {
		return fmt.Errorf("a choice of index %d, expected 0 to %d", c.Index, len(r.finish)-1)
	}
	if c.Finish != nil {
		r.finish[c.Index] = c.Finish
	}
	chunk := Chunk{Index: c.Index, Tokens: -1, End: end}
	if usage != nil {
		count := &r.counts[c.Index]
		if usage.Completion < *count {
			return fmt.Errorf("completion_tokens of choice %d falls from %d to %d", c.Index, *count, usage.Completion)
		}
		chunk.Tokens, *count = usage.Completion-*count, usage.Completion
	}
	if chunk.Tokens > 0 || chunk.Tokens < 0 && c.text() != "" {
		r.answer.Chunks = append(r.answer.Chunks, chunk)
	}
	return nil
}

type streamChoice struct {
	Index  int     `json:"index"`
	Finish *string `json:"finish_reason"`
	Text   string  `json:"text"`
	Delta  struct {
		Content string `json:"content"`
	} `json:"delta"`
}

func (c streamChoice) text() string { return c.Text + c.Delta.Content }

// Difference is the largest distance between two answers' scores, and where.
type Difference struct {
	Value       float64
	Item, Label int
}

// Compare gives the largest difference of scores; of shapes that differ, an error.
func Compare(a, b Answer) (Difference, error) {
	var d Difference
	if len(a.Scores) != len(b.Scores) {
		return d, fmt.Errorf("scoring: %d items have scores, expected %d as in the other answer", len(b.Scores), len(a.Scores))
	}
	for i, row := range a.Scores {
		if len(row) != len(b.Scores[i]) {
			return d, fmt.Errorf("scoring: item %d has %d scores, expected %d as in the other answer", i, len(b.Scores[i]), len(row))
		}
		for j, v := range row {
			if away := math.Abs(v - b.Scores[i][j]); away > d.Value || math.IsNaN(away) {
				d = Difference{away, i, j}
				if math.IsNaN(away) {
					return d, fmt.Errorf("scoring: item %d, label %d: scores %v and %v, expected numbers", i, j, v, b.Scores[i][j])
				}
			}
		}
	}
	return d, nil
}

// Agree wants the scores of two answers within a tolerance.
func Agree(a, b Answer, tolerance float64) error {
	d, err := Compare(a, b)
	if err == nil && !(d.Value <= tolerance) {
		err = fmt.Errorf("scoring: item %d, label %d: scores %v and %v differ by %.3g, expected at most %g",
			d.Item, d.Label, a.Scores[d.Item][d.Label], b.Scores[d.Item][d.Label], d.Value, tolerance)
	}
	return err
}

// Widest is the largest difference between any two of the answers, all to one
// prompt: how far a server is from itself.
func Widest(answers []Answer) (Difference, error) {
	var widest Difference
	if len(answers) == 0 {
		return widest, errors.New("scoring: no answer, expected at least one")
	}
	for _, a := range answers { // shapes, and numbers
		if _, err := Compare(answers[0], a); err != nil {
			return widest, err
		}
	}
	for i, row := range answers[0].Scores {
		for j := range row {
			least, most := math.Inf(1), math.Inf(-1)
			for _, a := range answers {
				least, most = min(least, a.Scores[i][j]), max(most, a.Scores[i][j])
			}
			if most-least > widest.Value {
				widest = Difference{most - least, i, j}
			}
		}
	}
	return widest, nil
}
