package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/model/gguf"
	"github.com/fanoutbench/fanoutbench/runtime/model/safetensors"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Checkpoint is a model as it lies in its files. The weights' bytes are mapped: they
// are there until Close.
type Checkpoint struct {
	Config
	Weights Weights
	QKPairs bool // the rows of Q and K are in the order of GGUF's llama: Halves turns them
	files   io.Closer
}

// Open reads a folder, or a file whose name ends in .gguf.
func Open(path string) (*Checkpoint, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openFolder(path)
	case strings.HasSuffix(path, ".gguf"):
		return openGGUF(path)
	}
	return nil, fmt.Errorf("%s is neither a folder nor a .gguf file", path)
}

// Close takes the weights' bytes away.
func (c *Checkpoint) Close() error {
	c.Weights = Weights{}
	if c.files == nil { // it was made in memory
		return nil
	}
	return c.files.Close()
}

// maxConfig is far above any config.json.
const maxConfig = 1 << 20

func openFolder(dir string) (*Checkpoint, error) {
	path := filepath.Join(dir, "config.json")
	raw, err := tensor.ReadFile(path, maxConfig)
	if err != nil {
		return nil, err
	}
	generation, err := tensor.ReadFile(filepath.Join(dir, "generation_config.json"), maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	config, err := parseConfig(raw, generation)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files, err := safetensors.Open(dir)
	if err != nil {
		return nil, err
	}
	c, find := &Checkpoint{Config: config, files: files}, newFinder(files.Tensors)
	return c.fill(dir, find, &folderNames, func(name string) bool { return strings.HasSuffix(name, ".rotary_emb.inv_freq") })
}

// fill takes the weights; where that fails it closes the files.
func (c *Checkpoint) fill(path string, find *finder, names *naming, passedOver func(string) bool) (*Checkpoint, error) {
	c.Weights = find.weights(&c.Config, names)
	err := find.err
	if err == nil {
		err = find.rest(passedOver)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	return c, nil
}

func openGGUF(path string) (*Checkpoint, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	return fromGGUF(path, file)
}

// fromGGUF takes a file over: where it fails it closes it.
func fromGGUF(path string, file *gguf.File) (*Checkpoint, error) {
	config, err := ggufConfig(file)
	find := newFinder(file.Tensors)
	if err == nil {
		config.TieWordEmbeddings = !find.has(ggufNames.head)
		err = ropeFreqs(&config, find)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	c := &Checkpoint{Config: config, QKPairs: config.Architecture == llama, files: file}
	return c.fill(path, find, &ggufNames, func(string) bool { return false })
}

// ropeFreqs scales the rotation by the divisors that a file may have.
func ropeFreqs(c *Config, find *finder) error {
	const name = "rope_freqs.weight"
	if !find.has(name) {
		return nil
	}
	t := find.take(name, c.HeadDim/2)
	if find.err != nil {
		return find.err
	}
	c.RopeFrequencies = frequencies(c.RopeTheta, c.HeadDim)
	for j, divisor := range t.Float32() {
		if !(divisor > 0) || math.IsInf(float64(divisor), 1) {
			return fmt.Errorf("tensor %s has %v at %d, expected a number over 0", name, divisor, j)
		}
		c.RopeFrequencies[j] /= divisor
	}
	return nil
}

// Halves gives the rows of Q or K, of so many numbers, in the order for a rotation of
// halves: of each head row 2j becomes row j, and row 2j+1 the one half a head behind.
func (c *Config) Halves(rows []float32) []float32 {
	out, n := make([]float32, len(rows)), c.HiddenSize
	for start := 0; start < len(rows); start += c.HeadDim * n {
		from, to := rows[start:][:c.HeadDim*n], out[start:][:c.HeadDim*n]
		for j := range c.HeadDim / 2 {
			copy(to[j*n:][:n], from[2*j*n:])
			copy(to[(c.HeadDim/2+j)*n:][:n], from[(2*j+1)*n:])
		}
	}
	return out
}
