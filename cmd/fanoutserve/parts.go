package main

import (
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// parts are what a server consists of.
var parts = map[string]part.Run{}
