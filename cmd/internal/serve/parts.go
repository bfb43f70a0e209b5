package serve

import (
	"github.com/fanoutbench/fanoutbench/runtime/server/detok"
	"github.com/fanoutbench/fanoutbench/runtime/server/engine"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/relay"
	"github.com/fanoutbench/fanoutbench/runtime/server/worker"
)

// parts are what a server consists of, by kind.
var parts = map[string]part.Run{
	part.Worker:            worker.Run,
	part.Router:            relay.Run,
	part.Scheduler:         engine.Run,
	part.DetokenizerRouter: detok.Run,
	part.Detokenizer:       detok.Run,
}
