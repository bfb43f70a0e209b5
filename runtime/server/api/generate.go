package api

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// unsupported are the fields of /generate that ask for what this server lacks.
var unsupported = []string{
	"input_embeds", "image_data", "video_data", "audio_data", "modalities", "token_type_ids",
	"lora_path", "lora_id", "session_id", "session_params", "custom_logit_processor", "priority",
	"return_hidden_states", "return_routed_experts", "return_bytes", "return_entropy",
	"bootstrap_host", "bootstrap_port", "bootstrap_room", "data_parallel_rank", "routed_dp_rank",
}

// generateRequest is a body of /generate.
type generateRequest struct {
	items  []manager.Item
	n      int
	batch  bool // the prompts were a list
	stream bool
	text   bool // return_text_in_logprobs
}

// many says whether the answer is a list, and chunks have an index.
func (g *generateRequest) many() bool { return g.batch || g.n > 1 }

func (a *api) parseGenerate(f *fields) (*generateRequest, error) {
	g := &generateRequest{n: 1}
	g.prompts(f, a.Info.VocabSize)
	g.stream = f.flag("stream", false)
	g.text = f.flag("return_text_in_logprobs", false)
	g.sampling(f, a.Info.VocabSize)
	f.checkAnswers(len(g.items), g.n)
	g.logprobs(f, a.Info.VocabSize)
	name(f, g.items, g.batch)
	f.refuse(unsupported...)
	for i := range g.items {
		g.items[i].Stream = g.stream
	}
	return g, f.fault()
}

// perItem reads a value that is the same for all items or one for each.
func (g *generateRequest) perItem(f *fields, name string, read func(*fields, *manager.Item)) {
	f.each(name, len(g.items), g.batch, false, func(own *fields, i int) { read(own, &g.items[i]) })
}

// prompts reads text or input_ids, one or a list.
func (g *generateRequest) prompts(f *fields, vocab int) {
	text, hasText := f.get("text")
	ids, hasIDs := f.get("input_ids")
	switch {
	case hasText && hasIDs:
		f.fail("text", "and input_ids are both there, expected one of them")
	case hasText:
		g.texts(f, text)
	case hasIDs:
		g.ids(f, ids, vocab)
	default:
		f.refuse("input_embeds", "image_data")
		f.fail("text", "and input_ids are both missing, expected one of them")
	}
}

func (g *generateRequest) texts(f *fields, raw json.RawMessage) {
	g.batch = raw[0] == '['
	for i, text := range f.texts("text", true) {
		if text == "" {
			f.fail(element("text", i, g.batch), "is empty, expected at least one token")
		}
		g.items = append(g.items, manager.Item{Text: text})
	}
	if len(g.items) == 0 {
		f.wrong("text", raw, "at least one prompt")
	}
}

func (g *generateRequest) ids(f *fields, raw json.RawMessage, vocab int) {
	lists, batch, fine := parsePrompts(raw)
	if !fine {
		f.wrong("input_ids", raw, "a list of token ids or a list of such lists")
		return
	}
	g.batch = batch
	for i, list := range lists {
		name := element("input_ids", i, batch)
		if len(list) == 0 {
			f.fail(name, "is empty, expected at least one token")
		}
		f.checkIDs(name, list, vocab)
		g.items = append(g.items, manager.Item{InputIDs: list})
	}
	if len(g.items) == 0 {
		f.wrong("input_ids", raw, "at least one prompt")
	}
}

// element names the i-th prompt of a list.
func element(name string, i int, batch bool) string {
	if !batch {
		return name
	}
	return name + "[" + strconv.Itoa(i) + "]"
}

// parsePrompts reads one list of ids or a list of such lists.
func parsePrompts(raw json.RawMessage) (lists [][]int64, batch, fine bool) {
	if raw[0] != '[' {
		return nil, false, false
	}
	if !listOfLists(raw) {
		list, fine := parseIDs(raw)
		return [][]int64{list}, false, fine
	}
	var own []json.RawMessage
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, false, false
	}
	for _, one := range own {
		list, fine := parseIDs(one)
		if !fine {
			return nil, false, false
		}
		lists = append(lists, list)
	}
	return lists, true, true
}

// sampling reads sampling_params; every item must have the same n.
func (g *generateRequest) sampling(f *fields, vocab int) {
	f.each("sampling_params", len(g.items), g.batch, false, func(own *fields, i int) {
		p := request.NewSamplingParams()
		n := 1
		if inner := own.object("sampling_params"); inner != nil {
			n = inner.nativeSampling(&p, vocab)
			own.take(inner)
		}
		g.items[i].Params = p
		if i > 0 && n != g.n {
			own.fail("sampling_params", "has n %d, expected %d as in the first: one request has one n", n, g.n)
			return
		}
		g.n = n
	})
}

func (g *generateRequest) logprobs(f *fields, vocab int) {
	g.perItem(f, "return_logprob", func(own *fields, it *manager.Item) {
		it.ReturnLogprob = own.flag("return_logprob", false)
	})
	g.perItem(f, "logprob_start_len", func(own *fields, it *manager.Item) {
		it.LogprobStartLen = int(own.whole("logprob_start_len", -1, -1, math.MaxInt32))
	})
	g.perItem(f, "top_logprobs_num", func(own *fields, it *manager.Item) {
		it.TopLogprobsNum = int(own.whole("top_logprobs_num", 0, 0, int64(vocab)))
	})
	f.each("token_ids_logprob", len(g.items), g.batch, true, func(own *fields, i int) {
		g.items[i].TokenIDsLogprob = own.ids("token_ids_logprob", vocab)
	})
}

// generate answers POST /generate.
func (a *api) generate(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	g, err := a.parseGenerate(f)
	if err != nil {
		return err
	}
	call, err := a.Service.Submit(e.ctx(), g.items, g.n)
	if err != nil {
		return err
	}
	defer call.Close()
	answers := make([]answer, len(g.items)*g.n)
	for i := range answers {
		it := &g.items[i/g.n]
		answers[i].want = wanted{
			logprobs: it.ReturnLogprob, top: it.TopLogprobsNum > 0, ids: it.TokenIDsLogprob != nil,
			text: g.text, tokenizer: a.Tokenizer,
		}
	}
	if g.stream {
		return a.generateStream(e, g, call, answers)
	}
	return a.generateUnary(e, g, call, answers)
}

func (a *api) generateUnary(e *exchange, g *generateRequest, call manager.Call, answers []answer) error {
	err := drive(e.ctx(), call, func(u *manager.Update) error {
		answers[u.Index].add(u)
		return nil
	})
	if err != nil {
		return err
	}
	var body []byte
	if g.many() {
		body = append(body, '[')
	}
	for i := range answers {
		if i > 0 {
			body = append(body, ',')
		}
		body = answers[i].appendJSON(body, -1)
	}
	if g.many() {
		body = append(body, ']')
	}
	e.answer(200, "application/json", body)
	return nil
}

func (a *api) generateStream(e *exchange, g *generateRequest, call manager.Call, answers []answer) error {
	e.begin()
	var event []byte
	err := drive(e.ctx(), call, func(u *manager.Update) error {
		index := -1
		if g.many() {
			index = u.Index
		}
		at := &answers[u.Index]
		at.add(u)
		event = at.appendJSON(append(event[:0], "data: "...), index)
		if a.Args.IncrementalStreaming {
			at.forget()
		}
		return e.send(append(event, "\n\n"...))
	})
	if err != nil {
		return err
	}
	return e.done()
}
