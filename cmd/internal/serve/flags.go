package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// usageColumns is the width of --help.
const usageColumns = 110

// group of flags, as --help shows them.
type group struct {
	title string
	*pflag.FlagSet
}

// groups has a flag for every setting: its name in Args with dashes. The values
// that a has are the defaults.
func groups(a *args.Args) []group {
	add := func(title string, fill func(f *pflag.FlagSet)) group {
		f := pflag.NewFlagSet(title, pflag.ContinueOnError)
		f.SortFlags = false
		fill(f)
		return group{title, f}
	}
	return []group{
		add("Model", func(f *pflag.FlagSet) { modelFlags(f, a) }),
		add("HTTP", func(f *pflag.FlagSet) { httpFlags(f, a) }),
		add("Scheduler", func(f *pflag.FlagSet) { schedulerFlags(f, a) }),
		add("Input path", func(f *pflag.FlagSet) { inputFlags(f, a) }),
		add("Output path", func(f *pflag.FlagSet) { outputFlags(f, a) }),
		add("Simulated device (seconds, and shares of the generated tokens)", func(f *pflag.FlagSet) { simFlags(f, a) }),
		add("Service", func(f *pflag.FlagSet) { serviceFlags(f, a) }),
	}
}

func modelFlags(f *pflag.FlagSet, a *args.Args) {
	f.StringVar(&a.ModelPath, "model-path", a.ModelPath, "model to serve: a folder with config.json, safetensors and tokenizer.json, or a .gguf; nothing is downloaded (default: a small model made from --random-seed)")
	f.StringVar(&a.TokenizerPath, "tokenizer-path", a.TokenizerPath, "folder with tokenizer.json, such a file, or a .gguf (default: --model-path)")
	f.StringVar(&a.ChatTemplate, "chat-template", a.ChatTemplate, "file with a Jinja template for chats (default: the model's own)")
	f.StringVar(&a.ServedModelName, "served-model-name", a.ServedModelName, "name in /v1/models and /server_info; answers have the request's own model, or default (default: --model-path, or the device's own)")
	f.StringVar(&a.Device, "device", a.Device, "cpu; cuda, an NVIDIA GPU, where it is built; auto, the GPU where there is one, otherwise cpu; or sim: steps of a stated duration and seeded tokens")
	f.StringVar(&a.DType, "dtype", a.DType, "how a model's matrices are kept: auto (each as in its file), bfloat16 (keys and values are rounded to it, too), float16, float32; sums are float32")
	f.StringVar(&a.Quantization, "quantization", a.Quantization, "q8_0: a model's matrices, but for the embedding, as GGML's 8 bits")
	f.IntVar(&a.ContextLength, "context-length", a.ContextLength, "most tokens of a prompt and its answer (default: the model's)")
	f.Uint64Var(&a.RandomSeed, "random-seed", a.RandomSeed, "seed of the model without files, and of requests without one")
}

func httpFlags(f *pflag.FlagSet, a *args.Args) {
	f.StringVar(&a.Host, "host", a.Host, "name or address to listen at")
	f.IntVar(&a.Port, "port", a.Port, "port to listen at; 0: any free one")
	f.StringVar(&a.APIKey, "api-key", a.APIKey, "key that clients must send")
	f.IntVar(&a.TokenizerWorkerNum, "tokenizer-worker-num", a.TokenizerWorkerNum, "HTTP workers, which share the port")
	f.Int64Var(&a.MaxBodyBytes, "max-body-bytes", a.MaxBodyBytes, "largest body of a request")
}

func schedulerFlags(f *pflag.FlagSet, a *args.Args) {
	f.IntVar(&a.MaxPrefillTokens, "max-prefill-tokens", a.MaxPrefillTokens, "tokens of a prefill batch")
	f.IntVar(&a.ChunkedPrefillSize, "chunked-prefill-size", a.ChunkedPrefillSize, "tokens of a chunk of a prompt; -1: prompts are not cut")
	f.BoolVar(&a.EnableMixedChunk, "enable-mixed-chunk", a.EnableMixedChunk, "prefill and decode in one batch")
	f.IntVar(&a.MaxRunningRequests, "max-running-requests", a.MaxRunningRequests, "requests that run at once")
	f.IntVar(&a.MaxQueuedRequests, "max-queued-requests", a.MaxQueuedRequests, "requests that wait, beyond which one is refused; 0: no limit")
	f.IntVar(&a.MaxTotalTokens, "max-total-tokens", a.MaxTotalTokens, "tokens that the KV cache has room for; 0: from --mem-fraction-static")
	f.Float64Var(&a.MemFractionStatic, "mem-fraction-static", a.MemFractionStatic, "share of the memory that the KV cache may take, of a GPU's free memory weights and cache")
	f.IntVar(&a.PageSize, "page-size", a.PageSize, "tokens of a page of the KV cache")
	f.StringVar(&a.SchedulePolicy, "schedule-policy", a.SchedulePolicy, oneOf(string(scheduler.FCFS), string(scheduler.LPM)))
	f.BoolVar(&a.DisableRadixCache, "disable-radix-cache", a.DisableRadixCache, "do not share prefixes between requests")
	f.IntVar(&a.StreamInterval, "stream-interval", a.StreamInterval, "tokens between two rows of a request that streams")
	f.IntVar(&a.DecodeLogInterval, "decode-log-interval", a.DecodeLogInterval, "decode steps between two lines of the log")
	f.IntVar(&a.AdmissionRecords, "admission-records", a.AdmissionRecords, "requests and prefill batches that /admissions remembers, the latest")
}

