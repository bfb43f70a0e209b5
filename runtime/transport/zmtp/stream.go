package zmtp

import "errors"

// Kind says what Next found.
type Kind int

const (
	// None: no whole unit is buffered; more bytes are needed.
	None Kind = iota
	// Message: the body is one message.
	Message
	// Ping: the body is the context that AppendPong repeats.
	Ping
)

type state int

const (
	inGreeting state = iota
	inReady
	inFrames
)

// helloSize is the read buffer of a connection that has not shaken hands; libzmq's hello fits.
const helloSize = 512

// Stream is the receiving half of one connection. The loop is: read into Space, Filled, then Next until None.
type Stream struct {
	peer     string // the socket type that the other side must have
	maxFrame int
	readSize int
	state    state
	buf      []byte // unread bytes are buf[r:w]
	r, w     int
	need     int  // bytes of the unit at r, once its header is known
	dry      bool // Next has said None and nothing was filled in since
	err      error
}

// NewStream waits for a hello of a peer of this socket type, then for frames of at most maxFrame bytes.
// readSize is the buffer's size after the handshake.
func NewStream(peer string, maxFrame, readSize int) *Stream {
	return &Stream{peer: peer, maxFrame: maxFrame, readSize: readSize, buf: make([]byte, helloSize), dry: true}
}

// Shaken says that the handshake is complete.
func (s *Stream) Shaken() bool { return s.state == inFrames }

// Buffered says that Next may have something without more bytes.
func (s *Stream) Buffered() bool { return !s.dry && s.w > s.r }

// Partial is the number of bytes that are there of an unfinished frame (or hello): at the end of
// the stream anything but 0 means that it was torn.
func (s *Stream) Partial() int { return s.w - s.r }

// Touched says that the peer has sent at least one byte.
func (s *Stream) Touched() bool { return s.state != inGreeting || s.w > 0 }

// Space is where to read into; it is never empty. It ends the life of every body that Next gave.
func (s *Stream) Space() []byte {
	if s.r == s.w {
		s.r, s.w = 0, 0
	}
	switch {
	case s.state == inFrames && len(s.buf) < s.readSize:
		s.move(make([]byte, s.readSize))
	case s.r > 0 && len(s.buf)-s.w < len(s.buf)/4:
		s.move(s.buf)
	case s.w == len(s.buf):
		s.move(make([]byte, min(2*len(s.buf), max(s.need, len(s.buf))+max(s.readSize, helloSize))))
	}
	return s.buf[s.w:]
}

func (s *Stream) move(to []byte) {
	s.w = copy(to, s.buf[s.r:s.w])
	s.r, s.buf = 0, to
}

// Filled says that n bytes were read into Space.
func (s *Stream) Filled(n int) {
	s.w += n
	if n > 0 {
		s.dry = false
	}
}

// Next takes the next message or PING out of the buffer. The body is a slice of it, valid until Space.
func (s *Stream) Next() (Kind, []byte, error) {
	for s.err == nil {
		if s.state == inGreeting {
			if !s.greeting() {
				break
			}
			continue
		}
		b := s.buf[s.r:s.w]
		h, ok, err := parseHeader(b, s.maxFrame)
		if err != nil {
			return s.fail(err)
		}
		if s.state == inReady && len(b) > 0 && b[0]&flagCommand == 0 {
			return s.fail(errors.New("message before the handshake's READY"))
		}
		s.need = h.size
		if !ok || len(b) < h.size {
			s.dry = true
			return None, nil, nil
		}
		s.r += h.size
		body := b[h.at:h.size:h.size]
		if s.state == inFrames && !h.command {
			return Message, body, nil
		}
		kind, context, err := s.control(body)
		if err != nil {
			return s.fail(err)
		}
		if kind != None {
			return kind, context, nil
		}
	}
	s.dry = true
	return None, nil, s.err
}

func (s *Stream) fail(err error) (Kind, []byte, error) {
	s.err = err
	return None, nil, err
}

// greeting passes over a whole one.
func (s *Stream) greeting() bool {
	b := s.buf[s.r:min(s.w, s.r+greetingSize)]
	if s.err = checkGreeting(b); s.err != nil || len(b) < greetingSize {
		return false
	}
	s.r += greetingSize
	s.state = inReady
	return true
}

// control deals with everything that is not a message after the handshake.
func (s *Stream) control(body []byte) (Kind, []byte, error) {
	if s.state == inReady {
		if err := checkReady(body, s.peer); err != nil {
			return None, nil, err
		}
		s.state = inFrames
		return None, nil, nil
	}
	name, data, err := command(body)
	switch {
	case err != nil:
		return None, nil, err
	case name == "PING":
		context, err := pingContext(data)
		return Ping, context, err
	case name == "ERROR":
		return None, nil, reason(data)
	}
	return None, nil, nil
}
