package controller

import (
	"fmt"
	"hash/crc32"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// loop is the loop that is measured, by what its consumers get.
type loop struct {
	class string
	read  func(frame []byte) (wire.Message, error)
}

func readStr(frame []byte) (wire.Message, error)     { return wire.DecodeStr(frame) }
func readTokenID(frame []byte) (wire.Message, error) { return wire.DecodeTokenID(frame) }

// opaque are the opaque columns of a message that a consumer got.
func opaque(msg wire.Message) map[string]*wire.Opaque {
	switch m := msg.(type) {
	case *wire.BatchStrOutput:
		return map[string]*wire.Opaque{fieldInfo: m.CustomizedInfo, fieldTimes: m.TimeStats}
	case *wire.BatchTokenIDOutput:
		return map[string]*wire.Opaque{fieldInfo: m.CustomizedInfo, fieldTimes: m.TimeStats}
	}
	return nil
}

// setLoop names the consumers, and sets what they get.
func (c *controller) setLoop() error {
	c.ends = make([]string, c.hello.HTTPWorkers)
	switch c.hello.Loop {
	case "", protocol.LoopFanout:
		c.loop = loop{(&wire.BatchStrOutput{}).Class(), readStr}
		for i := range c.ends {
			c.ends[i] = c.endpoint(fmt.Sprintf("c%d", i))
		}
		return nil
	case protocol.LoopRouter:
	default:
		return fmt.Errorf("controller: loop %q, want %q or %q", c.hello.Loop, protocol.LoopFanout, protocol.LoopRouter)
	}
	if n := c.routing.Detokenizers; n > 1 {
		return fmt.Errorf("controller: option %s is %d in the router's loop, whose detokenizers are the consumers", optionDetokenizers, n)
	}
	if m, ok := c.hello.Options[optionMethod]; ok {
		return fmt.Errorf("controller: option %s is %q in the router's loop, which has no detokenizer", optionMethod, m)
	}
	if d, ok := c.hello.Options[protocol.OptionDelay]; ok {
		return fmt.Errorf("controller: option %s is %q in the router's loop, whose worker has no delay", protocol.OptionDelay, d)
	}
	delete(c.options, optionMethod)
	c.options[optionRouter] = protocol.RouterRID
	if rule, ok := c.hello.Options[optionRouter]; ok {
		if rule == protocol.RouterNone {
			return fmt.Errorf("controller: option %s is %q in the router's loop, want %q or %q", optionRouter, rule, protocol.RouterRID, protocol.RouterIPC)
		}
		c.options[optionRouter] = rule
	}
	c.loop = loop{(&wire.BatchTokenIDOutput{}).Class(), readTokenID}
	for i := range c.ends {
		c.ends[i] = c.routedEndpoint(i)
	}
	return nil
}

// routedEndpoint is a name of consumer i that the rule by ipc leads to i.
func (c *controller) routedEndpoint(i int) string {
	n := uint32(len(c.ends))
	for try := 0; ; try++ {
		e := c.endpoint(fmt.Sprintf("c%d-%x", i, try))
		if crc32.ChecksumIEEE([]byte(e))%n == uint32(i) {
			return e
		}
	}
}
