package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
)

// summaryColumns are the scalar fields of a SummaryRow in its order, the two
// intervals spread over three columns each.
var summaryColumns = []string{
	"count", "metadata", "metric", "reference_ms", "candidate_ms",
	"median_paired_reduction_pct", "faster_rounds", "rounds",
	"bootstrap_low", "bootstrap_high", "bootstrap_level",
	"order_low", "order_high", "order_level",
}

func (row SummaryRow) columns() []string {
	c := []string{
		strconv.Itoa(row.Count), row.Metadata, row.Metric,
		shortest(row.ReferenceMS), shortest(row.CandidateMS), shortest(row.MedianPairedReductionPct),
		strconv.Itoa(row.FasterRounds), strconv.Itoa(row.Rounds),
	}
	return append(append(c, row.BootstrapCI.columns()...), row.OrderCI.columns()...)
}

func (i *Interval) columns() []string {
	if i == nil {
		return []string{"", "", ""}
	}
	return []string{shortest(&i.Low), shortest(&i.High), shortest(i.Level)}
}

// shortest is the number as JSON writes it, the shortest decimal that reads
// back to the same value, and nothing for null.
func shortest(v *float64) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(*v)
	if err != nil {
		return strconv.FormatFloat(*v, 'g', -1, 64) // not finite: no figure is
	}
	return string(b)
}

// summaryCSV is summary.csv.
func summaryCSV(rows []SummaryRow) ([]byte, error) {
	lines := [][]string{summaryColumns}
	for _, row := range rows {
		lines = append(lines, row.columns())
	}
	return csvLines(lines)
}

func csvLines(lines [][]string) ([]byte, error) {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(lines)
	return b.Bytes(), err
}
