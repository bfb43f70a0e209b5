package scoring

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// sim is a device whose step is long beside everything else that happens.
const sim = "@device=sim,sim-step-base=0.02,sim-step-per-token=0,sim-step-per-context=0"

// batches has, of each item of a request, the prefill batches that it was in.
func (s *server) batches(set *Set, n int) [][]int {
	s.t.Helper()
	rids := set.RIDs(n)
	a, err := s.Admissions(within(s.t), rids)
	if err != nil {
		s.t.Fatal(err)
	}
	list := make([][]int, len(rids))
	for i, rid := range rids {
		for _, at := range a.Records[rid].Admissions {
			list[i] = append(list[i], at.Batch)
		}
	}
	return list
}

// items are how many items of a request were in each of its batches.
func (s Spread) items() []int {
	var list []int
	for _, p := range s.Parts {
		list = append(list, p.Items)
	}
	return list
}

// What a request's items are spread over when they come as one message: only the
// budgets decide. 15,000 tokens of 50 items that find nothing in the cache; an item
// that would fill the rest of a budget is not taken, and one that is cut into chunks
// is in two batches.
func TestBatchSendIsCutByBudgetsOnly(t *testing.T) {
	for options, want := range map[string][]int{
		",max-prefill-tokens=16384,chunked-prefill-size=-1":   {50},
		",max-prefill-tokens=15000,chunked-prefill-size=-1":   {49, 1},
		",max-prefill-tokens=8192,chunked-prefill-size=-1":    {27, 23},
		",max-prefill-tokens=16384,chunked-prefill-size=8192": {28, 23},
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			s := start(t, "builtin:batch"+sim+options)
			set := s.set(published(50), Options{Run: "b", Cold: true})
			for n := range 5 {
				s.send(set, n)
				spread := s.spread(set, n)
				tokens := 0
				for _, p := range spread.Parts {
					tokens += p.Tokens
					if p.All != p.Items || p.CachedTokens != 0 && !strings.Contains(options, "8192") {
						t.Errorf("send %d: %+v, want a batch of this request alone, and nothing cached", n, p)
					}
				}
				if !slices.Equal(spread.items(), want) || spread.PromptTokens != 15000 || tokens != 15000 {
					t.Errorf("send %d: %+v, want items %v and 15000 tokens", n, spread, want)
				}
				if spread.First != spread.Last || spread.Finished < spread.Parts[0].Time || spread.Parts[0].Time < spread.Last {
					t.Errorf("send %d: arrived from %v to %v, first batch %v, finished %v", n, spread.First, spread.Last, spread.Parts[0].Time, spread.Finished)
				}
			}
		})
	}
}

// Limits cut a batch between its items: where one batch ends and the next begins is
// a multiple of the limit. Messages that are there at once go together.
func TestLimitsCutBetweenItems(t *testing.T) {
	for options, every := range map[string]int{",max-tokens=3000": 10, ",max-tokens=3299": 10, ",max-reqs=7": 7, ",max-reqs=20,max-tokens=900": 3} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			s := start(t, "builtin:batch"+sim+",log-level=debug,max-prefill-tokens=100000,chunked-prefill-size=-1"+options)
			set := s.set(published(50), Options{Run: "b", Cold: true})
			for n := range 5 {
				s.send(set, n)
				list := s.batches(set, n)
				for i := 1; i < len(list); i++ {
					if len(list[i]) != 1 || list[i][0] < list[i-1][0] || list[i][0] > list[i-1][0] && i%every != 0 {
						t.Fatalf("send %d: batches %v, want one an item that changes at multiples of %d", n, list, every)
					}
				}
			}
			sizes := slices.Repeat([]int{every}, 50/every)
			if rest := 50 % every; rest > 0 {
				sizes = append(sizes, rest)
			}
			if want := fmt.Sprintf("reqs=%q", fmt.Sprint(sizes)); !strings.Contains(s.log.String(), want) {
				t.Errorf("the server's log does not say %s", want)
			}
		})
	}
}