func inputFlags(f *pflag.FlagSet, a *args.Args) {
	f.BoolVar(&a.EnableTokenizerBatchEncode, "enable-tokenizer-batch-encode", a.EnableTokenizerBatchEncode, "send batches of text as one message, too")
	f.IntVar(&a.BatchSendMaxTokens, "batch-send-max-tokens", a.BatchSendMaxTokens, "cut a batch into messages of so many tokens, between items; 0: do not")
	f.IntVar(&a.BatchSendMaxReqs, "batch-send-max-reqs", a.BatchSendMaxReqs, "cut a batch into messages of so many items; 0: do not")
	f.BoolVar(&a.DisableBatchSend, "disable-batch-send", a.DisableBatchSend, "send every item as a message of its own")
}

func outputFlags(f *pflag.FlagSet, a *args.Args) {
	f.IntVar(&a.DetokenizerWorkerNum, "detokenizer-worker-num", a.DetokenizerWorkerNum, "detokenizers; several have a router before them")
	f.StringVar(&a.FanoutStrategy, "fanout-strategy", a.FanoutStrategy, "how rows reach the HTTP workers: "+oneOf(args.FanoutStrategies()...))
	f.StringVar(&a.DetokenizeMethod, "detokenize-method", a.DetokenizeMethod, oneOf(string(detokenizer.MethodOffset), string(detokenizer.MethodBytes)))
	f.StringVar(&a.ZMQ, "zmq", a.ZMQ, "implementation of ZeroMQ: "+oneOf(transport.Engines()...))
	f.BoolVar(&a.IncrementalStreaming, "incremental-streaming-output", a.IncrementalStreaming, "/generate streams what is new, not all so far")
}

func simFlags(f *pflag.FlagSet, a *args.Args) {
	f.StringVar(&a.SimMachine, "sim-machine", a.SimMachine, "machine whose published step times are the defaults of the next three: "+oneOf(args.SimMachines()...))
	f.Float64Var(&a.SimStepBase, "sim-step-base", a.SimStepBase, "of a step")
	f.Float64Var(&a.SimStepPerToken, "sim-step-per-token", a.SimStepPerToken, "for each token computed")
	f.Float64Var(&a.SimStepPerContext, "sim-step-per-context", a.SimStepPerContext, "for each token of the sequences")
	f.Float64Var(&a.SimMultiByte, "sim-multi-byte", a.SimMultiByte, "share of parts of longer characters")
	f.Float64Var(&a.SimEmpty, "sim-empty", a.SimEmpty, "share of tokens without text")
	f.Float64Var(&a.SimSpecial, "sim-special", a.SimSpecial, "share of special tokens")
	f.Float64Var(&a.SimStop, "sim-stop", a.SimStop, "share of tokens that end a request")
}

func serviceFlags(f *pflag.FlagSet, a *args.Args) {
	f.BoolVar(&a.InProcess, "in-process", a.InProcess, "run the parts as goroutines of one process, over the same sockets")
	f.BoolVar(&a.SkipServerWarmup, "skip-server-warmup", a.SkipServerWarmup, "serve without a request of the server's own first")
	f.BoolVar(&a.EnableMetrics, "enable-metrics", a.EnableMetrics, "serve /metrics")
	f.StringVar(&a.LogLevel, "log-level", a.LogLevel, "debug, info, warning or error")
	f.Float64Var(&a.StartTimeout, "start-timeout", a.StartTimeout, "seconds in which every part must have registered")
	f.Float64Var(&a.ShutdownTimeout, "shutdown-timeout", a.ShutdownTimeout, "seconds that requests have to finish after SIGTERM")
	f.Float64Var(&a.HealthTimeout, "health-timeout", a.HealthTimeout, "seconds in which /health_generate must have a token")
}

// flagError says what value a flag wants, in the words that Args.Check has, where
// pflag tells what strconv said.
func flagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	want := map[string]string{
		"int": "an integer of at most 64 bits", "int64": "an integer of at most 64 bits", "uint64": "an integer of at most 64 bits, at least 0",
		"float64": "a number", "bool": "true or false",
	}[wrong.GetFlag().Value.Type()]
	if want == "" {
		return err
	}
	return fmt.Errorf("--%s %q, want %s", wrong.GetFlag().Name, wrong.GetValue(), want)
}

func oneOf(words ...string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// bind gives the command its flags and its --help.
func bind(c *cobra.Command, a *args.Args) {
	all := groups(a)
	for _, g := range all {
		c.Flags().AddFlagSet(g.FlagSet)
	}
	c.SetUsageFunc(func(c *cobra.Command) error {
		w := c.OutOrStdout()
		text := "Usage:\n  " + c.UseLine() + "\n"
		for _, g := range all {
			text += fmt.Sprintf("\n%s:\n%s", g.title, g.FlagUsagesWrapped(usageColumns))
		}
		text += "\nFlags of SGLang that have no meaning here are accepted with a warning.\n"
		_, err := fmt.Fprint(w, text)
		return err
	})
}
