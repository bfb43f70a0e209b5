package backend

import (
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// Tokenizer makes ids of text and text of ids.
type Tokenizer interface {
	Encode(text string) ([]int64, error)       // of the text alone
	EncodePrompt(text string) ([]int64, error) // with what stands before every prompt (BOS)
	LeastTokens(text string) int               // that text has for certain, found without encoding it
	AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte
	AppendBytes(dst []byte, ids []int64, skipSpecial bool) []byte // what AppendDecode makes text of
	VocabSize() int                                               // the largest id and one
}

// Info describes what is served.
type Info struct {
	Name          string // served_model_name
	Architecture  string
	ContextLength int
	VocabSize     int
	EOS           []int64
	WeightBytes   int64 // that the model takes beside its slots; 0: few
	SlotBytes     int64 // of one token's keys and values; 0: none
}

// The devices. Auto is one of the first two, by [Resolve].
const (
	CPU  = "cpu"
	CUDA = "cuda" // built with the tag of that name
	Sim  = "sim"
	Auto = "auto"
)

// leastContext is the fewest tokens of a context, and of a cache, that have room for a
// prompt of one and an answer: as in SGLang one token more stays free.
const leastContext = 3

// simContext is the context length of a simulated device, and simLongest the
// longest that it may be given.
const (
	simContext = 32768
	simLongest = 1 << 24
)

// Describe says what the settings name, without making it: of a model's files it
// reads what stands before the weights.
func Describe(a args.Args) (Info, error) {
	if err := check(a); err != nil {
		return Info{}, err
	}
	describe := describeSmall
	switch {
	case a.Device == Sim:
		describe = describeSim
	case a.ModelPath != "":
		describe = describeCheckpoint
	}
	info, err := describe(a)
	if err != nil {
		return Info{}, err
	}
	longest := info.ContextLength
	if a.Device == Sim {
		longest = simLongest
	}
	if a.ServedModelName != "" {
		info.Name = a.ServedModelName
	}
	if a.ContextLength != 0 {
		if a.ContextLength < leastContext || a.ContextLength > longest {
			return Info{}, fmt.Errorf("context_length is %d, expected %d to %d, which %s has, or 0 for its default", a.ContextLength, leastContext, longest, info.Name)
		}
		info.ContextLength = a.ContextLength
	}
	return info, nil
}

func describeSmall(a args.Args) (Info, error) {
	c := qwen3.Small()
	info := Info{
		Name: "qwen3-small", Architecture: "Qwen3ForCausalLM",
		ContextLength: c.ContextLength, VocabSize: c.VocabSize, EOS: c.EOS, SlotBytes: int64(c.SlotBytes()),
	}
	if a.Device != CUDA {
		return info, nil
	}
	small, err := seededCheckpoint(a)
	if err == nil {
		info.WeightBytes, info.SlotBytes, err = gpuSize(small, a)
	}
	return info, err
}

// seededCheckpoint is the small model as a device takes it.
func seededCheckpoint(a args.Args) (*checkpoint.Checkpoint, error) {
	c := qwen3.Small()
	weights, err := qwen3.Seeded(c, a.RandomSeed)
	if err != nil {
		return nil, err
	}
	return weights.Checkpoint(c)
}

func describeSim(a args.Args) (Info, error) {
	m, err := newSim(context.Background(), a, simContext)
	if err != nil {
		return Info{}, err
	}
	l := m.Limits()
	return Info{Name: "sim", Architecture: "SimulatedDevice", ContextLength: l.ContextLength, VocabSize: l.VocabSize, EOS: l.EOS}, nil
}

// check names the setting that asks for what is not built.
func check(a args.Args) error {
	switch {
	case a.Device == CUDA:
		if err := gpuBuilt(); err != nil {
			return err
		}
	case a.Device != CPU && a.Device != Sim:
		return fmt.Errorf("device is %q, expected %s, %s or %s", a.Device, CPU, CUDA, Sim)
	}
	switch {
	case a.Device == Sim && a.ModelPath != "":
		return fmt.Errorf("model_path is %q, expected none with device %s, which computes nothing", a.ModelPath, Sim)
	case a.ModelPath == "" && a.TokenizerPath != "":
		return fmt.Errorf("tokenizer_path is %q, expected none without model_path: models that need no files have a vocabulary of bytes", a.TokenizerPath)
	}
	return checkNumbers(a)
}

// Check says what would keep a server from starting, without loading any weights:
// settings that cannot be, files that are missing or wrong, too little memory.
func Check(a args.Args) error {
	if _, err := Slots(a); err != nil {
		return err
	}
	if a.ModelPath != "" { // the tokenizers that need no files are always there
		if _, err := NewTokenizer(a); err != nil {
			return err
		}
	}
	_, err := ChatTemplate(a)
	return err
}

// NewModel makes the model with room for slots tokens; where it is an io.Closer, Close ends it. ctx ends a simulated step's sleep.
func NewModel(ctx context.Context, a args.Args, slots int) (model.Model, error) {
	info, err := Describe(a)
	if err != nil {
		return nil, err
	}
	if a.Device == Sim {
		return newSim(ctx, a, info.ContextLength)
	}
	s, err := sampling.New(model.Limits{VocabSize: info.VocabSize, ContextLength: info.ContextLength, EOS: info.EOS}, a.RandomSeed)
	if err != nil {
		return nil, err
	}
	switch {
	case a.ModelPath != "":
		return newCheckpointModel(a, info.ContextLength, slots, sampler{s})
	case a.Device == CUDA:
		small, err := seededCheckpoint(a)
		if err != nil {
			return nil, err
		}
		return newGPUModel(small, a, info.ContextLength, slots, sampler{s})
	}
	c := qwen3.Small()
	c.ContextLength = info.ContextLength
	weights, err := qwen3.Seeded(c, a.RandomSeed)
	if err != nil {
		return nil, err
	}
	return qwen3.New(c, weights, slots, sampler{s})
}

func newSim(ctx context.Context, a args.Args, contextLength int) (*sim.Model, error) {
	return sim.New(sim.Config{
		ContextLength: contextLength,
		Seed:          a.RandomSeed,
		Step:          sim.StepTime{Base: a.SimStepBase, PerToken: a.SimStepPerToken, PerContext: a.SimStepPerContext},
		Shares:        sim.Shares{MultiByte: a.SimMultiByte, Empty: a.SimEmpty, Special: a.SimSpecial, Stop: a.SimStop},
		Clock:         sim.NewWall(ctx),
	})
}

// sampler gives the model package sampling's. An error of it concerns one
// request, so it becomes that request's Choice and not the batch's error.
type sampler struct{ s *sampling.Sampler }

func (s sampler) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	c, err := s.s.Choose(w, logits)
	if err != nil {
		return model.Choice{Err: err}, nil
	}
	return c, nil
}

// Enough and ChooseOf are for a device that chooses itself.
func (s sampler) Enough(w *model.Work) (int, float64) { return s.s.Enough(w) }

func (s sampler) ChooseOf(w *model.Work, ids []int64, logits []float32, logSum float64) (model.Choice, bool) {
	return s.s.ChooseOf(w, ids, logits, logSum)
}

func (s sampler) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	return s.s.Input(logits, id, want)
}
