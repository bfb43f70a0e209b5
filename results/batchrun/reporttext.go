package batchrun

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/table"
)

// text is the report for a terminal.
func (f *Folder) text() []byte {
	var b bytes.Buffer
	table.Pairs(&b, f.Header())
	if f.Result.Verdict.Failure != "" {
		textCommands(&b, f.Commands())
		return b.Bytes()
	}
	textSections(&b, f.Sections())
	textCommands(&b, f.Commands())
	return b.Bytes()
}

// commandsTitle stands above what is typed to check a run or a sweep.
const commandsTitle = "How to check and repeat it"

// textCommands writes commands for a terminal, unindented, so that a line is copied whole.
func textCommands(b *bytes.Buffer, commands []string) {
	b.WriteString("\n" + commandsTitle + "\n\n" + strings.Join(commands, "\n") + "\n")
}

// textSections writes tables for a terminal, each below its title.
func textSections(b *bytes.Buffer, sections []Section) {
	for _, s := range sections {
		b.WriteString("\n" + s.Title + "\n\n")
		table.Text(b, s.table(), s.Left)
		if s.Below != "" {
			b.WriteString("\n" + s.Below + "\n")
		}
	}
}

// unfolded is how many of the sections Markdown does not fold away.
const unfolded = 4

// markdown is the report for a pull request: the verdict, and the tables that most
// readers want; the others are folded away.
func (f *Folder) markdown() []byte {
	var b bytes.Buffer
	header := f.Header()
	fmt.Fprintf(&b, "**%s**\n\n", table.Escaped(header[0][1]))
	for _, line := range header[1:] {
		fmt.Fprintf(&b, "- %s: %s\n", line[0], table.Escaped(line[1]))
	}
	if f.Result.Verdict.Failure == "" {
		for i, s := range f.Sections() {
			body := func() {
				table.Markdown(&b, escapedTable(s.table()), s.Left)
				if s.Below != "" {
					b.WriteString("\n" + s.Below + "\n")
				}
			}
			if i >= unfolded {
				table.Fold(&b, s.Title, body)
				continue
			}
			b.WriteString("\n### " + s.Title + "\n\n")
			body()
		}
	}
	table.Fold(&b, "Environment", func() {
		for _, line := range f.Result.Environment.Lines() {
			fmt.Fprintf(&b, "- %s: %s\n", line[0], table.Escaped(line[1]))
		}
	})
	table.Fold(&b, commandsTitle, func() {
		b.WriteString(table.Fenced(strings.Join(f.Commands(), "\n")))
		fmt.Fprintf(&b, "\nplan.json has sha256 `%s`, raw.jsonl `%s`, trials.jsonl `%s`.\n", f.PlanSHA256, f.RawSHA256, f.TrialsSHA256)
	})
	return b.Bytes()
}

func escapedTable(lines [][]string) [][]string {
	out := make([][]string, len(lines))
	for i, line := range lines {
		for _, cell := range line {
			out[i] = append(out[i], table.Escaped(cell))
		}
	}
	return out
}

func quoted(word string) string { return table.Quoted(word) }

// recorded is a recorded command as one types it, with a word about its folders.
func recorded(command []string) []string {
	if len(command) == 0 {
		return nil
	}
	var words []string
	for _, w := range command {
		words = append(words, quoted(w))
	}
	return table.WithPlaces(strings.Join(words, " "))
}
