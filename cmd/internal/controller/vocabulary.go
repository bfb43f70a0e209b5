package controller

import (
	"path/filepath"
	"reflect"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// vocabularyFile is the vocabulary that workers were last told of. A real one is
// larger than a line may be, and the same in every trial.
type vocabularyFile struct {
	content protocol.Vocabulary
	file    protocol.File
}

func (v *vocabularyFile) write(dir string, content protocol.Vocabulary) (protocol.File, error) {
	if v.file.Path != "" && reflect.DeepEqual(content, v.content) {
		return v.file, nil
	}
	file, err := protocol.WriteFile(filepath.Join(dir, "vocabulary.json"), content)
	if err != nil {
		return file, err
	}
	v.content, v.file = content, file
	return file, nil
}
