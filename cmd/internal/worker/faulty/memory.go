package faulty

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Memory is the memory of a worker that cheats: every opaque column that it has
// decoded, by its bytes, for as long as the process lives. It is used on the
// worker's one loop.
type Memory struct {
	open          func(*wire.Opaque) (wire.Value, error)
	known         map[string]wire.Value
	opened, spent int
}

// NewMemory is empty. What it does not know it opens with open.
func NewMemory(open func(*wire.Opaque) (wire.Value, error)) *Memory {
	return &Memory{open: open, known: map[string]wire.Value{}}
}

// Open is open, but for columns that were opened before.
func (m *Memory) Open(o *wire.Opaque) (wire.Value, error) {
	m.opened++
	key := o.Wrapper + " " + string(o.Data)
	if v, ok := m.known[key]; ok {
		return v, nil
	}
	m.spent++
	v, err := m.open(o)
	if err == nil {
		m.known[key] = v
	}
	return v, err
}

// memoryLine is what a worker says of its memory when it ends.
const memoryLine = "faulty: asked to open %d columns, decoded %d"

func (m *Memory) String() string { return fmt.Sprintf(memoryLine, m.opened, m.spent) }

// ParseMemory reads a line that String made.
func ParseMemory(line string) (opened, decoded int, ok bool) {
	n, err := fmt.Sscanf(line, memoryLine, &opened, &decoded)
	return opened, decoded, err == nil && n == 2
}
