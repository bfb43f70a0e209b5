package results

import (
	"bytes"

	"github.com/fanoutbench/fanoutbench/results/table"
)

// What package table has, by the names that this package's reports use for it.

const asRecorded = table.AsRecorded

func writePairs(b *bytes.Buffer, lines [][2]string) { table.Pairs(b, lines) }

func writeTable(b *bytes.Buffer, lines [][]string, left []int) { table.Text(b, lines, left) }

func markdownTable(b *bytes.Buffer, lines [][]string, left []int) { table.Markdown(b, lines, left) }

func fold(b *bytes.Buffer, title string, body func()) { table.Fold(b, title, body) }

func fenced(text string) string { return table.Fenced(text) }

func escaped(s string) string { return table.Escaped(s) }

func oneLine(s string) string { return table.OneLine(s) }

func significant(v *float64, digits int) string { return table.Significant(v, digits) }

func oneDecimal(v *float64) string { return table.OneDecimal(v) }

func withPlaces(command string) []string { return table.WithPlaces(command) }

func quoted(word string) string { return table.Quoted(word) }
