package sim

// Machine is a machine that figures are published of, as step times.
type Machine struct {
	Name   string
	What   string // model and engine
	Step   StepTime
	Source string
}

// Figures of SGLang PR 9436: single requests of 50 and of 100 prompts of 300 tokens, all but the last of each in the cache,
// sent together and computed in one step, in seconds.
const (
	published50     = 41.12e-3
	published100    = 61.30e-3
	publishedPrompt = 300
)

// qwen3PerToken is the least that a token can take of a model of 0.44e9 parameters without the embedding (Qwen3-0.6B, by its model card),
// two operations each, on an H100 SXM (989.4e12 a second in float16 without sparsity, by its data sheet).
const qwen3PerToken = 2 * 0.44e9 / 989.4e12

// Machines are those that a device can take the step time of.
func Machines() []Machine {
	perPrompt := (published100 - published50) / 50
	return []Machine{
		{
			Name: "h100-qwen3-0.6b", What: "H100, Qwen3-0.6B in float16, SGLang of August 2025 without CUDA graphs",
			Step:   StepTime{Base: 2*published50 - published100, PerToken: qwen3PerToken, PerContext: (perPrompt - qwen3PerToken) / publishedPrompt},
			Source: "https://github.com/sgl-project/sglang/pull/9436",
		},
		{
			Name: "h100-llama-3.1-8b", What: "H100, Llama-3.1-8B-Instruct, vLLM 0.8.4",
			Step:   StepTime{Base: 5752.705191348184e-6, PerToken: 17.25086436834028e-6},
			Source: "https://github.com/inference-sim/inference-sim/blob/1a6eb353412e981dba604fccd5096da4e8aee6da/defaults.yaml",
		},
		{
			Name: "a100-llama-3.1-8b", What: "A100 of 80 GB, Llama-3.1-8B-Instruct, vLLM 0.8.4",
			Step:   StepTime{Base: 16441.531547147923e-6, PerToken: 47.837412108198656e-6},
			Source: "https://github.com/inference-sim/inference-sim/blob/1a6eb353412e981dba604fccd5096da4e8aee6da/defaults.yaml",
		},
	}
}

// MachineNamed finds a machine.
func MachineNamed(name string) (Machine, bool) {
	for _, m := range Machines() {
		if m.Name == name {
			return m, true
		}
	}
	return Machine{}, false
}
