package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// directives are those of C's strftime in its own locale, and of glibc without leading zeros.
var directives = map[string]func(t time.Time) string{
	"a": layout("Mon"), "A": layout("Monday"), "b": layout("Jan"), "B": layout("January"), "h": layout("Jan"),
	"d": layout("02"), "e": layout("_2"), "H": layout("15"), "I": layout("03"), "m": layout("01"), "M": layout("04"),
	"p": layout("PM"), "S": layout("05"), "y": layout("06"), "Y": layout("2006"), "Z": layout("MST"), "z": layout("-0700"),
	"D": layout("01/02/06"), "F": layout("2006-01-02"), "R": layout("15:04"), "T": layout("15:04:05"),
	"c": layout("Mon Jan _2 15:04:05 2006"), "x": layout("01/02/06"), "X": layout("15:04:05"),
	"-d": layout("2"), "-m": layout("1"), "-I": layout("3"), "-M": layout("4"), "-S": layout("5"),
	"-H": func(t time.Time) string { return strconv.Itoa(t.Hour()) },
	"f":  func(t time.Time) string { return fmt.Sprintf("%06d", t.Nanosecond()/1000) },
	"j":  func(t time.Time) string { return fmt.Sprintf("%03d", t.YearDay()) },
	"u":  func(t time.Time) string { return strconv.Itoa((int(t.Weekday())+6)%7 + 1) },
	"w":  func(t time.Time) string { return strconv.Itoa(int(t.Weekday())) },
	"s":  func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	"n":  func(time.Time) string { return "\n" },
	"t":  func(time.Time) string { return "\t" },
	"%":  func(time.Time) string { return "%" },
}

func layout(l string) func(time.Time) string {
	return func(t time.Time) string { return t.Format(l) }
}

// strftime writes a time; a directive that it does not know is an error.
func strftime(t time.Time, format string) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			b.WriteString(format)
			return b.String(), nil
		}
		b.WriteString(format[:i])
		format = format[i+1:]
		n := 1
		if strings.HasPrefix(format, "-") {
			n = 2
		}
		if len(format) < n {
			return "", fmt.Errorf("the time's format ends within a directive")
		}
		write, known := directives[format[:n]]
		if !known {
			return "", fmt.Errorf("the time's directive %%%s is not supported", format[:n])
		}
		b.WriteString(write(t))
		format = format[n:]
	}
}
