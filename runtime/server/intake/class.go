package intake

import "github.com/fanoutbench/fanoutbench/runtime/wire"

// Is says whether a message is of that class, from its first bytes. A message
// that is none of any class is not.
func Is(frame []byte, class string) bool {
	name, _, _, err := wire.Head(frame)
	return err == nil && string(name) == class
}
