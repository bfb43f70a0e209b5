package results

import (
	"fmt"
	"strconv"
)

var tableHead = []string{
	"count", "metadata", "metric", "reference ms", "candidate ms", "reduction %", "faster",
	"order interval %", "level %", "bootstrap interval %", "level %",
}

// leftColumns are the columns of tableHead that hold names.
var leftColumns = []int{1, 2}

const legend = "reduction: median over rounds of 100 (1 - candidate/reference); faster: rounds above 0;\n" +
	"both intervals are for that median at 95 % nominal, with the level attained."

// table is the head and one line for each summary row, rounded.
func (r report) table() [][]string {
	lines := [][]string{tableHead}
	for _, row := range r.Rows {
		line := []string{
			strconv.Itoa(row.Count), row.Metadata, row.Metric,
			significant(row.ReferenceMS, 4), significant(row.CandidateMS, 4),
			oneDecimal(row.MedianPairedReductionPct), fmt.Sprintf("%d/%d", row.FasterRounds, row.Rounds),
		}
		line = append(append(line, row.OrderCI.rounded()...), row.BootstrapCI.rounded()...)
		lines = append(lines, line)
	}
	return lines
}

// rounded is the interval and its level in per cent.
func (i *Interval) rounded() []string {
	if i == nil {
		return []string{"-", "-"}
	}
	level := "-"
	if i.Level != nil {
		pct := 100 * *i.Level
		level = oneDecimal(&pct)
	}
	return []string{oneDecimal(&i.Low) + " to " + oneDecimal(&i.High), level}
}
