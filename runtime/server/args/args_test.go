package args

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestDefaultCanBe(t *testing.T) {
	if err := Default().Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	a := Default().Complete()
	if err := a.Check(); err != nil {
		t.Errorf("the completed defaults: %v", err)
	}
	if again := a.Complete(); again != a {
		t.Errorf("completed twice: %+v, want %+v", again, a)
	}
}

func TestComplete(t *testing.T) {
	for _, k := range []struct {
		change func(*Args)
		want   func(Args) (got, want any)
	}{
		{func(*Args) {}, func(a Args) (any, any) { return a.ServedModelName, seededName }},
		{func(a *Args) { a.Device = "sim" }, func(a Args) (any, any) { return a.ServedModelName, simName }},
		{func(a *Args) { a.ModelPath = "m/x" }, func(a Args) (any, any) { return a.ServedModelName, "m/x" }},
		{func(a *Args) { a.ModelPath = "m/x" }, func(a Args) (any, any) { return a.TokenizerPath, "m/x" }},
		{func(a *Args) { a.ModelPath, a.TokenizerPath = "m/x", "t" }, func(a Args) (any, any) { return a.TokenizerPath, "t" }},
		{func(a *Args) { a.ModelPath, a.ServedModelName = "m/x", "x" }, func(a Args) (any, any) { return a.ServedModelName, "x" }},
		{func(a *Args) { a.ChunkedPrefillSize = 0 }, func(a Args) (any, any) { return a.ChunkedPrefillSize, -1 }},
	} {
		a := Default()
		k.change(&a)
		if got, want := k.want(a.Complete()); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// A machine's step times are in force but for those that were given; without one, all stay.
func TestOnMachine(t *testing.T) {
	a := Default()
	a.SimMachine, a.SimStepBase = "h100-llama-3.1-8b", 0.5
	got := a.OnMachine(func(flag string) bool { return flag == "sim-step-base" })
	want := a
	want.SimStepPerToken, want.SimStepPerContext = 17.25086436834028e-6, 0
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := a.OnMachine(func(string) bool { return false }).SimStepBase; got != 5752.705191348184e-6 {
		t.Errorf("base %v", got)
	}
	for _, name := range []string{"", "tpu"} {
		a.SimMachine = name
		if got := a.OnMachine(func(string) bool { return false }); got != a {
			t.Errorf("machine %q: %+v, want %+v", name, got, a)
		}
	}
}

func TestCheckNamesFlagValueAndWhatIsAllowed(t *testing.T) {
	for want, change := range map[string]func(*Args){
		`--device "tpu", want one of cpu, cuda, sim, auto`:                                           func(a *Args) { a.Device = "tpu" },
		`--dtype "half", want one of auto, bfloat16, float16, float32`:                               func(a *Args) { a.DType = "half" },
		`--quantization "fp8", want one of q8_0`:                                                     func(a *Args) { a.Quantization = "fp8" },
		`--schedule-policy "lof", want one of fcfs, lpm`:                                             func(a *Args) { a.SchedulePolicy = "lof" },
		`--fanout-strategy "floor", want one of per-row, reuse, grouped, splice, grouped-splice`:     func(a *Args) { a.FanoutStrategy = "floor" },
		`--detokenize-method "", want one of offset, bytes`:                                          func(a *Args) { a.DetokenizeMethod = "" },
		`--zmq "libzmq", want one of zmtp, zmq4`:                                                     func(a *Args) { a.ZMQ = "libzmq" },
		`--log-level "loud", want one of debug, info, warning, error`:                                func(a *Args) { a.LogLevel = "loud" },
		`--host "", want a name or an address; 0.0.0.0 for all`:                                      func(a *Args) { a.Host = "" },
		`--port 65536, want 0 to 65535`:                                                              func(a *Args) { a.Port = 65536 },
		`--tokenizer-worker-num 0, want 1 to 256`:                                                    func(a *Args) { a.TokenizerWorkerNum = 0 },
		`--detokenizer-worker-num 257, want 1 to 256`:                                                func(a *Args) { a.DetokenizerWorkerNum = 257 },
		`--max-running-requests 0, want 1 or more`:                                                   func(a *Args) { a.MaxRunningRequests = 0 },
		`--max-body-bytes 1023, want 1024 or more`:                                                   func(a *Args) { a.MaxBodyBytes = 1023 },
		`--mem-fraction-static 0, want more than 0, up to 1`:                                         func(a *Args) { a.MemFractionStatic = 0 },
		`--sim-stop NaN, want 0 to 1`:                                                                func(a *Args) { a.SimStop = math.NaN() },
		`--start-timeout 0, want more than 0, up to 86400`:                                           func(a *Args) { a.StartTimeout = 0 },
		`--chunked-prefill-size 100, want a multiple of --page-size 16`:                              func(a *Args) { a.ChunkedPrefillSize, a.PageSize = 100, 16 },
		`--sim-multi-byte, --sim-empty, --sim-special and --sim-stop add up to 1.75, want 1 at most`: func(a *Args) { a.SimMultiByte, a.SimEmpty, a.SimSpecial, a.SimStop = 0.5, 0.5, 0.5, 0.25 },
		`--sim-machine "tpu", want one of h100-qwen3-0.6b, h100-llama-3.1-8b, a100-llama-3.1-8b`:     func(a *Args) { a.Device, a.SimMachine = "sim", "tpu" },
		`--sim-machine "h100-llama-3.1-8b" with --device cpu, want it with --device sim only`:        func(a *Args) { a.SimMachine = "h100-llama-3.1-8b" },
		`--disable-batch-send with --batch-send-max-tokens 5 and --batch-send-max-reqs 0, want no limits of batches that are not sent`: func(a *Args) {
			a.DisableBatchSend, a.BatchSendMaxTokens = true, 5
		},
	} {
		a := Default()
		change(&a)
		if err := a.Check(); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestCheckTellsAllAtOnce(t *testing.T) {
	a := Default()
	a.Port, a.Device, a.SimStop = -1, "tpu", 2
	err := a.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, flag := range []string{"--port -1", `--device "tpu"`, "--sim-stop 2"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("%q does not name %s", err, flag)
		}
	}
}

// Every number has a bound: one that is added later and not checked is found here.
func TestEveryNumberIsChecked(t *testing.T) {
	fields := reflect.TypeFor[Args]()
	for i := range fields.NumField() {
		a := Default()
		v := reflect.ValueOf(&a).Elem().Field(i)
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			v.SetInt(-2)
		case reflect.Float64:
			v.SetFloat(math.NaN())
		default:
			continue
		}
		flag := "--" + strings.ReplaceAll(fields.Field(i).Tag.Get("json"), "_", "-")
		if err := a.Check(); err == nil || !strings.Contains(err.Error(), flag+" ") {
			t.Errorf("%s = %v: %v, want an error that names %s", fields.Field(i).Name, v, err, flag)
		}
	}
}

// A child gets the settings as JSON; only the key goes another way.
func TestJSON(t *testing.T) {
	a := Default().Complete()
	a.APIKey = "secret"
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "secret") {
		t.Errorf("%s shows the API key", text)
	}
	var back Args
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	back.APIKey = a.APIKey
	if back != a {
		t.Errorf("through JSON: %+v, want %+v", back, a)
	}
}
