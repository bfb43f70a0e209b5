package backend

import (
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

func settings(device string) args.Args {
	return args.Args{Device: device, DType: "auto", MemFractionStatic: 0.5, RandomSeed: 1}
}

// The tokenizer, the model and the description are of one vocabulary.
func TestDevicesAgree(t *testing.T) {
	for _, device := range []string{CPU, Sim} {
		a := settings(device)
		a.ContextLength = 100
		info, err := Describe(a)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := NewTokenizer(a)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewModel(t.Context(), a, 64)
		if err != nil {
			t.Fatal(err)
		}
		l := m.Limits()
		if l.VocabSize != info.VocabSize || tok.VocabSize() != info.VocabSize || l.ContextLength != 100 || info.ContextLength != 100 || !slices.Equal(l.EOS, info.EOS) {
			t.Errorf("%s: limits %+v, info %+v, vocabulary of %d", device, l, info, tok.VocabSize())
		}
		for _, id := range info.EOS {
			text := string(tok.AppendDecode(nil, []int64{id}, false, true))
			if ids, err := tok.Encode("a" + text); err != nil || !slices.Equal(ids, []int64{'a', id}) {
				t.Errorf("%s: EOS %d, %q, encodes to %v, %v", device, id, text, ids, err)
			}
		}
		if text := tok.AppendDecode(nil, []int64{int64(info.VocabSize - 1)}, false, true); len(text) == 0 {
			t.Errorf("%s: the last id has no text", device)
		}
	}
}

// The same seed gives the same logits, another one others.
func TestSeed(t *testing.T) {
	first := func(seed uint64) int64 {
		a := settings(CPU)
		a.RandomSeed = seed
		m, err := NewModel(t.Context(), a, 64)
		if err != nil {
			t.Fatal(err)
		}
		token := int64(0)
		for p := range 5 {
			ids := []int64{'a', 'b', 'c', 'd', 'e'}[:p+1]
			out, err := m.Forward(&model.Batch{Work: []model.Work{{
				RID: "r", IDs: ids, Tokens: ids, Prompt: p + 1, Slots: []int32{0, 1, 2, 3, 4}[:p+1], Next: -1, Sample: true,
				Sampling: &model.Sampling{TopP: 1, TopK: -1, RepetitionPenalty: 1},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			token = 1000*token + out.Chosen[0].Token
		}
		return token
	}
	if a, b, c := first(1), first(1), first(2); a != b || a == c {
		t.Errorf("tokens %d and %d of one seed, %d of another", a, b, c)
	}
}

// A request that the sampler cannot serve does not end the others.
func TestSamplerErrorIsOneRequests(t *testing.T) {
	m, err := NewModel(t.Context(), settings(CPU), 64)
	if err != nil {
		t.Fatal(err)
	}
	good := &model.Sampling{TopP: 1, TopK: -1, RepetitionPenalty: 1}
	bad := &model.Sampling{TopP: 1, TopK: -1, RepetitionPenalty: 1, Temperature: -1}
	out, err := m.Forward(&model.Batch{Work: []model.Work{
		{RID: "bad", IDs: []int64{1}, Tokens: []int64{1}, Prompt: 1, Slots: []int32{0}, Next: -1, Sample: true, Sampling: bad},
		{RID: "good", IDs: []int64{1}, Tokens: []int64{1}, Prompt: 1, Slots: []int32{1}, Next: -1, Sample: true, Sampling: good},
	}})
	if err != nil || out.Chosen[0].Err == nil || out.Chosen[1].Err != nil {
		t.Errorf("got %+v, %v, want an error of the first request alone", out.Chosen, err)
	}
}

func TestNotBuilt(t *testing.T) {
	for want, change := range map[string]func(*args.Args){
		`model_path is "m", expected none with device sim`:        func(a *args.Args) { a.Device, a.ModelPath = Sim, "m" },
		`--model-path "m": there is no such`:                      func(a *args.Args) { a.ModelPath = "m" },
		`tokenizer_path is "m", expected none without model_path`: func(a *args.Args) { a.TokenizerPath = "m" },
		`dtype is "bfloat16"`:                                     func(a *args.Args) { a.DType = "bfloat16" },
		`quantization is "q8_0"`:                                  func(a *args.Args) { a.Quantization = args.Q8 },
		`device is "auto", expected cpu, cuda or sim`:             func(a *args.Args) { a.Device = Auto },
		`device is "tpu"`:                                         func(a *args.Args) { a.Device = "tpu" },
		"context_length is 8193, expected 3 to 8192":              func(a *args.Args) { a.ContextLength = 8193 },
		"context_length is 2, expected 3 to":                      func(a *args.Args) { a.ContextLength = 2 },
		"share of stop tokens is 2":                               func(a *args.Args) { a.Device, a.SimStop = Sim, 2 },
	} {
		a := settings(CPU)
		change(&a)
		if _, err := Describe(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The slots of a GPU are those of SGLang's rule: its fraction is of the free memory, for weights and
// cache.
func TestSlotsOfAGPU(t *testing.T) {
	for _, c := range []struct {
		total    int
		fraction float64
		weights  int64
		want     int
		err      string
	}{
		{0, 0.5, 1 << 18, 256, ""},
		{0, 0.75, 1 << 18, 512, ""},
		{0, 0.5, 1<<18 + 1, 0, "mem_fraction_static 0.5 of 1048576 bytes, beside 262145 for the weights, have room for 255 tokens of 1024 bytes"},
		{0, 0.5, 1 << 19, 0, "have room for 0 tokens"},
		{0, 0.5, 3 << 18, 0, "have room for 0 tokens"},
		{0, 1, 1<<20 + 1, 0, "the weights of m need 1048577 bytes, and 1048576 may be used"},
		{500, 0.1, 1 << 18, 500, ""},
		{800, 0.1, 1 << 18, 0, "max_total_tokens 800 need 823200 bytes, and 786432 may be used beside 262144"},
	} {
		a := args.Args{Device: CUDA, MaxTotalTokens: c.total, MemFractionStatic: c.fraction}
		got, err := slots(a, Info{Name: "m", WeightBytes: c.weights, SlotBytes: 1024}, 1<<20, true)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: got %d, %v", c, got, err)
		}
	}
	if got, err := slots(args.Args{Device: CUDA, MemFractionStatic: 0.5}, Info{SlotBytes: 1}, 1<<40, true); got != gpuSlots || err != nil {
		t.Errorf("of much memory: %d, %v, want %d", got, err, gpuSlots)
	}
}

func TestServedModelName(t *testing.T) {
	a := settings(Sim)
	a.ServedModelName = "mine"
	if info, err := Describe(a); err != nil || info.Name != "mine" {
		t.Errorf("got %q, %v", info.Name, err)
	}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		total     int
		fraction  float64
		slotBytes int64
		memory    int64
		known     bool
		want      int
		err       string
	}{
		{0, 0.5, 1024, 1 << 20, true, 512, ""},
		{0, 0.5, 1024, 1 << 40, true, mostSlots, ""},
		{0, 0.5, 1024, 1 << 18, true, 0, "mem_fraction_static 0.5 of 262144 bytes, beside 0 for the weights, have room for 128 tokens of 1024 bytes, expected at least 256"},
		{1000, 0.5, 1024, 1 << 20, true, 1000, ""},
		{1025, 0.5, 1024, 1 << 20, true, 0, "max_total_tokens 1025 need 1054725 bytes, and 1048576 may be used"},
		{1 << 30, 0.5, 0, 1 << 30, true, 0, "max_total_tokens 1073741824 need 5368709120 bytes, and 1073741824 may be used"}, // sim: the scheduler's own
		{1 << 30, 0.5, 0, math.MaxInt64, true, 1 << 30, ""},
		{0, 0.5, 0, math.MaxInt64, true, simSlots, ""},
		{0, 0.5, 1024, math.MaxInt64, false, mostSlots, ""},
		{0, 0, 1024, 1 << 30, true, 0, "mem_fraction_static is 0"},
		{0, math.NaN(), 1024, 1 << 30, true, 0, "mem_fraction_static is NaN"},
		{0, 1.5, 1024, 1 << 30, true, 0, "mem_fraction_static is 1.5"},
		{-1, 0.5, 1024, 1 << 30, true, 0, "max_total_tokens is -1"},
		{2, 0.5, 1024, 1 << 30, true, 0, "max_total_tokens is 2, expected 3 to 2147483647"},
		{3, 0.5, 1024, 1 << 30, true, 3, ""},
		{1 << 31, 0.5, 0, 1 << 30, true, 0, "max_total_tokens is 2147483648"},
	} {
		a := args.Args{MaxTotalTokens: c.total, MemFractionStatic: c.fraction}
		got, err := slots(a, Info{SlotBytes: c.slotBytes}, c.memory, c.known)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: got %d, %v", c, got, err)
		}
	}
}

// The weights are there before the cache, which gets of what they leave.
func TestSlotsBesideWeights(t *testing.T) {
	info := Info{Name: "big", WeightBytes: 1 << 20, SlotBytes: 1024}
	for _, c := range []struct {
		total  int
		memory int64
		want   int
		err    string
	}{
		{0, 3 << 20, 1024, ""},
		{0, 1<<20 + 1<<19, 256, ""},
		{0, 1<<20 + 1<<18, 0, "too little memory for the cache: mem_fraction_static 0.5 of 262144 bytes, beside 1048576 for the weights, have room for 128 tokens of 1024 bytes"},
		{0, 1<<20 - 1, 0, "too little memory for the model: the weights of big need 1048576 bytes, and 1048575 may be used"},
		{300, 1<<20 - 1, 0, "too little memory for the model"},
		{1000, 2 << 20, 1000, ""},
		{1025, 2 << 20, 0, "max_total_tokens 1025 need 1054725 bytes, and 1048576 may be used beside 1048576 for the weights"},
	} {
		got, err := slots(args.Args{MaxTotalTokens: c.total, MemFractionStatic: 0.5}, info, c.memory, true)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: got %d, %v", c, got, err)
		}
	}
}

func TestSlotsOfPages(t *testing.T) {
	a := args.Args{MaxTotalTokens: 63, PageSize: 64, MemFractionStatic: 0.5}
	if got, err := slots(a, Info{}, 1<<30, true); err == nil || err.Error() != "max_total_tokens is 63, expected at least the 64 of one page (page_size)" {
		t.Errorf("got %d, %v", got, err)
	}
	a.MaxTotalTokens = 64
	if got, err := slots(a, Info{}, 1<<30, true); got != 64 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestSlotsOfThisMachine(t *testing.T) {
	for _, device := range []string{CPU, Sim} {
		if n, err := Slots(settings(device)); err != nil || n < leastSlots {
			t.Errorf("%s: %d slots, %v", device, n, err)
		}
	}
	a := settings(CPU)
	a.MaxTotalTokens = math.MaxInt32 // 2 TiB
	if n, err := Slots(a); runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), "too little memory")) {
		t.Errorf("%d slots, %v, want an error that says too little memory", n, err)
	}
}

func TestAvailable(t *testing.T) {
	const meminfo = "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
		err   string
	}{
		"no cgroups": {map[string]string{"proc/meminfo": meminfo}, 1024000, ""},
		"version 2": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "5000\n", "sys/fs/cgroup/memory.max": "6000\n"}, 5000, ""},
		"version 2, in a container": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../x\n",
			"sys/fs/cgroup/memory.max": "7000\n"}, 7000, ""},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,memory:/a\n4:cpuset:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "800\n"}, 800, ""},
		"a large limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999\n"}, 1024000, ""},
		"no meminfo":    {map[string]string{}, 0, "meminfo"},
		"another line":  {map[string]string{"proc/meminfo": "MemTotal: 3 kB\n"}, 0, "no line MemAvailable"},
		"no number":     {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "much\n"}, 0, `memory.max is "much"`},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModePerm}
		}
		got, err := available(root)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %d, %v, want %d, %q", name, got, err, c.want, c.err)
		}
	}
}
