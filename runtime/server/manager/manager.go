package manager

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// Sender is the PUSH to the router; a transport.Push is one. The Manager sees to
// it that one goroutine at a time uses it.
type Sender interface {
	Send(frame []byte) error
	Flush() error
}

// Tokenizer makes ids of a text that is a whole prompt: with the special tokens in
// front that the model's prompts have. Many goroutines use it at once.
type Tokenizer interface {
	EncodePrompt(text string) ([]int64, error)
	LeastTokens(text string) int // that text has for certain, found without encoding it
}

// Config of a Manager.
type Config struct {
	IPC       string // http_worker_ipc: the endpoint of this worker's PULL
	Sender    Sender
	Tokenizer Tokenizer
	Limits    model.Limits
	Counters  *counters.Set // made with Specs
	Log       *slog.Logger

	EnableTokenizerBatchEncode bool
	DisableBatchSend           bool
	BatchSendMaxTokens         int // 0: no limit
	BatchSendMaxReqs           int // 0: no limit

	Now           func() time.Time // nil: time.Now
	AnswerTimeout time.Duration    // how long the scheduler may take for an answer; 0: 5 s
	MaxFrame      int              // bytes of a message that the Sender takes; 0: 64 MiB
}

// Settings puts what the server's settings say of dispatch into c.
func (c Config) Settings(a args.Args) Config {
	c.EnableTokenizerBatchEncode = a.EnableTokenizerBatchEncode
	c.DisableBatchSend = a.DisableBatchSend
	c.BatchSendMaxTokens = a.BatchSendMaxTokens
	c.BatchSendMaxReqs = a.BatchSendMaxReqs
	return c
}

// complete puts the defaults in and names what cannot be.
func (c Config) complete() (Config, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.AnswerTimeout == 0 {
		c.AnswerTimeout = 5 * time.Second
	}
	if c.MaxFrame == 0 {
		c.MaxFrame = 64 << 20
	}
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"vocab_size", c.Limits.VocabSize, 1},
		{"context_length", c.Limits.ContextLength, 2},
		{"batch_send_max_tokens", c.BatchSendMaxTokens, 0},
		{"batch_send_max_reqs", c.BatchSendMaxReqs, 0},
		{"the largest message", c.MaxFrame, 1},
		{"the time for an answer", int(c.AnswerTimeout), 1},
	} {
		if f.value < f.min {
			return c, fmt.Errorf("manager: %s is %d, expected at least %d", f.name, f.value, f.min)
		}
	}
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"http_worker_ipc", c.IPC == ""}, {"Sender", c.Sender == nil}, {"Tokenizer", c.Tokenizer == nil},
		{"Counters", c.Counters == nil}, {"Log", c.Log == nil},
	} {
		if f.missing {
			return c, fmt.Errorf("manager: %s is missing", f.name)
		}
	}
	return c, nil
}

// Manager has the requests of one HTTP worker. All its methods but Receive and Run
// may be called by many goroutines; those two by one.
type Manager struct {
	config  Config
	metrics metrics

	sending sync.Mutex // around the Sender

	mu      sync.Mutex
	states  map[string]*slot // by rid, until the scheduler's last word
	answers map[string]chan request.Message
	err     error // of Fail

	failed     chan struct{} // closed by Fail
	registered chan struct{} // closed by the router's acknowledgement
	once       sync.Once     // of registered

	backlog, strays, faults limiter
	found                   []*slot  // Receive's: those of a frame's rows
	lost                    []string // likewise: rids that ended for a fault of the server's
}

var _ Service = (*Manager)(nil)

// New makes a Manager. An error names the field of c that cannot be.
func New(c Config) (*Manager, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &Manager{
		config:     c,
		metrics:    newMetrics(c.Counters),
		states:     make(map[string]*slot),
		answers:    make(map[string]chan request.Message),
		failed:     make(chan struct{}),
		registered: make(chan struct{}),
	}, nil
}

// Fail ends the service of this worker: every waiting caller gets an error at
// once, with err's text, and whatever is asked for later is refused. The first
// call counts.
func (m *Manager) Fail(err error) {
	m.mu.Lock()
	if m.err != nil {
		m.mu.Unlock()
		return
	}
	m.err = err
	states := m.states
	m.states = make(map[string]*slot)
	close(m.failed)
	m.mu.Unlock()
	finish := abort(503, "ServiceUnavailable", "the server ends: "+err.Error())
	now := m.config.Now()
	for _, s := range states {
		s.call.stop(s, finish, now)
	}
}

// Failed is closed by Fail; Err says why.
func (m *Manager) Failed() <-chan struct{} { return m.failed }

// Err is the error that Fail was called with; nil: it was not.
func (m *Manager) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// refusal is the error for a caller that came after Fail; nil: go on.
func (m *Manager) refusal() error {
	if err := m.Err(); err != nil {
		return unavailable("the server ends: " + err.Error())
	}
	return nil
}

// InFlight is the number of requests that the scheduler has not said the last
// word on, those whose clients left included.
func (m *Manager) InFlight() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.states)
}

// post sends frames, each on its own. An error ends the service, as the
// connection is of no more use.
func (m *Manager) post(frames ...[]byte) error {
	for _, f := range frames {
		if err := m.sendOne(f); err != nil {
			m.Fail(fmt.Errorf("manager: cannot send to the router: %w", err))
			return m.refusal()
		}
	}
	return nil
}

func (m *Manager) sendOne(frame []byte) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	m.metrics.sending.Busy()
	defer m.metrics.sending.Idle()
	if err := m.config.Sender.Send(frame); err != nil {
		return err
	}
	return m.config.Sender.Flush()
}

// sendAborts asks for the end of requests that have not finished.
func (m *Manager) sendAborts(rids []string, message string) {
	for _, rid := range rids {
		frame, err := request.Encode(nil, &request.AbortReq{RID: rid, HTTPWorkerIPC: m.config.IPC, AbortMessage: message})
		if err != nil {
			m.Fail(fmt.Errorf("manager: cannot encode an AbortReq for %q: %w", rid, err))
			return
		}
		if m.post(frame) != nil {
			return // post has ended the service, and every request with it
		}
	}
}

// Register makes this worker known to the router and waits for its
// acknowledgement.
func (m *Manager) Register(ctx context.Context) error {
	frame, err := request.Encode(nil, &request.TokenizerWorkerRegistrationReq{HTTPWorkerIPC: m.config.IPC, WorkerIPCName: m.config.IPC})
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := m.post(frame); err != nil {
		return err
	}
	select {
	case <-m.registered:
		return nil
	case <-m.failed:
		return m.refusal()
	case <-ctx.Done():
		return fmt.Errorf("manager: the router did not acknowledge %s: %w", m.config.IPC, ctx.Err())
	}
}
