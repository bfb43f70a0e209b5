// Package table writes what reports have in common: names and values below one
// another, tables as text and as Markdown, figures rounded for reading, and words that
// a run brought along, escaped.
package table

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AsRecorded is said of a recorded command, before it, if it names such a folder.
const AsRecorded = "# As it was recorded: $TREE, $CACHE, $TMP, $HOME and $ELSEWHERE stand for folders of that machine."

var plainWord = regexp.MustCompile(`^[\w@%+=:,./$-]+$`)

// Pairs writes names and values, the values below one another.
func Pairs(b *bytes.Buffer, lines [][2]string) {
	width := 0
	for _, line := range lines {
		width = max(width, len(line[0]))
	}
	for _, line := range lines {
		fmt.Fprintf(b, "%-*s  %s\n", width, line[0], OneLine(line[1]))
	}
}

// Text writes lines of as many cells, the first of them the head.
func Text(b *bytes.Buffer, table [][]string, left []int) {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range table {
		b.WriteString(aligned(line, widths, left) + "\n")
	}
}

// aligned sets names to the left and figures to the right.
func aligned(line []string, widths, left []int) string {
	var b strings.Builder
	for i, cell := range line {
		gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if slices.Contains(left, i) {
			cell += gap
		} else {
			cell = gap + cell
		}
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(cell)
	}
	return strings.TrimRight(b.String(), " ")
}

// OneLine shows line ends and other control characters, which a failure's
// values may hold, as they are written in Go.
func OneLine(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c < ' ' || c == 0x7f {
			fmt.Fprintf(&b, `\x%02x`, c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Escaped keeps a value from being read as markup.
func Escaped(s string) string {
	s = OneLine(s)
	for _, c := range []string{`\`, "`", "*", "_", "|", "<", "[", "#", "$", "~"} {
		s = strings.ReplaceAll(s, c, `\`+c)
	}
	return s
}

// Markdown writes lines of as many cells, the first of them the head. Cells
// hold figures, names of this program and markup that is meant.
func Markdown(b *bytes.Buffer, table [][]string, left []int) {
	for i, line := range table {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i == 0 {
			for c := range line {
				b.WriteString(map[bool]string{true: "| :-- ", false: "| --: "}[slices.Contains(left, c)])
			}
			b.WriteString("|\n")
		}
	}
}

// Fold writes a section that is closed until somebody opens it.
func Fold(b *bytes.Buffer, title string, body func()) {
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", title)
	body()
	b.WriteString("\n</details>\n")
}

// Fenced is text as a code block, with a fence that the text does not hold.
func Fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n"
}

// Significant writes v with that many Significant digits and no exponent.
func Significant(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	_, e, _ := strings.Cut(strconv.FormatFloat(*v, 'e', digits-1, 64), "e")
	exponent, err := strconv.Atoi(e)
	if err != nil { // not a finite number
		return strconv.FormatFloat(*v, 'g', digits, 64)
	}
	return strconv.FormatFloat(*v, 'f', max(0, digits-1-exponent), 64)
}

func OneDecimal(v *float64) string {
	if v == nil {
		return "-"
	}
	s := strconv.FormatFloat(*v, 'f', 1, 64)
	if s == "-0.0" {
		return "0.0"
	}
	return s
}

// WithPlaces are the lines of a recorded command: a word about its folders, where
// it has any, and the command itself.
func WithPlaces(command string) []string {
	if strings.Contains(command, "$") {
		return []string{AsRecorded, command}
	}
	return []string{command}
}

// Quoted is a word as a shell reads it; the folders' names stay variables.
func Quoted(word string) string {
	word = OneLine(word)
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