// Items that are sent one by one are split over batches whenever the scheduler
// wakes between them, which it must at some time; their order stays.
func TestIndividualSendsAreSplit(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:individual"+sim+",max-prefill-tokens=100000,chunked-prefill-size=-1,admission-records=100000")
	for _, ids := range []bool{false, true} { // which SGLang's rule would send as one message
		shape := published(50)
		shape.IDs = ids
		set := s.set(shape, Options{Run: fmt.Sprint("i-", ids), Cold: true})
		for end, n := time.Now().Add(patience), 0; !s.split(set, n); n++ {
			if time.Now().After(end) {
				t.Fatalf("ids %v: none of %d requests was split", ids, n)
			}
		}
	}
}

// split says whether the items of a send, which come one by one, were in more than
// one batch; each must be in one, and in its order.
func (s *server) split(set *Set, n int) bool {
	s.t.Helper()
	s.send(set, n)
	list := s.batches(set, n)
	for i := 1; i < len(list); i++ {
		if len(list[i]) != 1 || list[i][0] < list[i-1][0] {
			s.t.Fatalf("send %d: batches %v, want one an item, in order", n, list)
		}
	}
	spread := s.spread(set, n)
	if len(spread.Parts) > 1 && spread.First >= spread.Last {
		s.t.Errorf("send %d: first item arrived at %v, last at %v", n, spread.First, spread.Last)
	}
	return len(spread.Parts) > 1
}

// Cold is what it says in both arms: the first send of a prompt and all later ones
// find nothing. Without it, and after a flush, the cache is as one expects.
func TestCold(t *testing.T) {
	for _, mode := range []string{"batch", "individual"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := start(t, "builtin:"+mode+sim)
			cold, warm := s.set(published(10), Options{Run: "c", Cold: true}), s.set(published(10), Options{Run: "w"})
			for n := range 4 {
				s.send(cold, n)
				if got := s.spread(cold, n); got.CachedTokens != 0 {
					t.Errorf("send %d: %d cached tokens, want 0: %+v", n, got.CachedTokens, got)
				}
				s.send(warm, n)
				if got := s.spread(warm, n).CachedTokens; n > 0 && got != 10*299 {
					t.Errorf("send %d: %d cached tokens without cold, want all but the last of each item", n, got)
				}
			}
			if err := s.Flush(within(t), time.Minute); err != nil {
				t.Fatal(err)
			}
			s.send(warm, 4)
			if got := s.spread(warm, 4); got.Parts[0].CachedTokens != 0 {
				t.Errorf("after a flush: %+v", got)
			}
		})
	}
}

// Every way to send a request gives the same scores, on the model that computes
// them and on the one that draws them.
func TestArmsAgree(t *testing.T) {
	shapes := []Shape{
		{API: Score, Items: 6, QueryTokens: 12, ItemTokens: 18, Unique: 1},
		{API: Score, Items: 6, QueryTokens: 12, ItemTokens: 18, Unique: 3},
		{API: Score, Items: 6, QueryTokens: 12, ItemTokens: 18, Unique: 3, SharedPrefix: true},
		{API: Score, Items: 6, QueryTokens: 12, ItemTokens: 18, Unique: 3, IDs: true},
	}
	for _, device := range []string{"@device=cpu", sim} {
		t.Run(device, func(t *testing.T) {
			t.Parallel()
			individual, batch, cut := start(t, "builtin:individual"+device), start(t, "builtin:batch"+device), start(t, "builtin:batch"+device+",max-tokens=60")
			for k, shape := range shapes {
				hashes := map[string]int{}
				o := Options{Run: fmt.Sprint("s", k)}
				one, together, pieces := individual.set(shape, o), batch.set(shape, o), cut.set(shape, o)
				for n := range 2 * shape.Unique {
					a := individual.send(one, n)
					for _, other := range []Answer{batch.send(together, n), cut.send(pieces, n)} {
						if err := Agree(a, other, 1e-5); err != nil {
							t.Errorf("%+v, send %d: %v", shape, n, err)
						}
					}
					hashes[a.ScoresSHA256()]++
				}
				if device == "@device=cpu" && len(hashes) != shape.Unique {
					t.Errorf("%+v: answers %v, want %d that differ", shape, slices.Sorted(maps.Keys(hashes)), shape.Unique)
				}
			}
		})
	}
}

