package qwen3

import (
	"errors"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
)

// Load reads a Hugging Face folder or a GGUF file. The files are not needed any more
// when it returns.
func Load(path string) (c Config, w *Weights, err error) {
	from, err := checkpoint.Open(path)
	if err != nil {
		return Config{}, nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	c = FromCheckpoint(&from.Config)
	if err := c.Check(); err != nil {
		return Config{}, nil, err
	}
	return c, loadedWeights(from), nil
}

// FromCheckpoint is the config of a model as its files have it.
func FromCheckpoint(c *checkpoint.Config) Config {
	return Config{
		VocabSize: c.VocabSize, Tokens: c.Tokens, HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers,
		Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, QKNorm: c.QKNorm, RMSNormEps: c.RMSNormEps,
		RopeTheta: c.RopeTheta, RopeFrequencies: c.RopeFrequencies, TieWordEmbeddings: c.TieWordEmbeddings,
		ContextLength: c.ContextLength, EOS: c.EOS,
	}
}

func loadedWeights(from *checkpoint.Checkpoint) *Weights {
	w := &Weights{Embed: from.Weights.Embed.Float32(), Norm: from.Weights.Norm.Float32()}
	if !from.TieWordEmbeddings {
		w.Head = from.Weights.Head.Float32()
	}
	halves := func(rows []float32) []float32 {
		if from.QKPairs {
			return from.Halves(rows)
		}
		return rows
	}
	for _, l := range from.Weights.Layers {
		loaded := LayerWeights{
			InputNorm: l.InputNorm.Float32(),
			Q:         halves(l.Q.Float32()), K: halves(l.K.Float32()), V: l.V.Float32(), O: l.O.Float32(),
			PostAttentionNorm: l.PostAttentionNorm.Float32(),
			Gate:              l.Gate.Float32(), Up: l.Up.Float32(), Down: l.Down.Float32(),
		}
		if from.QKNorm {
			loaded.QNorm, loaded.KNorm = l.QNorm.Float32(), l.KNorm.Float32()
		}
		w.Layers = append(w.Layers, loaded)
	}
	return w
}
