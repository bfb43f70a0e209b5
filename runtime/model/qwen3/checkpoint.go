package qwen3

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	tensors "github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Checkpoint is the model as files would have it, all numbers F32, in memory: for packages that
// make models of checkpoints.
func (w *Weights) Checkpoint(c Config) (*checkpoint.Checkpoint, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := w.check(c); err != nil {
		return nil, err
	}
	out := &checkpoint.Checkpoint{Config: checkpoint.Config{
		Architecture: "qwen3", VocabSize: c.VocabSize, Tokens: c.Tokens, HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize,
		Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, QKNorm: c.QKNorm, RMSNormEps: c.RMSNormEps,
		RopeTheta: c.RopeTheta, RopeFrequencies: c.RopeFrequencies, TieWordEmbeddings: c.TieWordEmbeddings, ContextLength: c.ContextLength, EOS: c.EOS,
	}}
	named := map[*[]float32]tensors.Tensor{}
	for _, t := range w.tensors(c) {
		shape := []uint64{uint64(t.rows), uint64(t.cols)}
		if t.rows == 1 { // of a norm
			shape = shape[1:]
		}
		made, err := tensors.New(t.name, tensors.F32, shape, littleEndian(*t.data))
		if err != nil {
			return nil, fmt.Errorf("qwen3: %w", err)
		}
		named[t.data] = made
	}
	out.Weights.Embed, out.Weights.Norm, out.Weights.Head = named[&w.Embed], named[&w.Norm], named[&w.Head]
	if c.TieWordEmbeddings {
		out.Weights.Head = out.Weights.Embed
	}
	for i := range w.Layers {
		l := &w.Layers[i]
		out.Weights.Layers = append(out.Weights.Layers, checkpoint.LayerWeights{
			InputNorm: named[&l.InputNorm], Q: named[&l.Q], K: named[&l.K], V: named[&l.V], QNorm: named[&l.QNorm], KNorm: named[&l.KNorm], O: named[&l.O],
			PostAttentionNorm: named[&l.PostAttentionNorm], Gate: named[&l.Gate], Up: named[&l.Up], Down: named[&l.Down],
		})
	}
	return out, nil
}

func littleEndian(values []float32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}
