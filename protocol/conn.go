package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line in bytes; bulk data goes into files.
const MaxLine = 4 << 20

// Conn writes and reads lines. One goroutine may write while another reads.
type Conn struct {
	in  *bufio.Reader
	out io.Writer
}

// NewConn reads lines from in and writes lines to out.
func NewConn(in io.Reader, out io.Writer) *Conn {
	return &Conn{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Send writes v as one line.
func (c *Conn) Send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("protocol: encode %T: %w", v, err)
	}
	if len(b) >= MaxLine {
		return fmt.Errorf("protocol: %T takes %d bytes, want less than %d", v, len(b), MaxLine)
	}
	if _, err := c.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("protocol: send %T: %w", v, err)
	}
	return nil
}

// Line is one line read: its type, and the whole object.
type Line struct {
	Type string
	Raw  json.RawMessage
}

// Receive reads the next line. io.EOF is an end between lines; a last line
// without a line end is an error, since its writer died while writing it.
func (c *Conn) Receive() (Line, error) {
	raw, err := c.readLine()
	if err != nil {
		return Line{}, err
	}
	var head struct {
		Type *string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Line{}, fmt.Errorf("protocol: line %s is not a JSON object: %w", quote(raw), err)
	}
	if head.Type == nil {
		return Line{}, fmt.Errorf("protocol: line %s has no \"type\"", quote(raw))
	}
	return Line{Type: *head.Type, Raw: raw}, nil
}

func (c *Conn) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, fmt.Errorf("protocol: a line of more than %d bytes", MaxLine)
		case err == nil:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("protocol: input ended inside the line %s: %w", quote(line), io.ErrUnexpectedEOF)
		default:
			return nil, fmt.Errorf("protocol: read: %w", err)
		}
	}
}

// Decode reads the line into v, refusing keys that v does not have.
func (l Line) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(l.Raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("protocol: %s line: %w", l.Type, err)
	}
	return nil
}

// Expect decodes the line into v if its type is want. A line of type error
// becomes a *PeerError.
func (l Line) Expect(want string, v any) error {
	switch l.Type {
	case want:
		return l.Decode(v)
	case TypeError:
		var e Error
		if err := l.Decode(&e); err != nil {
			return err
		}
		return &PeerError{Message: e.Message}
	}
	return fmt.Errorf("protocol: got a line of type %q, want %q", l.Type, want)
}

// PeerError is an error that the other side reported.
type PeerError struct{ Message string }

func (e *PeerError) Error() string { return e.Message }

func quote(b []byte) string {
	if len(b) > 80 {
		return fmt.Sprintf("%q...", b[:80])
	}
	return fmt.Sprintf("%q", b)
}
