package batchrun

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
)

// summaryColumns begin with those of the published table. Method is the arm's spec.
var summaryColumns = []string{
	"target_rps", "item_count", "avg_response_time_ms", "p50_response_time_ms", "p90_response_time_ms", "p99_response_time_ms", "Method",
	"cell", "kind", "arm", "requests", "failed", "offered_rps", "achieved_rps",
	"p50_low_ms", "p50_high_ms", "p50_level", "p90_low_ms", "p90_high_ms", "p90_level", "p99_low_ms", "p99_high_ms", "p99_level", "max_ms",
	"all_p50_ms", "all_p90_ms", "all_p99_ms", "avg_service_ms", "p50_service_ms", "p90_service_ms", "p99_service_ms",
	"leading_ms", "first_item_ms", "last_item_ms",
}

// summaryCSV is summary.csv: a line for each cell and arm, over all rounds. Of a
// single cell target_rps is empty.
func summaryCSV(p Plan, r Result) ([]byte, error) {
	lines := [][]string{summaryColumns}
	for _, f := range r.Figures {
		lines = append(lines, f.columns(p))
	}
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(lines)
	return b.Bytes(), err
}

func (f Figures) columns(p Plan) []string {
	c, l := p.Cells[f.Cell], f.Response
	var rate *float64
	if c.Open() {
		rate = &c.RPS
	}
	line := []string{
		shortest(rate), strconv.Itoa(c.Items), shortest(l.AvgMS), shortest(l.P50.MS), shortest(l.P90.MS), shortest(l.P99.MS), p.Spec(f.Arm),
		strconv.Itoa(f.Cell), c.Kind, f.Arm, strconv.Itoa(f.Requests), strconv.Itoa(f.Failed), shortest(f.OfferedRPS), shortest(f.AchievedRPS),
	}
	for _, q := range []Percentile{l.P50, l.P90, l.P99} {
		line = append(line, shortest(q.Low), shortest(q.High), shortest(q.Level))
	}
	return append(line, shortest(l.MaxMS), shortest(f.AllP50MS), shortest(f.AllP90MS), shortest(f.AllP99MS),
		shortest(f.Service.AvgMS), shortest(f.Service.P50.MS), shortest(f.Service.P90.MS), shortest(f.Service.P99.MS),
		shortest(f.LeadingMS), shortest(f.FirstItemMS), shortest(f.LastItemMS))
}

// Spec is the arm's spec.
func (p Plan) Spec(arm string) string { return p.arm(arm).Spec }

func (p Plan) arm(name string) PlanArm {
	if name == Reference {
		return p.Reference
	}
	return p.Candidate
}

// shortest is the number as JSON writes it, and nothing for null.
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
