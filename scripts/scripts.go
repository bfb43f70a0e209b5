// Package scripts carries the scripts that this module's programs run: they are
// part of the executable, so that one file is all that a user needs.
package scripts

import _ "embed" // for the script below

// SGLangController is the controller of an SGLang tree, in Python: it answers the
// arm protocol (package protocol) with the tree's own code.
//
//go:embed sglang_controller.py
var SGLangController []byte
