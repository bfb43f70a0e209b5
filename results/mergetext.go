package results

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
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
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	evidence := "p"
	if m.Kind == KindAnytime {
		evidence = "e-value"
	}
	fmt.Fprintf(t, "primary cell\tdecision\tslow-down\tlower\tupper\t%s\thosts' range\thosts' p\n", evidence)
	for i, c := range m.Primary {
		value := c.P
		if m.Kind == KindAnytime {
			value = c.EValue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.member(), c.Decision, shown(c.SlowdownPct), shown(c.LowerPct), shown(c.UpperPct), shown(value),
			shown(m.Hosts[i].RangePct), shown(m.Hosts[i].P))
	}
	m.byRun(t)
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString("\nhosts' p: by the ranks of the rounds, dealt out anew; it describes and decides nothing\n")
	_, err := w.Write(b.Bytes())
	return err
}

// byRun is a table of its own: what each run says of each primary cell.
func (m *Merged) byRun(t io.Writer) {
	fmt.Fprint(t, "\nrun\tdecision\trounds\tmachine")
	for _, c := range m.Primary {
		fmt.Fprintf(t, "\t%s", c.member())
	}
	fmt.Fprintln(t)
	for i, r := range m.Runs {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s, %d CPUs", r.Name, r.Decision, r.Rounds, r.CPU, r.CPUs)
		for _, h := range m.Hosts {
			fmt.Fprintf(t, "\t%s", shown(h.SlowdownPct[i]))
		}
		fmt.Fprintln(t)
	}
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
