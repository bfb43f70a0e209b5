package driver

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ptxText is what this package reads of a PTX text (PTX ISA manual, "Source Format" and "Kernel and Function Directives").
type ptxText struct {
	version string         // "8.8"
	entries map[string]int // kernels and the number of their parameters
}

var (
	ptxVersion   = regexp.MustCompile(`(?m)^\s*\.version\s+(\d+\.\d+)\s*$`)
	ptxEntry     = regexp.MustCompile(`\.entry\s+([\w$]+)\s*\(([^()]*)\)`)
	ptxParameter = regexp.MustCompile(`^\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s[^\[\]]*(?:\[\s*(\d+)\s*\])?$`)
)

func parsePTX(ptx []byte) (ptxText, error) {
	if strings.IndexByte(string(ptx), 0) >= 0 {
		return ptxText{}, errors.New("it has a zero byte, which would end it")
	}
	version := ptxVersion.FindSubmatch(ptx)
	if version == nil {
		return ptxText{}, errors.New("it has no line with its .version")
	}
	text := ptxText{version: string(version[1]), entries: map[string]int{}}
	for _, m := range ptxEntry.FindAllSubmatch(ptx, -1) {
		name, list := string(m[1]), strings.TrimSpace(string(m[2]))
		if _, twice := text.entries[name]; twice {
			return ptxText{}, fmt.Errorf("it has kernel %s twice", name)
		}
		count, err := countParameters(list)
		if err != nil {
			return ptxText{}, fmt.Errorf("kernel %s: %w", name, err)
		}
		text.entries[name] = count
	}
	if len(text.entries) == 0 {
		return ptxText{}, errors.New("it has no kernel")
	}
	return text, nil
}

// countParameters checks that each parameter fits into a slot.
func countParameters(list string) (int, error) {
	if list == "" {
		return 0, nil
	}
	parameters := strings.Split(list, ",")
	for i, p := range parameters {
		m := ptxParameter.FindStringSubmatch(strings.TrimSpace(p))
		if m == nil {
			return 0, fmt.Errorf("parameter %d is %q, want .param, a type and a name", i, strings.TrimSpace(p))
		}
		bits, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, fmt.Errorf("parameter %d: %w", i, err)
		}
		if m[2] != "" || bits > 64 {
			return 0, fmt.Errorf("parameter %d is %q, want at most 64 bits: no struct by value", i, strings.TrimSpace(p))
		}
	}
	return len(parameters), nil
}
