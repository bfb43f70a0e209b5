package results

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// controlled is what a control adds to the rounds of a cell.
type controlled struct {
	row   SummaryRow // control against reference
	order []string   // of the arms, by round
	means []*float64 // by round
}

// controlOf is the control's part of a cell, nil in a run without one.
func controlOf(f *Folder, p Plan, row SummaryRow) *controlled {
	at := slices.IndexFunc(f.Result.Control, func(c SummaryRow) bool {
		return c.Count == row.Count && c.Metadata == row.Metadata && c.Metric == row.Metric
	})
	if at < 0 {
		return nil
	}
	c := &controlled{row: f.Result.Control[at]}
	c.means = roundMeans(p, byCell(f.Trials)[cell{row.Count, row.Metadata}], Control, row.Metric)
	for round := range p.Rounds {
		c.order = append(c.order, strings.Join(p.Order(round), " "))
	}
	return c
}

// Columns of the table that the control changes: the order of all three arms
// stands in place of the first of two, and its figures behind the reduction.
const (
	orderColumn   = 1
	controlColumn = 5
)

func (c *controlled) head(head []string) []string {
	if c == nil {
		return head
	}
	return c.insert(head, "order", "control ms", "control %")
}

func (c *controlled) cells(round int, cells []string) []string {
	if c == nil {
		return cells
	}
	return c.insert(cells, c.order[round], significant(c.means[round], 4), oneDecimal(c.row.Reductions[round]))
}

func (c *controlled) insert(line []string, order, mean, reduction string) []string {
	line = slices.Insert(slices.Clone(line), controlColumn, mean, reduction)
	line[orderColumn] = order
	return line
}

func (c *controlled) text(b *bytes.Buffer) {
	if c != nil {
		fmt.Fprintf(b, "the control: %s\n", c.row.sentenceOf(Control))
	}
}
