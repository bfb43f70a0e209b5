package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// parse is what a command line means, without a server.
func parse(argv ...string) (args.Args, []string, error) {
	a := args.Default()
	root := newRoot(&a)
	kept, warnings, err := sift(argv, root.Flags())
	if err == nil {
		err = root.Flags().Parse(kept)
	}
	return a, warnings, err
}

// Each setting has the flag of its name, whose default is Default's, and which sets
// this setting and no other.
func TestEverySettingHasItsFlag(t *testing.T) {
	seen := 0
	fields := reflect.TypeFor[args.Args]()
	for i := range fields.NumField() {
		name := strings.ReplaceAll(fields.Field(i).Tag.Get("json"), "_", "-")
		if name == "-" {
			name = "api-key"
		}
		want := args.Default()
		v := reflect.ValueOf(&want).Elem().Field(i)
		var text string
		switch v.Kind() {
		case reflect.String:
			v.SetString("word")
			text = "=word"
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(-17)
			text = "=-17"
		case reflect.Uint64:
			v.SetUint(17)
			text = "=17"
		case reflect.Float64:
			v.SetFloat(0.625)
			text = "=0.625"
		default:
			t.Fatalf("a setting of kind %v", v.Kind())
		}
		got, warnings, err := parse("--" + name + text)
		if err != nil || got != want || len(warnings) > 0 {
			t.Errorf("--%s%s: %+v, %q, %v; want %+v", name, text, got, warnings, err, want)
		}
		seen++
	}
	a := args.Default()
	flags := 0
	for _, g := range groups(&a) {
		g.VisitAll(func(*pflag.Flag) { flags++ })
	}
	if flags != seen {
		t.Errorf("%d flags, %d settings", flags, seen)
	}
}

