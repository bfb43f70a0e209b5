package transport_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// The conformance suite: clauses that hold for every pair of engines, with either side binding, and
// clauses that hold for one engine against a peer made by hand. An engine that cannot hold a clause is
// named in the package documentation, and a test shows what it does instead: it fails on the day on
// which the engine can.

// pair is who sends with what to whom, and who binds.
type pair struct {
	push, pull string
	pushBinds  bool
}

func (p pair) String() string {
	side := "pull-binds"
	if p.pushBinds {
		side = "push-binds"
	}
	return p.push + "-" + p.pull + "-" + side
}

// foreign says that a side is no engine of ours, but pyzmq in a process.
func (p pair) foreign() bool { return p.push == pyzmq || p.pull == pyzmq }

const pyzmq = "pyzmq"

// pairsOf is every pair of the engines with at least one that is ours.
func pairsOf(pushes, pulls []string) (all []pair) {
	for _, push := range pushes {
		for _, pull := range pulls {
			if push != pyzmq || pull != pyzmq {
				all = append(all, pair{push, pull, false}, pair{push, pull, true})
			}
		}
	}
	return all
}

// clause is one promise. Of not, the key is an engine that does not keep it.
type clause struct {
	name string
	pair func(*testing.T, pair)   // for pairs,
	one  func(*testing.T, string) // or for one engine
	wide bool                     // also with pyzmq on the other side,
	ours bool                     // but only as the Pull: it is the Push that promises
	many bool                     // only where the Pull binds
	not  map[string]func(*testing.T, string)
}

var clauses = []clause{
	{name: "order, nothing lost, nothing twice", pair: inOrder, wide: true},
	{name: "frames from 0 B to 64 MiB", pair: allSizes, wide: true},
	{name: "a stalled consumer: memory bounded, the sender told at its deadline", pair: stalled, wide: true, ours: true},
	{name: "a killed consumer: the sender names what may be lost", pair: killed, wide: true, ours: true},
	{name: "the end acknowledged before any close", pair: acknowledged, wide: true, ours: true},
	{name: "opens and closes without a leak", pair: noLeak},
	{name: "turns among several pushers", pair: fair, many: true},
	{name: "a live socket is refused", pair: live},
	{name: "a stale socket file is taken over", one: staleTaken},
	{name: "one Pull for a bound Push", one: onePull},
	{name: "a Push that has left ends a connected Pull", one: endOfPush},
	{name: "a message that comes with the handshake", one: earlyMessage},
	{name: "a poller over several Pulls", one: pollSeveral},
	{name: "a cancelled Recv loses nothing", one: cancelledRecv},
	{name: "opening ends with its context", one: cancelledOpening},
	{name: "opening ends in time", one: lateOpening},
	{name: "a silent client is dropped and told of", one: silentTold},
	{name: "a silent client keeps nobody waiting", one: silentWaits, not: notBy("zmq4", silentBlocks)},
	{name: "garbage as a greeting is dropped and told of", one: garbage},
	{name: "garbage at a bound Push", one: garbageAtPush},
	{name: "a torn frame is told of", one: torn, not: notBy("zmq4", tornUntold)},
	{name: "a multipart message drops its peer", one: multipart, not: notBy("zmq4", multipartStays)},
	{name: "a malformed READY drops its peer", one: malformedReady, not: notBy("zmq4", malformedReadyKills)},
	{name: "a frame above MaxFrame drops its peer", one: oversize, not: notBy("zmq4", oversizeKills)},
	{name: "a Pull answers PING", one: pullAnswers, not: notBy("zmq4", pullAnswersNot)},
	{name: "a Push answers PING", one: pushAnswers, not: notBy("zmq4", pushAnswersNot)},
	{name: "ErrEmpty after a Flush is true", one: emptyTrue, not: notBy("zmq4", emptyFalse)},
	{name: "Flush tells that the Pull has gone", one: goneToldByFlush, not: notBy("zmq4", goneToldBySend)},
}

func notBy(engine string, shown func(*testing.T, string)) map[string]func(*testing.T, string) {
	return map[string]func(*testing.T, string){engine: shown}
}

func TestConformance(t *testing.T) {
	conform(t, pairsOf(transport.Engines(), transport.Engines()))
	for _, c := range clauses {
		if c.one == nil {
			continue
		}
		for _, engine := range transport.Engines() {
			t.Run(c.name+"/"+engine, func(t *testing.T) {
				if shown := c.not[engine]; shown != nil {
					shown(t, engine)
					return
				}
				c.one(t, engine)
			})
		}
	}
}

func conform(t *testing.T, pairs []pair) {
	for _, c := range clauses {
		for _, p := range pairs {
			if c.holdsFor(p) {
				t.Run(c.name+"/"+p.String(), func(t *testing.T) { c.pair(t, p) })
			}
		}
	}
}

