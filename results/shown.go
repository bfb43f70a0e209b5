package results

// What reports in other packages show in the same words as the ones here.

// Header are the lines above a report's tables, name and value: arms, how it was
// run, rows, machine, warnings, and of a run that is not verified its failure.
func (f *Folder) Header() [][2]string { return reportOf(f).header() }

// Commands are what one types to check the run and to make it once more.
func (f *Folder) Commands() []string { return reportOf(f).Commands() }

// ControlLine says what the control showed, nothing where there was none.
func (f *Folder) ControlLine() string { return reportOf(f).controlLine() }

// PrimaryLegend says what the table of primary cells holds, nothing without an
// analysis.
func (f *Folder) PrimaryLegend() string {
	r := reportOf(f)
	if r.Analysis == nil {
		return ""
	}
	return r.primaryLegend()
}

// Family are the primary cells of the plan, or those that would be primary by
// default, in the order of the plan.
func (p Plan) Family() []Primary {
	if len(p.Primary) > 0 {
		return p.Primary
	}
	return DefaultPrimary(p.Counts, p.Metadata)
}

// Row is the summary row of a metric in a cell.
func (r Result) Row(count int, metadata, metric string) (SummaryRow, bool) {
	for _, row := range r.Summary {
		if row.Count == count && row.Metadata == metadata && row.Metric == metric {
			return row, true
		}
	}
	return SummaryRow{}, false
}

// Significant is v with that many significant digits and no exponent, a dash for
// null.
func Significant(v *float64, digits int) string { return significant(v, digits) }

// OneDecimal is v with one decimal, a dash for null.
func OneDecimal(v *float64) string { return oneDecimal(v) }
