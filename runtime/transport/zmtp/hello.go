package zmtp

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const greetingSize = 64

// AppendHello appends what a side of this socket type ("PUSH" or "PULL") sends first: greeting and READY.
func AppendHello(dst []byte, socketType string) []byte {
	var g [greetingSize]byte
	g[0], g[8], g[9], g[10], g[11] = 0xff, 1, 0x7f, 3, 1 // libzmq also has 1 in the padding, for ZMTP 1.0
	copy(g[12:], "NULL")
	dst = append(dst, g[:]...)
	const ready = "\x05READY\x0bSocket-Type\x00\x00\x00"
	dst = append(dst, flagCommand, byte(len(ready)+1+len(socketType)))
	dst = append(dst, ready...)
	dst = append(dst, byte(len(socketType)))
	return append(dst, socketType...)
}

// checkGreeting looks at as much of a greeting as is there, so that a foreign client is known by its first byte.
func checkGreeting(b []byte) error {
	switch n := len(b); {
	case n > 0 && b[0] != 0xff:
		return fmt.Errorf("greeting starts with 0x%02x, want 0xff", b[0])
	case n > 9 && b[9] != 0x7f:
		return fmt.Errorf("greeting's signature ends with 0x%02x, want 0x7f", b[9])
	case n > 10 && b[10] != 3:
		return fmt.Errorf("greeting has major version %d, want 3", b[10])
	case n >= 32 && string(b[12:32]) != "NULL"+strings.Repeat("\x00", 16):
		return fmt.Errorf("greeting has mechanism %q, want \"NULL\"", strings.TrimRight(string(b[12:32]), "\x00"))
	case n > 32 && b[32] != 0:
		return fmt.Errorf("greeting has as-server %d, want 0 with the mechanism NULL", b[32])
	}
	return nil
}

// checkReady wants a READY command of a peer of this socket type.
func checkReady(body []byte, want string) error {
	name, data, err := command(body)
	switch {
	case err != nil:
		return err
	case name == "ERROR":
		return reason(data)
	case name != "READY":
		return fmt.Errorf("handshake has command %q, want \"READY\"", name)
	}
	got, err := socketType(data)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("peer has socket type %q, want %q", got, want)
	}
	return nil
}

// socketType finds the property in READY's data; every property must be well formed.
func socketType(data []byte) (string, error) {
	found := ""
	for rest := data; len(rest) > 0; {
		name, value, next, ok := property(rest)
		if !ok {
			return "", fmt.Errorf("READY has a malformed property at byte %d of %d", len(data)-len(rest), len(data))
		}
		if strings.EqualFold(name, "Socket-Type") {
			found = value
		}
		rest = next
	}
	if found == "" {
		return "", fmt.Errorf("READY has no property Socket-Type")
	}
	return found, nil
}

func property(b []byte) (name, value string, rest []byte, ok bool) {
	n := int(b[0])
	if n == 0 || len(b) < 1+n+4 {
		return "", "", nil, false
	}
	name, b = string(b[1:1+n]), b[1+n:]
	size := binary.BigEndian.Uint32(b)
	if b = b[4:]; uint64(size) > uint64(len(b)) {
		return "", "", nil, false
	}
	return name, string(b[:size]), b[size:], true
}
