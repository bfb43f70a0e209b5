package part

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Stage of a server's start.
type Stage int

// The stages, in their order.
const (
	Starting Stage = iota // not every part can serve
	Warming               // every part can; the server's own first request is on its way
	Serving               // clients are answered
)

// stageFiles lie in the server's folder when the stage has been reached.
var stageFiles = map[Stage]string{Warming: "all-ready", Serving: "serving"}

// Reach makes the stage known, to every part at the same moment.
func Reach(folder string, s Stage) error {
	if err := os.WriteFile(filepath.Join(folder, stageFiles[s]), nil, 0o600); err != nil {
		return fmt.Errorf("stage %q of the server: %w", stageFiles[s], err)
	}
	return nil
}

// Reached says how far the start of the server is that has the folder.
func Reached(folder string) (Stage, error) {
	for _, s := range []Stage{Serving, Warming} {
		_, err := os.Stat(filepath.Join(folder, stageFiles[s]))
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Starting, fmt.Errorf("stage %q of the server: %w", stageFiles[s], err)
		}
	}
	return Starting, nil
}