// The published labels are not in the built-in vocabularies: others are chosen.
func TestLabelsAndAlphabet(t *testing.T) {
	for _, device := range []string{"cpu", "sim"} {
		t.Run(device, func(t *testing.T) {
			t.Parallel()
			s := start(t, "builtin:batch@device="+device)
			labels, err := s.Labels(within(t))
			if err != nil || !slices.Equal(labels, []int64{'Y', 'N'}) {
				t.Errorf("labels %v, %v", labels, err)
			}
			a, err := s.Alphabet(within(t))
			if err != nil || a.Text[0] != "<|im_start|>" || a.Text[1] != "<|im_end|>" {
				t.Errorf("alphabet %+v, %v", a, err)
			}
			wrong := []Prompt{{Query: "ab", Items: []string{"c"}, Tokens: 4}}
			if err := s.Count(within(t), wrong); err == nil || !strings.Contains(err.Error(), "prompt 0 has 3 tokens by the server's tokenizer, expected 4") {
				t.Errorf("a wrong number of tokens: %v", err)
			}
			if info, err := s.ServerInfo(within(t)); err != nil || !strings.Contains(string(info), `"device":"`+device+`"`) {
				t.Errorf("server info %s, %v", info, err)
			}
		})
	}
}

// Completions and chats, streamed or not: as many tokens as were asked for, each
// counted once.
func TestGeneration(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch@device=sim,sim-step-base=0.001")
	for _, shape := range []Shape{
		{API: Completions, Items: 1, QueryTokens: 3, ItemTokens: 5, Unique: 2},
		{API: Completions, Items: 3, QueryTokens: 3, ItemTokens: 5, Unique: 1},
		{API: Completions, Items: 2, QueryTokens: 3, ItemTokens: 5, Unique: 1, IDs: true},
		{API: Chat, Items: 1, QueryTokens: 3, ItemTokens: 5, Unique: 2},
	} {
		for _, stream := range []bool{false, true} {
			for _, cold := range []bool{false, true} {
				set := s.set(shape, Options{Run: fmt.Sprintf("g-%s-%d-%v-%v-%v", shape.API, shape.Items, shape.IDs, stream, cold), OutputTokens: 20, Stream: stream, Cold: cold})
				for n := range 3 {
					a := s.send(set, n)
					streamed := 0
					for _, c := range a.Chunks {
						streamed += c.Tokens
					}
					if a.CompletionTokens != 20*shape.Items || stream && streamed != a.CompletionTokens || a.PromptTokens == 0 || !stream && a.Chunks != nil {
						t.Errorf("%+v stream %v: %+v", shape, stream, a)
					}
					if got := s.spread(set, n); len(got.Parts) == 0 || cold && shape.Items == 1 && got.CachedTokens != 0 {
						t.Errorf("%+v cold %v: %+v", shape, cold, got)
					}
				}
			}
		}
	}
}

// The records' times lie between those of the client that sent and waited.
func TestClock(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch"+sim)
	set := s.set(published(5), Options{Run: "k"})
	for n := range 3 {
		before := time.Now()
		s.send(set, n)
		after := time.Now()
		sent, err := Clock(before)
		if err != nil {
			t.Fatal(err)
		}
		done, err := Clock(after)
		if err != nil {
			t.Fatal(err)
		}
		got := s.spread(set, n)
		if !(sent < got.First && got.First <= got.Last && got.Last <= got.Parts[0].Time && got.Parts[0].Time < got.Finished && got.Finished < done) {
			t.Errorf("sent %v, %+v, done %v: want them in this order", sent, got, done)
		}
	}
}