// The settings that SGLang has are named as it names them; these are ours alone.
func TestFlagsAreNamedAsSGLangNamesThem(t *testing.T) {
	own := strings.Fields(`admission-records max-body-bytes batch-send-max-tokens batch-send-max-reqs disable-batch-send fanout-strategy detokenize-method zmq in-process
		start-timeout shutdown-timeout health-timeout sim-machine sim-step-base sim-step-per-token sim-step-per-context sim-multi-byte sim-empty sim-special sim-stop`)
	a := args.Default()
	for _, g := range groups(&a) {
		g.VisitAll(func(f *pflag.Flag) {
			named := slices.Contains(strings.Fields(sglangFlags), "--"+f.Name)
			if named == slices.Contains(own, f.Name) {
				t.Errorf("--%s: SGLang has it: %t", f.Name, named)
			}
		})
	}
	for _, name := range strings.Fields(`model-path tokenizer-path served-model-name host port tokenizer-worker-num detokenizer-worker-num max-prefill-tokens
		chunked-prefill-size max-running-requests max-queued-requests max-total-tokens mem-fraction-static schedule-policy disable-radix-cache
		enable-tokenizer-batch-encode stream-interval dtype device random-seed enable-metrics log-level api-key`) {
		if newRoot(&a).Flags().Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
}

// What SGLang's argparse makes of a command line.
func TestSift(t *testing.T) {
	for _, k := range []struct{ argv, kept, warned, wrong string }{
		{"--port 1 --host=h", "--port=1 --host=h", "", ""},
		{"--enable-metrics --port 1", "--enable-metrics --port=1", "", ""},
		{"--chunked-prefill-size -1", "--chunked-prefill-size=-1", "", ""},
		{"--model m", "--model-path=m", "", ""},
		{"--stream-output", "--incremental-streaming-output", "", ""},
		{"--tp 8 --port 1", "--port=1", "--tp-size 8", ""}, // the beginning of a name
		{"--tp=8", "", "--tp-size 8", ""},
		{"--mem-frac 0.8", "--mem-fraction-static=0.8", "", ""},
		{"--trust-remote-code --port 1", "--port=1", "--trust-remote-code", ""},
		{"--attention-backend triton --disable-cuda-graph --quantization fp8", "",
			"--attention-backend triton|--disable-cuda-graph|--quantization fp8", ""},
		{"--quantization q8_0 --quantization=q9 --dtype fp8", "--quantization=q8_0 --quantization=q9 --dtype=fp8", "", ""},
		{"--cuda-graph-bs 1 2 4 --port 1", "--port=1", "--cuda-graph-bs 1 2 4", ""},
		{"--lora-paths --port 1", "--port=1", "--lora-paths", ""},
		{"--lora-paths a=b c --port 1", "--port=1", "--lora-paths a=b c", ""},
		{"--model-checksum --port 1", "--port=1", "--model-checksum", ""},
		{"--model-checksum x --port 1", "--port=1", "--model-checksum x", ""},
		{"--watchdog-timeout -1.5", "", "--watchdog-timeout -1.5", ""},
		{"--skip-server-warmup", "--skip-server-warmup", "", ""},
		{"--help", "--help", "", ""},
		{"-h", "-h", "", ""},
		{"word", "word", "", ""},
		{"--tp", "", "", "flag --tp-size needs a value"},
		{"--tp --port 1", "", "", "flag --tp-size needs a value"},
		{"--cuda-graph-bs --port 1", "", "", "flag --cuda-graph-bs needs a value"},
		{"--port", "", "", "flag --port needs a value"},
		{"--nothing-like-it", "", "", "unknown flag --nothing-like-it; see fanoutserve --help"},
		{"--sim-s 1", "", "", "flag --sim-s could be --sim-special, --sim-step-base, --sim-step-per-context, --sim-step-per-token, --sim-stop"},
		{"--ssl-keyfile k", "", "", "--ssl-keyfile is SGLang's and cannot be ignored: TLS is left to a proxy"},
		{"--admin-api k", "", "", "--admin-api-key is SGLang's and cannot be ignored: there is one key, --api-key"},
		{"--config f", "", "", "--config is SGLang's and cannot be ignored: settings are read from the command line only"},
	} {
		a := args.Default()
		kept, warnings, err := sift(strings.Fields(k.argv), newRoot(&a).Flags())
		var want []string
		for _, w := range strings.Split(k.warned, "|") {
			if w != "" {
				want = append(want, w+" has no meaning here and is ignored")
			}
		}
		wrong := ""
		if err != nil {
			wrong = err.Error()
		}
		if got := strings.Join(kept, " "); got != k.kept || !slices.Equal(warnings, want) || wrong != k.wrong {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", k.argv, got, warnings, wrong, k.kept, want, k.wrong)
		}
	}
}

// Commands as pages and scripts of others have them, less the python before.
func TestPublishedCommands(t *testing.T) {
	for command, warnings := range map[string]int{
		"--model-path meta-llama/Llama-3.1-8B-Instruct --port 30000 --host 0.0.0.0":                                                                 0,
		"--model-path deepseek-ai/DeepSeek-V3 --tp 8 --trust-remote-code":                                                                           2,
		"--model Qwen/Qwen3-0.6B --tokenizer-worker-num 4 --detokenizer-worker-num 2 --mem-fraction-static 0.8 --disable-radix-cache":               0,
		"--model-path Qwen/Qwen3-8B --attention-backend flashinfer --chunked-prefill-size -1 --enable-metrics --cuda-graph-max-bs 160":              2,
		"--model-path m --dp-size 2 --enable-dp-attention --watchdog-timeout 1000000 --log-requests --log-requests-level 2 --decode-log-interval 1": 5,
		"--model-path m --reasoning-parser qwen3 --tool-call-parser qwen25 --context-length 8192 --kv-cache-dtype fp8_e5m2 --random-seed 1":         3,
	} {
		_, got, err := parse(strings.Fields(command)...)
		if err != nil || len(got) != warnings {
			t.Errorf("%s: %q, %v; want %d warnings", command, got, err, warnings)
		}
	}
}

// The list of SGLang's flags is one: every line has a known number of values.
func TestSGLangFlags(t *testing.T) {
	n := 0
	for line := range strings.Lines(sglangFlags) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		if !slices.Contains([]string{"0", "1", optional, anyMany, oneMore}, words[0]) || len(words) < 2 {
			t.Errorf("line %q", line)
		}
		for _, name := range words[1:] {
			if !strings.HasPrefix(name, "--") {
				t.Errorf("line %q has the flag %s", line, name)
			}
			n++
		}
	}
	if n < 500 {
		t.Errorf("%d flags, want SGLang's, more than 500", n)
	}
	for name := range refused {
		if !strings.Contains(sglangFlags, " "+name+"\n") {
			t.Errorf("%s is refused, but it is none of SGLang's", name)
		}
	}
}

