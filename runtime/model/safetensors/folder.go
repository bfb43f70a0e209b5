package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// The files of a folder.
const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// maxIndex is far above the index of any model: 100 bytes a tensor.
const maxIndex = 64 << 20

// Folder has the tensors of a folder, none twice.
type Folder struct {
	Tensors  []tensor.Tensor
	mappings []*tensor.Mapping
}

// Open maps a folder's files.
func Open(dir string) (*Folder, error) {
	f := &Folder{}
	if err := f.open(dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close takes the tensors' bytes away.
func (f *Folder) Close() error {
	var err error
	for _, m := range f.mappings {
		err = errors.Join(err, m.Close())
	}
	f.Tensors, f.mappings = nil, nil
	return err
}

func (f *Folder) open(dir string) error {
	tensors, err := f.file(filepath.Join(dir, singleFile))
	if !errors.Is(err, fs.ErrNotExist) {
		f.Tensors = tensors
		return err
	}
	path := filepath.Join(dir, indexFile)
	raw, err := tensor.ReadFile(path, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no weights: expected %s or %s", dir, singleFile, indexFile)
	}
	if err != nil {
		return err
	}
	files, err := parseIndex(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tensors, err := f.file(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s names it: %w", path, err)
		}
		if err := compare(tensors, files[name]); err != nil {
			return fmt.Errorf("%s and %s: %w", path, name, err)
		}
		f.Tensors = append(f.Tensors, tensors...)
	}
	return nil
}

func (f *Folder) file(path string) ([]tensor.Tensor, error) {
	m, err := tensor.Map(path)
	if err != nil {
		return nil, err
	}
	f.mappings = append(f.mappings, m)
	return Parse(path, m.Bytes)
}

// parseIndex has the names of the tensors that the index puts into each file.
func parseIndex(raw []byte) (map[string]map[string]bool, error) {
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, err
	}
	if err := jsoncheck.DoubledKey(raw); err != nil {
		return nil, err
	}
	if len(index.WeightMap) == 0 {
		return nil, errors.New("no weight_map, expected one that names each tensor's file")
	}
	files := map[string]map[string]bool{}
	for name, file := range index.WeightMap {
		if file != filepath.Base(file) || !filepath.IsLocal(file) || file == "." {
			return nil, fmt.Errorf("tensor %.100q lies in %.100q, expected a file of the folder itself", name, file)
		}
		if files[file] == nil {
			files[file] = map[string]bool{}
		}
		files[file][name] = true
	}
	return files, nil
}

// compare names a tensor that only one of the two has.
func compare(tensors []tensor.Tensor, named map[string]bool) error {
	there := map[string]bool{}
	for _, t := range tensors {
		if there[t.Name] = true; !named[t.Name] {
			return fmt.Errorf("tensor %.100q is in the file, but the index does not put it there", t.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !there[name] {
			return fmt.Errorf("tensor %.100q is not in the file, but the index puts it there", name)
		}
	}
	return nil
}
