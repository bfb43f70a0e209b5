package supervisor

import (
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// Types of the lines between supervisor and child.
const (
	typeJob     = "job"
	typeReady   = "ready"
	typeSignal  = "signal"
	typeDrain   = "drain"
	typeDrained = "drained"
	typeEnd     = "end"
)

// job is the first line a child reads.
type job struct {
	Type     string    `json:"type"`
	ID       part.ID   `json:"id"`
	Args     args.Args `json:"args"`
	APIKey   string    `json:"api_key"` // which Args keeps to itself
	Folder   string    `json:"folder"`
	Listener bool      `json:"listener"` // descriptor 3 is one
}

// word is a line that is nothing but its type.
type word struct {
	Type string `json:"type"`
}

// signalLine tells of a signal that the child got.
type signalLine struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// endLine ends the part's context; with a reason the server has failed.
type endLine struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// cause is what the part's context ends with.
func (e endLine) cause() error {
	if e.Reason == "" {
		return part.ErrEnd
	}
	return &part.Failure{Reason: e.Reason}
}