func FuzzSift(f *testing.F) {
	f.Add("--tp 8 --port 1 --lora-paths a b --x=y -- -1 -.5 word")
	f.Add("--cuda-graph-bs 1 2 --help -h --model-checksum")
	f.Fuzz(func(t *testing.T, line string) {
		a := args.Default()
		flags := newRoot(&a).Flags()
		kept, _, err := sift(strings.Fields(line), flags)
		if err != nil {
			return
		}
		// What is kept is only our own, written out: nothing is left to take out.
		again, warnings, err := sift(kept, flags)
		if err != nil || len(warnings) > 0 || !slices.Equal(again, kept) {
			t.Errorf("%q: sifted again %q, %q, %v; want %q", line, again, warnings, err, kept)
		}
	})
}

// ended is a context for commands that must not come so far as to serve.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestUsage(t *testing.T) {
	for line, want := range map[string]string{
		"--bogus":             "unknown flag --bogus; see fanoutserve --help",
		"serve":               `"serve" is no flag; see fanoutserve --help`,
		"--port 80x":          `--port "80x", want an integer of at most 64 bits`,
		"--random-seed -1":    `--random-seed "-1", want an integer of at most 64 bits, at least 0`,
		"--sim-stop few":      `--sim-stop "few", want a number`,
		"--in-process=maybe":  `--in-process "maybe", want true or false`,
		"--port 99999":        "--port 99999, want 0 to 65535",
		"--device tpu":        `--device "tpu", want one of cpu, cuda, sim, auto`,
		"--dtype half":        `--dtype "half", want one of auto, bfloat16, float16, float32`,
		"--quantization q8":   `--quantization "q8", want one of q8_0`,
		"--port -1 --zmq new": "--port -1, want 0 to 65535\n--zmq",
	} {
		err := program{stdout: io.Discard, stderr: io.Discard}.run(ended(), strings.Fields(line))
		if s := status(io.Discard, err); s != exitUsage {
			t.Errorf("%s: status %d, %v; want %d", line, s, err, exitUsage)
		}
		for _, part := range strings.Split(want, "\n") {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "strconv") {
				t.Errorf("%s: %v, want %q", line, err, part)
			}
		}
	}
	if s := status(io.Discard, errors.New("x")); s != exitFail {
		t.Errorf("another error: status %d, want %d", s, exitFail)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, k := range []struct{ flag, want string }{{"--help", ""}, {"-h", ""}, {"--version", "fanoutserve version "}} {
		var out, errs bytes.Buffer
		if err := (program{stdout: &out, stderr: &errs}).run(ended(), []string{k.flag}); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v, %q", k.flag, err, errs.String())
		}
		a := args.Default()
		wants := []string{k.want}
		if k.want == "" {
			wants = nil
			for _, g := range groups(&a) {
				wants = append(wants, fmt.Sprintf("\n%s:\n%s", g.title, g.FlagUsagesWrapped(usageColumns)))
			}
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s prints\n%swithout %q", k.flag, out.String(), want)
			}
		}
	}
}
