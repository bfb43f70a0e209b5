package args

import "github.com/fanoutbench/fanoutbench/runtime/model/sim"

// The names under which the models are served that need no files, those of package backend.
const (
	seededName = "qwen3-small"
	simName    = "sim"
)

// Default has the values of a command line without flags. Where SGLang has a
// default that does not depend on a GPU, it is SGLang's; a limit that SGLang
// leaves open (max_queued_requests) is open here too.
//
// mem_fraction_static is 0.5, not SGLang's 0.8 and more of a GPU's own memory:
// here the cache shares the machine's memory with the model, with the other
// processes of the server and with whatever else runs, and Go's collector lets a
// heap grow before it collects.
//
// random_seed is fixed, where SGLang draws one: two starts give the same text.
//
// A simulated step takes 5 ms, 10 us more for each token computed (a full chunk
// of 8,192 takes 87 ms) and 10 ns for each token in the cache that it reads.
func Default() Args {
	return Args{
		Device: "cpu", DType: "auto",
		Host: "127.0.0.1", Port: 30000, TokenizerWorkerNum: 1, MaxBodyBytes: 64 << 20,
		MaxPrefillTokens: 16384, ChunkedPrefillSize: 8192, MaxRunningRequests: 1024,
		MemFractionStatic: 0.5, PageSize: 1, SchedulePolicy: "fcfs",
		StreamInterval: 1, DecodeLogInterval: 40, AdmissionRecords: 4096,
		DetokenizerWorkerNum: 1, FanoutStrategy: "grouped-splice", DetokenizeMethod: "offset", ZMQ: "zmtp",
		SimStepBase: 0.005, SimStepPerToken: 10e-6, SimStepPerContext: 10e-9,
		SimMultiByte: 0.1, SimEmpty: 0.01, SimSpecial: 0.01,
		LogLevel: "info", StartTimeout: 60, ShutdownTimeout: 30, HealthTimeout: 20,
	}
}

// OnMachine takes the step times of the machine that is named, but for the flags that were given.
func (a Args) OnMachine(given func(flag string) bool) Args {
	m, ok := sim.MachineNamed(a.SimMachine)
	if !ok {
		return a // none, or one that Check refuses
	}
	for flag, value := range map[string]struct {
		to   *float64
		from float64
	}{
		"sim-step-base":        {&a.SimStepBase, m.Step.Base},
		"sim-step-per-token":   {&a.SimStepPerToken, m.Step.PerToken},
		"sim-step-per-context": {&a.SimStepPerContext, m.Step.PerContext},
	} {
		if !given(flag) {
			*value.to = value.from
		}
	}
	return a
}

// Complete fills in what is empty and depends on other settings. What it gives
// is complete already.
func (a Args) Complete() Args {
	if a.TokenizerPath == "" {
		a.TokenizerPath = a.ModelPath
	}
	if a.ServedModelName == "" {
		a.ServedModelName = a.defaultName()
	}
	if a.ChunkedPrefillSize == 0 { // SGLang: 0 or less
		a.ChunkedPrefillSize = -1
	}
	return a
}

func (a Args) defaultName() string {
	switch {
	case a.ModelPath != "":
		return a.ModelPath
	case a.Device == "sim":
		return simName
	}
	return seededName
}
