package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/table"
)

// errTexts says that texts differ by more than noise.
var errTexts = errors.New("a text differs by more than the noise explains")

// texts compares greedy texts.
type texts struct {
	settings
	path    string
	prompts []string
	tokens  int
	top     int
	limit   float64 // of the noise in the median
	out     io.Writer
	log     io.Writer
}

// continuation is a raw line: what both made of one prompt.
type continuation struct {
	Type   string    `json:"type"`
	Prompt string    `json:"prompt"`
	IDs    []int64   `json:"ids"`
	Ours   generated `json:"ours"`
	Peers  generated `json:"peers"`
}

const typeText = "text"

func (t *texts) run(ctx context.Context) error {
	ours, peers, err := startPair(ctx, t.settings, t.path, t.log)
	if err != nil {
		return err
	}
	defer ours.end()
	defer peers.end()
	raw := json.NewEncoder(t.out)
	for _, r := range []ready{ours.ready, peers.ready} {
		if err := raw.Encode(r); err != nil {
			return err
		}
	}
	var all []comparison
	for i, prompt := range t.prompts {
		line, err := t.continued(ctx, ours, peers, prompt)
		if err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
		if err := raw.Encode(line); err != nil {
			return err
		}
		c, err := compare(line.Ours, line.Peers)
		if err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
		all = append(all, c)
	}
	return judge(t.out, all, t.limit)
}

// continued has the ids of one prompt continued by both, one after the other.
func (t *texts) continued(ctx context.Context, ours, peers *arm, prompt string) (continuation, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	line := continuation{Type: typeText, Prompt: prompt}
	var ids tokenized
	if err := peers.child.Ask(ctx, tokenize{Type: typeTokenize, Text: prompt}, typeTokenized, &ids); err != nil {
		return line, err
	}
	line.IDs = ids.IDs
	g := generate{Prompt: ids.IDs, Tokens: t.tokens, Top: t.top, Stop: true}
	var err error
	if line.Ours, err = ours.generate(ctx, g); err != nil {
		return line, err
	}
	line.Peers, err = peers.generate(ctx, g)
	return line, err
}

// judge writes a verdict a prompt and says whether all pass.
func judge(out io.Writer, all []comparison, limit float64) error {
	var pool []float64
	for _, c := range all {
		pool = append(pool, c.Noise...)
	}
	n, err := summarize(pool)
	if err != nil {
		return err
	}
	rows := [][]string{{"prompt", "same tokens", "ours", "peer's", "lead of ours, by ours", "lead of peer's, by the peer", "verdict"}}
	for i, c := range all {
		row := []string{strconv.Itoa(i + 1), strconv.Itoa(c.Same), "", "", "", ""}
		verdict := "equal"
		if c.Differs {
			row = []string{strconv.Itoa(i + 1), strconv.Itoa(c.Same), fmt.Sprint(c.Ours), fmt.Sprint(c.Peers), fmt.Sprintf("%.4f", c.Gap), fmt.Sprintf("%.4f", c.PeersGap)}
			verdict = "within the noise"
			if c.Gap > n.Largest {
				verdict, err = "DIFFERS", errTexts
			}
		}
		rows = append(rows, append(row, verdict))
	}
	var b bytes.Buffer
	table.Text(&b, rows, nil)
	fmt.Fprintf(&b, "\nnoise of a lead over %d positions: median %.3g (limit %.3g), 99 %% within %.3g, largest %.3g\n",
		n.Positions, n.Median, limit, n.P99, n.Largest)
	if n.Median > limit {
		err = errors.Join(err, fmt.Errorf("the noise is %.3g in the median, expected at most %.3g: that is no rounding", n.Median, limit))
	}
	_, wrote := out.Write(b.Bytes())
	return errors.Join(err, wrote)
}

// readPrompts reads one prompt a line, written as a Go or JSON string without quotes would be: \n is a line end.
func readPrompts(text string) ([]string, error) {
	var prompts []string
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		prompt, err := strconv.Unquote(`"` + line + `"`)
		if err != nil || prompt == "" {
			return nil, fmt.Errorf("prompt %d: %.80q, expected a text in which line ends are written \\n and quotes \\\"", n+1, line)
		}
		prompts = append(prompts, prompt)
	}
	return prompts, nil
}
