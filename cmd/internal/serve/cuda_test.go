//go:build cuda

package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// onFake has servers find the fake CUDA driver, with variables of it.
func onFake(t *testing.T, variables ...string) {
	t.Helper()
	fake := os.Getenv("FANOUTBENCH_FAKECUDA")
	if fake == "" {
		t.Fatal(`FANOUTBENCH_FAKECUDA is not set; want the environment of: eval "$(scripts/cuda_env.sh)"`)
	}
	t.Setenv("FANOUTBENCH_LIBCUDA", fake)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

// texts are what the server says to requests that come at once: greedy ones, and ones that draw from a few or from
// all logits.
func (s *server) texts(t *testing.T) map[string]streamed {
	t.Helper()
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		got   = map[string]streamed{}
	)
	for i := range 4 {
		params := map[string]any{"max_new_tokens": 5 + 2*i, "temperature": 0, "ignore_eos": true}
		switch i % 4 {
		case 2:
			params["temperature"], params["sampling_seed"], params["top_k"], params["top_p"] = 0.6, i, 20, 0.95
		case 3:
			params["temperature"], params["sampling_seed"], params["repetition_penalty"] = 0.9, i, 1.1
		}
		text := strings.Repeat("A prefix that they share. ", 1+i/2) + fmt.Sprint("request ", i)
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			said, err := s.unary(ctx, map[string]any{"text": text, "sampling_params": params})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			got[text] = said
			mu.Unlock()
		})
	}
	group.Wait()
	return got
}

// The text of the GPU is the CPU's, of the seeded model and of files, greedy and drawn, with prompts cut into chunks
// and prefixes found in the cache.
func TestCUDASaysWhatTheCPUSays(t *testing.T) {
	onFake(t)
	for name, argv := range map[string][]string{
		"seeded": {"--chunked-prefill-size", "32"},
		"files":  {"--model-path", "../../../runtime/model/checkpoint/testdata/qwen3", "--dtype", "float32"},
	} {
		t.Run(name, func(t *testing.T) {
			gpu := launch(t, append([]string{"--device", "cuda"}, argv...)...)
			cpu := launch(t, append([]string{"--device", "cpu"}, argv...)...)
			got, want := gpu.texts(t), cpu.texts(t)
			if !reflect.DeepEqual(got, want) || len(got) != 4 {
				t.Errorf("the GPU says %+v, the CPU %+v", got, want)
			}
			if again := gpu.texts(t); !reflect.DeepEqual(again, got) { // from the cache
				t.Errorf("with prefixes in the cache the GPU says %+v, before %+v", again, got)
			}
			gpu.term()
			cpu.term()
		})
	}
}

// fail asks until a request fails, and gives its message.
func (s *server) fail(t *testing.T) string {
	t.Helper()
	for i := range 40 {
		status, answer := s.post(t, "/generate", map[string]any{"text": fmt.Sprint("ask ", i), "sampling_params": map[string]any{"max_new_tokens": 3, "temperature": 0}})
		if status != http.StatusOK {
			if status != http.StatusInternalServerError {
				t.Errorf("status %d, want 500: %v", status, answer)
			}
			return fmt.Sprint(answer)
		}
	}
	t.Fatalf("no request failed; the log:\n%s", s.log)
	return ""
}

// A launch or an allocation that the driver refuses in the middle of a request is that request's end; the server goes
// on, nothing of the cache is lost, and at the end the device has nothing left.
func TestCUDAFailureIsOneRequests(t *testing.T) {
	for fault, want := range map[string]string{
		"cuLaunchKernel/argmax:12:2":           "cuLaunchKernel argmax: CUDA_ERROR_OUT_OF_MEMORY (2)",
		"cuLaunchKernel/attend_split2_f32:9:1": "cuLaunchKernel attend_split2_f32: CUDA_ERROR_INVALID_VALUE (1)",
	} {
		t.Run(fault, func(t *testing.T) {
			report := t.TempDir() + "/report"
			onFake(t, "FAKECUDA_FAIL="+fault, "FAKECUDA_REPORT="+report)
			s := launch(t, "--device", "cuda", "--disable-radix-cache")
			if said := s.fail(t); !strings.Contains(said, want) {
				t.Errorf("the failure says %s, want %s", said, want)
			}
			s.texts(t)
			if used := s.metric(t, "sglang:num_used_tokens"); used != 0 {
				t.Errorf("%v tokens of the cache are in use, want none", used)
			}
			s.term()
			text, err := os.ReadFile(report)
			if err != nil || bytes.Count(text, []byte(`"left_allocations": 0`)) != bytes.Count(text, []byte("\n")) {
				t.Errorf("left on the device: %s, %v", text, err)
			}
		})
	}
}

// A device that is lost ends the service, with the reason for the client and for the log.
func TestCUDALostDeviceEndsTheService(t *testing.T) {
	onFake(t, "FAKECUDA_FAIL=kernel/argmax:12:719")
	s := launch(t, "--device", "cuda")
	if said := s.fail(t); !strings.Contains(said, "CUDA_ERROR_LAUNCH_FAILED (719)") {
		t.Errorf("the failure says %s", said)
	}
	if code := s.end(); code != exitFail || !strings.Contains(s.log.String(), "The device is lost; the server ends") {
		t.Errorf("status %d, want %d; the log:\n%s", code, exitFail, s.log)
	}
}

// What keeps a GPU from being used is said at the start, with what to do; auto goes on with the CPU and says it, too.
func TestCUDAThatCannotBe(t *testing.T) {
	for variable, want := range map[string]string{
		"FANOUTBENCH_LIBCUDA=libnone.so.1": "no CUDA driver: libnone.so.1",
		"FAKECUDA_DRIVER=12020":            "the driver is of CUDA 12.2, want 12.9 or later",
		"FAKECUDA_CAPABILITY=7.5":          "has compute capability 7.5, want at least 8.0",
		"FAKECUDA_MEMORY=3000000":          "and 3000000 may be used",
	} {
		t.Run(variable, func(t *testing.T) {
			onFake(t, variable)
			cmd := exec.Command(os.Args[0], "--device", "cuda", "--port", "0")
			cmd.Env = append(os.Environ(), programVar+"=1")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != exitFail || !strings.Contains(string(out), want) {
				t.Errorf("%v, %s, want status %d and %q", err, out, exitFail, want)
			}
			if strings.HasPrefix(variable, "FAKECUDA_MEMORY") {
				return // auto asks for a device, not for room on it
			}
			s := launch(t, "--device", "auto")
			if !strings.Contains(s.log.String(), "fanoutserve: device auto is cpu: cuda: CUDA device 0: ") || !strings.Contains(s.log.String(), want) {
				t.Errorf("the log of --device auto:\n%s", s.log)
			}
			s.term()
		})
	}
	onFake(t)
	s := launch(t, "--device", "auto")
	if !strings.Contains(s.log.String(), "fanoutserve: device auto is cuda: ") {
		t.Errorf("the log of --device auto:\n%s", s.log)
	}
	s.term()
}