func (c clause) holdsFor(p pair) bool {
	return c.pair != nil && (c.wide || !p.foreign()) && !(c.ours && p.push == pyzmq) && !(c.many && p.pushBinds)
}

// The table in doc.go has the exceptions and nothing else.
func TestExceptionsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	must(t, err)
	var documented, shown []string
	for _, row := range regexp.MustCompile(`(?m)^//\t(\S.*?) +\| (\w+) +\| \S`).FindAllStringSubmatch(string(text), -1) {
		if row[2] != "engine" {
			documented = append(documented, row[1]+", "+row[2])
		}
	}
	for _, c := range clauses {
		for engine := range c.not {
			shown = append(shown, c.name+", "+engine)
		}
	}
	slices.Sort(documented)
	slices.Sort(shown)
	if !slices.Equal(documented, shown) {
		t.Fatalf("doc.go has\n%s\nthe tests show\n%s", strings.Join(documented, "\n"), strings.Join(shown, "\n"))
	}
}

// opener opens sockets of one engine, or of pyzmq.
type opener struct {
	connect, bindPush func(t testing.TB, endpoint string, opt transport.Options) (transport.Push, error)
	bind, connectPull func(t testing.TB, endpoint string, opt transport.Options) (transport.Pull, error)
}

var openers = map[string]opener{"zmtp": openerOf("zmtp"), "zmq4": openerOf("zmq4")}

func openerOf(engine string) opener {
	return opener{
		connect: func(_ testing.TB, e string, opt transport.Options) (transport.Push, error) {
			return transport.Connect(background, engine, e, opt)
		},
		bindPush: func(_ testing.TB, e string, opt transport.Options) (transport.Push, error) {
			return transport.BindPush(background, engine, e, opt)
		},
		bind: func(_ testing.TB, e string, opt transport.Options) (transport.Pull, error) {
			return transport.Bind(engine, e, opt)
		},
		connectPull: func(_ testing.TB, e string, opt transport.Options) (transport.Pull, error) {
			return transport.ConnectPull(background, engine, e, opt)
		},
	}
}

// open gives both ends of a connection.
func (p pair) open(t testing.TB, opt transport.Options) (transport.Push, transport.Pull) {
	t.Helper()
	push, pull := p.openAt(t, endpoint(t), opt)
	t.Cleanup(func() { _, _ = push.Close(), pull.Close() })
	return push, pull
}

func (p pair) openAt(t testing.TB, e string, opt transport.Options) (transport.Push, transport.Pull) {
	t.Helper()
	if p.pushBinds {
		var push transport.Push
		bound := make(chan error, 1)
		go func() {
			var err error
			push, err = openers[p.push].bindPush(t, e, opt)
			bound <- err
		}()
		pull, err := openers[p.pull].connectPull(t, e, transport.Options{})
		must(t, errors.Join(err, <-bound))
		return push, pull
	}
	pull, err := openers[p.pull].bind(t, e, transport.Options{})
	must(t, err)
	return p.join(t, pull, opt), pull
}

// join connects another push, while the pull is driven.
func (p pair) join(t testing.TB, pull transport.Pull, opt transport.Options) transport.Push {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	var push transport.Push
	var err error
	go func() {
		defer cancel()
		push, err = openers[p.push].connect(t, pull.Endpoint(), opt)
	}()
	if p.pull == "zmtp" {
		if msg, rerr := pull.Recv(ctx); !errors.Is(rerr, context.Canceled) {
			t.Fatalf("while a peer connects Recv gives %q, %v", msg, rerr)
		}
	}
	<-ctx.Done()
	must(t, err)
	return push
}

// rest is what still comes after the end, where nothing should: asked until a quiet period.
func rest(t testing.TB, pull transport.Pull) (messages [][]byte) {
	t.Helper()
	if p, ok := pull.(interface{ rest(testing.TB) [][]byte }); ok {
		return p.rest(t)
	}
	poller, err := transport.NewPoller(pull)
	must(t, err)
	defer poller.Close()
	for {
		ready, err := poller.Wait(background, 5*time.Millisecond)
		must(t, err)
		if len(ready) == 0 {
			return messages
		}
		msg, err := pull.TryRecv()
		var dropped *transport.PeerError
		switch {
		case err == nil:
			messages = append(messages, slices.Clone(msg))
		case errors.Is(err, transport.ErrEmpty):
		case errors.As(err, &dropped):
		default:
			return messages // a connected pull's end
		}
	}
}

// each is how many messages a pair's part is of so many in the whole matrix.
func each(short, long int) int {
	if os.Getenv("FANOUTBENCH_LONG") != "" {
		return long / 16
	}
	return short / 8
}

func name(i int) string { return fmt.Sprint("message ", i) }
