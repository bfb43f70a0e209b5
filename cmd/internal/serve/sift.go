package serve

import (
	_ "embed" // for SGLang's flags
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// sglangFlags has a line for each flag of SGLang's server: how many values it
// takes, as argparse says it, and its names.
//
//go:embed sglang_flags.txt
var sglangFlags string

// Numbers of values beside "0" and "1", as argparse names them.
const (
	optional = "?"
	anyMany  = "*"
	oneMore  = "+"
)

// aliases are SGLang's other names of flags that have a meaning here.
var aliases = map[string]string{
	"--model":         "--model-path",
	"--stream-output": "--incremental-streaming-output",
}

// refused are flags of SGLang that a server must not seem to heed.
var refused = map[string]string{
	"--config":               "settings are read from the command line only",
	"--admin-api-key":        "there is one key, --api-key",
	"--ssl-keyfile":          "TLS is left to a proxy",
	"--ssl-certfile":         "TLS is left to a proxy",
	"--ssl-ca-certs":         "TLS is left to a proxy",
	"--ssl-keyfile-password": "TLS is left to a proxy",
	"--enable-ssl-refresh":   "TLS is left to a proxy",
}

// foreign are values that only SGLang knows, of flags that both have: a command with
// one starts, as with a flag of SGLang's. Without its quantization (0.5.23's) the
// weights are those of the files.
var foreign = map[string][]string{
	"--quantization": strings.Fields(`awq fp8 mxfp8 gptq gptq_marlin awq_marlin marlin bitsandbytes gguf modelopt modelopt_fp8 modelopt_fp4 nvfp4_online
		modelopt_mixed petit_nvfp4 w8a8_int8 w8a8_fp8 moe_wna16 qoq w4afp8 mxfp4 auto-round auto-round-int8 compressed-tensors modelslim mxfp_w4a8
		quark quark_int4fp8_moe quark_mxfp4 mlx_q4 mlx_q8 unquant humming`),
}

// known is a flag of either program.
type known struct {
	nargs string
	ours  bool
}

// sift reads a command line as SGLang's argparse would, takes out the flags that
// only SGLang knows (or values), with their values, and writes the others out in full:
// argparse takes any beginning of a name that only one flag has ("--tp 8" is
// --tp-size). There is a warning for each flag taken out.
func sift(argv []string, ours *pflag.FlagSet) (kept, warnings []string, err error) {
	flags := knownFlags(ours)
	for len(argv) > 0 {
		word := argv[0]
		name, value, hasValue := strings.Cut(word, "=")
		if !strings.HasPrefix(name, "--") || name == "--" {
			kept, argv = append(kept, word), argv[1:]
			continue
		}
		full, err := resolve(name, flags)
		if err != nil {
			return nil, nil, err
		}
		if why, no := refused[full]; no {
			return nil, nil, fmt.Errorf("%s is SGLang's and cannot be ignored: %s", full, why)
		}
		if to, ok := aliases[full]; ok {
			full = to
		}
		var values []string
		if hasValue {
			values, argv = []string{value}, argv[1:]
		} else if values, argv, err = take(full, flags[full].nargs, argv[1:]); err != nil {
			return nil, nil, err
		}
		switch {
		case !flags[full].ours, len(values) == 1 && slices.Contains(foreign[full], values[0]):
			warnings = append(warnings, fmt.Sprintf("%s has no meaning here and is ignored", strings.Join(append([]string{full}, values...), " ")))
		case len(values) == 0:
			kept = append(kept, full)
		default:
			kept = append(kept, full+"="+values[0])
		}
	}
	return kept, warnings, nil
}

// knownFlags is what both programs know; where both do, ours says how.
func knownFlags(ours *pflag.FlagSet) map[string]known {
	flags := map[string]known{"--help": {"0", true}, "--version": {"0", true}}
	for line := range strings.Lines(sglangFlags) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, name := range words[1:] {
			flags[name] = known{nargs: words[0]}
		}
	}
	for alias := range aliases {
		flags[alias] = known{nargs: "1"}
	}
	ours.VisitAll(func(f *pflag.Flag) {
		nargs := "1"
		if f.NoOptDefVal != "" {
			nargs = "0"
		}
		flags["--"+f.Name] = known{nargs, true}
	})
	return flags
}

// resolve finds the flag that the name is, or begins.
func resolve(name string, flags map[string]known) (string, error) {
	if _, ok := flags[name]; ok {
		return name, nil
	}
	var found []string
	for full := range flags {
		if strings.HasPrefix(full, name) {
			found = append(found, full)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", fmt.Errorf("unknown flag %s; see fanoutserve --help", name)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("flag %s could be %s", name, strings.Join(found, ", "))
}

// take takes the values of a flag off the command line.
func take(name, nargs string, argv []string) (values, rest []string, err error) {
	n := 0
	for n < len(argv) && isValue(argv[n]) {
		n++
	}
	switch {
	case nargs == "0":
		n = 0
	case (nargs == "1" || nargs == oneMore) && n == 0:
		return nil, nil, fmt.Errorf("flag %s needs a value", name)
	case nargs == "1" || nargs == optional:
		n = min(n, 1)
	case nargs != anyMany && nargs != oneMore:
		return nil, nil, fmt.Errorf("flag %s takes %q values, which this program does not know", name, nargs)
	}
	return argv[:n], argv[n:], nil
}

// isValue says, as argparse does, whether a word is a value: all but what begins
// with a dash, which numbers may.
func isValue(word string) bool {
	digits := strings.TrimPrefix(word, "-")
	if len(digits) == len(word) || digits == "" {
		return true
	}
	whole, fraction, dot := strings.Cut(digits, ".")
	return allDigits(whole) && allDigits(fraction) && (whole != "" && !dot || fraction != "")
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
