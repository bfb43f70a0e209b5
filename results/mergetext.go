package results

import (
	"bytes"
	"fmt"
	"io"
)

// WriteMergedText prints what merged runs say.
func WriteMergedText(w io.Writer, m *Merged) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "merged     %s\n", m.Decision)
	fmt.Fprintf(&b, "reason     %s\n", m.Reason)
	fmt.Fprintf(&b, "runs       %d, %d rounds together", len(m.Runs), m.Rounds)
	if m.Shards > 0 {
		fmt.Fprintf(&b, ", all %d shards of campaign %.12s", m.Shards, m.CampaignSHA256)
	}
	fmt.Fprintf(&b, "\ntest       %s\n", m.test())
	if m.Control != nil {
		fmt.Fprintf(&b, "control    failed: %v; %s\n", m.Control.Failed, m.Control.Reason)
	}
	for _, warning := range m.Warnings {
		fmt.Fprintf(&b, "warning    %s\n", warning)
	}
	b.WriteString("\nslow-down in per cent; bounds one-sided, for all primary cells at once\n")
	writeTable(&b, m.cells(), []int{0, 1})
	b.WriteByte('\n')
	writeTable(&b, m.byRun(), []int{0, 1, 3})
	b.WriteString("\nhosts' p: by the ranks of the rounds, dealt out anew; it describes and decides nothing\n")
	_, err := w.Write(b.Bytes())
	return err
}

// cells is the table of the primary cells, over all runs.
func (m *Merged) cells() [][]string {
	evidence := "p"
	if m.Kind == KindAnytime {
		evidence = "e-value"
	}
	table := [][]string{{"primary cell", "decision", "slow-down", "lower", "upper", evidence, "hosts' range", "hosts' p"}}
	for i, c := range m.Primary {
		value := c.P
		if m.Kind == KindAnytime {
			value = c.EValue
		}
		table = append(table, []string{
			c.member().String(), c.Decision, shown(c.SlowdownPct), shown(c.LowerPct), shown(c.UpperPct), shown(value),
			shown(m.Hosts[i].RangePct), shown(m.Hosts[i].P),
		})
	}
	return table
}

// byRun is the table of what each run says of each primary cell.
func (m *Merged) byRun() [][]string {
	head := []string{"run", "decision", "rounds", "machine"}
	for _, c := range m.Primary {
		head = append(head, c.member().String())
	}
	table := [][]string{head}
	for i, r := range m.Runs {
		line := []string{r.Name, r.Decision, fmt.Sprint(r.Rounds), fmt.Sprintf("%s, %d CPUs", r.CPU, r.CPUs)}
		for _, h := range m.Hosts {
			line = append(line, shown(h.SlowdownPct[i]))
		}
		table = append(table, line)
	}
	return table
}

func (m *Merged) test() string {
	switch {
	case m.Kind == KindAnytime:
		return "the mean of the runs' e-values"
	case m.Flips == 0:
		return "none"
	case m.Sampled:
		return fmt.Sprintf("%d flips of whole rounds, drawn", m.Flips)
	}
	return fmt.Sprintf("all %d flips of whole rounds", m.Flips)
}

func shown(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}
