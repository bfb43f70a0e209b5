package backend

import (
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// Tokenizer makes ids of text and text of ids.
type Tokenizer interface {
	Encode(text string) ([]int64, error)
	LeastTokens(text string) int // that text has for certain, found without encoding it
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
	SlotBytes     int // of one token's keys and values; 0: none
}

// The devices that are built.
const (
	CPU = "cpu"
	Sim = "sim"
)

// simContext is the context length of a simulated device, and simLongest the
// longest that it may be given.
const (
	simContext = 32768
	simLongest = 1 << 24
)

// Describe says what the settings name, without making it.
func Describe(a args.Args) (Info, error) {
	if err := check(a); err != nil {
		return Info{}, err
	}
	info, longest := Info{}, 0
	switch a.Device {
	case CPU:
		c := qwen3.Small()
		info = Info{
			Name: "qwen3-small", Architecture: "Qwen3ForCausalLM",
			ContextLength: c.ContextLength, VocabSize: c.VocabSize, EOS: c.EOS, SlotBytes: c.SlotBytes(),
		}
		longest = c.ContextLength
	case Sim:
		m, err := newSim(context.Background(), a, simContext)
		if err != nil {
			return Info{}, err
		}
		l := m.Limits()
		info = Info{Name: "sim", Architecture: "SimulatedDevice", ContextLength: l.ContextLength, VocabSize: l.VocabSize, EOS: l.EOS}
		longest = simLongest
	}
	if a.ServedModelName != "" {
		info.Name = a.ServedModelName
	}
	if a.ContextLength != 0 {
		if a.ContextLength < 2 || a.ContextLength > longest {
			return Info{}, fmt.Errorf("context_length is %d, expected 2 to %d, which device %s has, or 0 for its default", a.ContextLength, longest, a.Device)
		}
		info.ContextLength = a.ContextLength
	}
	return info, nil
}

// check names the setting that asks for what is not built.
func check(a args.Args) error {
	switch {
	case a.ModelPath != "":
		return fmt.Errorf("model_path is %q, expected none: reading a model's files is not built, only the seeded small model", a.ModelPath)
	case a.TokenizerPath != "":
		return fmt.Errorf("tokenizer_path is %q, expected none: reading a tokenizer's files is not built, only the vocabulary of bytes", a.TokenizerPath)
	case a.DType != "auto" && a.DType != "float32":
		return fmt.Errorf("dtype is %q, expected auto or float32: others are not built", a.DType)
	case a.Device == "cuda":
		return fmt.Errorf("device is cuda, expected %s or %s: cuda is not built", CPU, Sim)
	case a.Device != CPU && a.Device != Sim:
		return fmt.Errorf("device is %q, expected %s or %s", a.Device, CPU, Sim)
	}
	return nil
}

// vocabulary is a tokenizer.Bytes that knows its size.
type vocabulary struct {
	*tokenizer.Bytes
	size int
}

// VocabSize is the largest id and one.
func (v vocabulary) VocabSize() int { return v.size }

// NewTokenizer makes the tokenizer.
func NewTokenizer(a args.Args) (Tokenizer, error) {
	if err := check(a); err != nil {
		return nil, err
	}
	tokens := sim.Vocabulary()
	if a.Device == CPU {
		tokens = smallVocabulary()
	}
	b, err := tokenizer.NewBytes(tokens)
	if err != nil {
		return nil, err
	}
	return vocabulary{b, len(tokens)}, nil // ids are 0 and up, without gaps
}

// smallVocabulary is the small model's: the bytes, and the special tokens behind.
func smallVocabulary() []tokenizer.Token {
	var tokens []tokenizer.Token
	for id := range int64(256) {
		tokens = append(tokens, tokenizer.Token{ID: id, Bytes: []byte{byte(id)}})
	}
	for i, name := range qwen3.Specials {
		tokens = append(tokens, tokenizer.Token{ID: 256 + int64(i), Bytes: []byte(name), Special: true})
	}
	return tokens
}

// NewModel makes the model with room for slots tokens. ctx ends a simulated step's sleep.
func NewModel(ctx context.Context, a args.Args, slots int) (model.Model, error) {
	info, err := Describe(a)
	if err != nil {
		return nil, err
	}
	if a.Device == Sim {
		return newSim(ctx, a, info.ContextLength)
	}
	c := qwen3.Small()
	c.ContextLength = info.ContextLength
	weights, err := qwen3.Seeded(c, a.RandomSeed)
	if err != nil {
		return nil, err
	}
	s, err := sampling.New(model.Limits{VocabSize: c.VocabSize, ContextLength: c.ContextLength, EOS: c.EOS}, a.RandomSeed)
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

func (s sampler) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	return s.s.Input(logits, id, want)
}