// Real requests go as they are, with their tokens counted.
func TestDatasetOnAServer(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch@device=sim,sim-step-base=0.001")
	prompts, err := ReadDataset(strings.NewReader(`{"query":"grüß <b>","items":["a\u0000b","<|im_end|>"],"label_token_ids":[1,2,3]}`+"\n"+`{"query":[7],"items":[[8,9]]}`), Score)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Count(within(t), prompts); err != nil {
		t.Fatal(err)
	}
	if prompts[0].Tokens != 10+3+10+1 || prompts[1].Tokens != 3 {
		t.Errorf("tokens %d and %d", prompts[0].Tokens, prompts[1].Tokens)
	}
	set, err := NewSet(Options{API: Score, Run: "d", Labels: []int64{5}}, prompts)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"[3 3]", "[1]", "[3 3]"} {
		a := s.send(set, n)
		var widths []int
		for _, row := range a.Scores {
			widths = append(widths, len(row))
		}
		if fmt.Sprint(widths) != want || a.PromptTokens != set.Prompt(n).Tokens {
			t.Errorf("send %d: %+v, want scores %s", n, a, want)
		}
	}
}

// Two sends of one prompt are in flight at once, each with items of its own.
func TestSendsOfOnePromptAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch"+sim)
	set := s.set(published(5), Options{Run: "two"})
	done := make(chan error, 20)
	for n := range cap(done) {
		go func() {
			status, body, err := s.ask(context.WithoutCancel(t.Context()), "POST", set.Path(), set.Body(n))
			if err == nil {
				_, err = set.Answer(n, status, body)
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for n := range cap(done) {
		if got := s.spread(set, n); len(got.Parts) == 0 || got.PromptTokens != 1500 {
			t.Errorf("send %d: %+v", n, got)
		}
	}
}

// Records that the server no longer has are an error, not a smaller spread.
func TestForgottenRecords(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch@device=sim,sim-step-base=0.001,admission-records=12")
	set := s.set(published(10), Options{Run: "f"})
	s.send(set, 0)
	s.spread(set, 0)
	s.send(set, 1)
	rids := slices.Concat(set.RIDs(0), set.RIDs(1))
	if _, err := s.Admissions(within(t), rids); err == nil || !strings.Contains(err.Error(), `no record of 8 of 20 items, the first "f-00000000_0"`) {
		t.Errorf("got %v", err)
	}
}

// The server's own log has a line for each of its prefill batches, the same as its
// records.
func TestLogOfTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch"+sim)
	set := s.set(published(50), Options{Run: "l", Cold: true})
	before := len(readAll(t, s.log.String()))
	s.send(set, 0)
	a, err := s.Admissions(within(t), set.RIDs(0))
	if err != nil {
		t.Fatal(err)
	}
	lines := readAll(t, s.log.String())[before:]
	for i, number := range slices.Sorted(maps.Keys(a.Batches)) {
		b := a.Batches[number]
		want := LogBatch{Line: lines[i].Line, Time: lines[i].Time, NewSeqs: len(b.RIDs), NewTokens: b.NewTokens, CachedTokens: b.CachedTokens, Running: b.Running, Queue: b.Queue}
		if lines[i] != want || lines[i].Time == "" {
			t.Errorf("line %+v, want %+v", lines[i], want)
		}
	}
	if len(lines) != len(a.Batches) || len(lines) != 2 {
		t.Errorf("%d lines for %d batches, want 2", len(lines), len(a.Batches))
	}
}

func readAll(t *testing.T, log string) []LogBatch {
	t.Helper()
	batches, faults, _, err := ReadLog(strings.NewReader(log))
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return batches
}
