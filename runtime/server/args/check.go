package args

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// MaxWorkers is how many HTTP workers, and how many detokenizers, there may be.
const MaxWorkers = 256

// Check names every setting that cannot be: its flag, its value, what is allowed.
func (a Args) Check() error {
	return errors.Join(slices.Concat(a.checkNames(), a.checkInts(), a.checkFloats(), a.checkTogether())...)
}

// checkNames is for settings that are one of a few words.
func (a Args) checkNames() []error {
	var wrong []error
	for _, f := range []struct {
		flag, value string
		allowed     []string
	}{
		{"device", a.Device, []string{"cpu", "cuda", "sim", "auto"}},
		{"dtype", a.DType, []string{"auto", "bfloat16", "float16", "float32"}},
		{"quantization", cmp.Or(a.Quantization, Q8), []string{Q8}},
		{"schedule-policy", a.SchedulePolicy, []string{string(scheduler.FCFS), string(scheduler.LPM)}},
		{"fanout-strategy", a.FanoutStrategy, FanoutStrategies()},
		{"detokenize-method", a.DetokenizeMethod, []string{string(detokenizer.MethodOffset), string(detokenizer.MethodBytes)}},
		{"zmq", a.ZMQ, transport.Engines()},
		{"log-level", a.LogLevel, []string{"debug", "info", "warning", "error"}},
	} {
		if !slices.Contains(f.allowed, f.value) {
			wrong = append(wrong, fmt.Errorf("--%s %q, want one of %s", f.flag, f.value, strings.Join(f.allowed, ", ")))
		}
	}
	if a.Host == "" {
		wrong = append(wrong, errors.New(`--host "", want a name or an address; 0.0.0.0 for all`))
	}
	return wrong
}

// FanoutStrategies are the values of --fanout-strategy: all but those that need
// their frames beforehand, which a server cannot have.
func FanoutStrategies() []string {
	var names []string
	for _, s := range fanout.List() {
		if !s.NeedsPrepared {
			names = append(names, s.Name)
		}
	}
	return names
}

// SimMachines are the values of --sim-machine.
func SimMachines() []string {
	var names []string
	for _, m := range sim.Machines() {
		names = append(names, m.Name)
	}
	return names
}

func (a Args) checkInts() []error {
	const any = math.MaxInt64
	var wrong []error
	for _, f := range []struct {
		flag     string
		value    int64
		min, max int64
	}{
		{"context-length", int64(a.ContextLength), 0, any},
		{"port", int64(a.Port), 0, 65535},
		{"tokenizer-worker-num", int64(a.TokenizerWorkerNum), 1, MaxWorkers},
		{"detokenizer-worker-num", int64(a.DetokenizerWorkerNum), 1, MaxWorkers},
		{"max-body-bytes", a.MaxBodyBytes, 1024, any},
		{"max-prefill-tokens", int64(a.MaxPrefillTokens), 1, any},
		{"chunked-prefill-size", int64(a.ChunkedPrefillSize), -1, any},
		{"max-running-requests", int64(a.MaxRunningRequests), 1, any},
		{"max-queued-requests", int64(a.MaxQueuedRequests), 0, any},
		{"max-total-tokens", int64(a.MaxTotalTokens), 0, any},
		{"page-size", int64(a.PageSize), 1, any},
		{"stream-interval", int64(a.StreamInterval), 1, any},
		{"decode-log-interval", int64(a.DecodeLogInterval), 1, any},
		{"admission-records", int64(a.AdmissionRecords), 1, any},
		{"batch-send-max-tokens", int64(a.BatchSendMaxTokens), 0, any},
		{"batch-send-max-reqs", int64(a.BatchSendMaxReqs), 0, any},
	} {
		switch {
		case f.value >= f.min && f.value <= f.max:
		case f.max == any:
			wrong = append(wrong, fmt.Errorf("--%s %d, want %d or more", f.flag, f.value, f.min))
		default:
			wrong = append(wrong, fmt.Errorf("--%s %d, want %d to %d", f.flag, f.value, f.min, f.max))
		}
	}
	return wrong
}

// maxSeconds is a day: longer is a mistake of unit.
const maxSeconds = 86400

func (a Args) checkFloats() []error {
	var wrong []error
	for _, f := range []struct {
		flag     string
		value    float64
		min, max float64
		open     bool // min itself is not allowed
	}{
		{"mem-fraction-static", a.MemFractionStatic, 0, 1, true},
		{"sim-step-base", a.SimStepBase, 0, maxSeconds, false},
		{"sim-step-per-token", a.SimStepPerToken, 0, maxSeconds, false},
		{"sim-step-per-context", a.SimStepPerContext, 0, maxSeconds, false},
		{"sim-multi-byte", a.SimMultiByte, 0, 1, false},
		{"sim-empty", a.SimEmpty, 0, 1, false},
		{"sim-special", a.SimSpecial, 0, 1, false},
		{"sim-stop", a.SimStop, 0, 1, false},
		{"start-timeout", a.StartTimeout, 0, maxSeconds, true},
		{"shutdown-timeout", a.ShutdownTimeout, 0, maxSeconds, false},
		{"health-timeout", a.HealthTimeout, 0, maxSeconds, true},
	} {
		if within := f.value >= f.min && f.value <= f.max; within && !(f.open && f.value == f.min) {
			continue
		}
		from := fmt.Sprintf("%g to", f.min)
		if f.open {
			from = fmt.Sprintf("more than %g, up to", f.min)
		}
		wrong = append(wrong, fmt.Errorf("--%s %g, want %s %g", f.flag, f.value, from, f.max))
	}
	return wrong
}

// checkTogether is for settings that are allowed, but not with each other.
func (a Args) checkTogether() []error {
	var wrong []error
	if a.PageSize > 1 && a.ChunkedPrefillSize > 0 && a.ChunkedPrefillSize%a.PageSize != 0 {
		wrong = append(wrong, fmt.Errorf("--chunked-prefill-size %d, want a multiple of --page-size %d", a.ChunkedPrefillSize, a.PageSize))
	}
	if sum := a.SimMultiByte + a.SimEmpty + a.SimSpecial + a.SimStop; sum > 1 {
		wrong = append(wrong, fmt.Errorf("--sim-multi-byte, --sim-empty, --sim-special and --sim-stop add up to %g, want 1 at most", sum))
	}
	if _, known := sim.MachineNamed(a.SimMachine); a.SimMachine != "" && !known {
		wrong = append(wrong, fmt.Errorf("--sim-machine %q, want one of %s", a.SimMachine, strings.Join(SimMachines(), ", ")))
	}
	if a.SimMachine != "" && a.Device != "sim" {
		wrong = append(wrong, fmt.Errorf("--sim-machine %q with --device %s, want it with --device sim only", a.SimMachine, a.Device))
	}
	if a.DisableBatchSend && (a.BatchSendMaxTokens > 0 || a.BatchSendMaxReqs > 0) {
		wrong = append(wrong, fmt.Errorf("--disable-batch-send with --batch-send-max-tokens %d and --batch-send-max-reqs %d, want no limits of batches that are not sent",
			a.BatchSendMaxTokens, a.BatchSendMaxReqs))
	}
	return wrong
}
