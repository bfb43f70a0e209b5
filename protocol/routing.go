package protocol

import (
	"fmt"
	"hash/crc32"
	"strconv"
)

// Options that say how an arm's detokenizers share the rows, where an arm has
// more than one.
const (
	OptionDetokenizers = "detokenizers"
	OptionRouter       = "router"
)

// Rules by which a row's detokenizer is chosen.
const (
	RouterNone = "none" // there is one detokenizer, and no router
	RouterRID  = "rid"  // crc32 of the rid, modulo their number
	RouterIPC  = "ipc"  // crc32 of the http_worker_ipc, as SGLang does
)

// MaxDetokenizers is the most detokenizers of an arm.
const MaxDetokenizers = 64

// Routing is how an arm's detokenizers share the rows. The zero value is an arm
// with one.
type Routing struct {
	Detokenizers int
	Router       string
}

// ParseRouting reads the options of an arm; the defaults are one detokenizer,
// and for several a router by rid.
func ParseRouting(options map[string]string) (Routing, error) {
	r := Routing{Detokenizers: 1, Router: RouterNone}
	if text, ok := options[OptionDetokenizers]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxDetokenizers {
			return r, fmt.Errorf("option %s is %q, want 1 to %d", OptionDetokenizers, text, MaxDetokenizers)
		}
		r.Detokenizers = n
	}
	rule, ok := options[OptionRouter]
	switch {
	case !ok:
		rule = RouterRID
	case rule == RouterNone && r.Detokenizers > 1:
		return r, fmt.Errorf("option %s is %q with %d detokenizers, want %q or %q", OptionRouter, rule, r.Detokenizers, RouterRID, RouterIPC)
	case rule != RouterRID && rule != RouterIPC && rule != RouterNone:
		return r, fmt.Errorf("option %s is %q, want %q or %q", OptionRouter, rule, RouterRID, RouterIPC)
	}
	if r.Detokenizers > 1 {
		r.Router = rule
	}
	return r, nil
}

// Target is the index of the detokenizer that handles a row.
func (r Routing) Target(rid, ipc string) int {
	if r.Detokenizers <= 1 {
		return 0
	}
	key := rid
	if r.Router == RouterIPC {
		key = ipc
	}
	return int(crc32.ChecksumIEEE([]byte(key)) % uint32(r.Detokenizers))
}

// PathsPerConsumer is how many detokenizers can send rows to one consumer: all
// of them by rid, the one that its name decides by ipc.
func (r Routing) PathsPerConsumer() int {
	if r.Router == RouterIPC {
		return 1
	}
	return max(1, r.Detokenizers)
}
