package request

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// frameWith is the frame of an empty message of the class, cut off after the field,
// whose bytes are raw, but not before the last field without a default.
func frameWith(t *testing.T, l *layout, name, raw string) string {
	t.Helper()
	class, err := msgpack.Marshal(l.class)
	if err != nil {
		t.Fatal(err)
	}
	return arrayWith(t, l, name, raw, string(class))
}

// samplingWith is a request with such sampling_params.
func samplingWith(t *testing.T, name, raw string) string {
	t.Helper()
	return frameWith(t, generateLayout, "sampling_params", arrayWith(t, samplingLayout, name, raw, ""))
}

func arrayWith(t *testing.T, l *layout, name, raw, class string) string {
	t.Helper()
	m := reflect.New(l.of)
	items, found := class, false
	n := min(len(class), 1)
	for i, f := range l.fields {
		if found && i >= l.least {
			break
		}
		n++
		if f.name == name {
			items, found = items+raw, true
			continue
		}
		w := wire.NewWriter(nil)
		if err := f.codec.encode(w, f.at(m.Elem())); err != nil {
			t.Fatal(err)
		}
		items += string(w.Release())
	}
	if !found {
		t.Fatalf("%v has no field %s", l.of, name)
	}
	return "\xdc\x00" + string([]byte{byte(n)}) + items
}

func TestDecodeErrors(t *testing.T) {
	in := func(class, name, raw string) string { return frameWith(t, byClass[class], name, raw) }
	gen := func(name, raw string) string { return in("TokenizedGenerateReqInput", name, raw) }
	params := func(name, raw string) string { return samplingWith(t, name, raw) }
	const generate, sampling = "TokenizedGenerateReqInput.", "TokenizedGenerateReqInput.sampling_params."
	for name, c := range map[string]struct{ frame, want string }{
		"empty":            {"", "frame at byte 0: the frame ends inside a value"},
		"no array":         {"\xc0", "frame at byte 0: got null, want array"},
		"no class":         {"\x90", "frame at byte 0: got an empty array, want a class name and its fields"},
		"a number":         {"\x91\x01", "frame at byte 1: the first element is no string, want a class name"},
		"other class":      {"\x91\xabFreezeGCReq", `frame at byte 1: got class "FreezeGCReq", want one of: ` + classNames()},
		"surplus":          {"\x98\xa8AbortReq" + strings.Repeat("\xc0", 7), "AbortReq at byte 0: got 7 fields, want 0 to 6"},
		"too few":          {"\x93\xb3FlushCacheReqOutput\xc0\xc0", "FlushCacheReqOutput at byte 0: got 2 fields, want 3 to 4"},
		"trailing":         {"\x91\xa8AbortReq\xc0", "AbortReq at byte 10: bytes after the end of the message"},
		"cut off":          {gen("input_text", "\xa2ab")[:33], generate + "input_text at byte 31: the frame ends inside a value"},
		"huge length":      {gen("token_ids_logprob", "\xdd\xff\xff\xff\xff"), generate + "token_ids_logprob at byte 123: a length is larger than the bytes left"},
		"rid":              {gen("rid", "\x01"), generate + "rid at byte 29: got int, want string"},
		"bool":             {gen("return_logprob", "\xc0"), generate + "return_logprob at byte 120: got null, want bool"},
		"int":              {gen("logprob_start_len", "\xca\x00\x00\x00\x00"), generate + "logprob_start_len at byte 121: got float, want int"},
		"large int":        {gen("top_logprobs_num", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), generate + "top_logprobs_num at byte 122: got 18446744073709551615, want an integer up to 9223372036854775807"},
		"ids":              {gen("input_ids", "\x91\x01"), generate + "input_ids at byte 32: got array, want ext"},
		"ids' ext":         {gen("input_ids", "\xd4\x02\x00"), generate + "input_ids at byte 32: got ext type 2, want 1 (an integer array)"},
		"ids' half item":   {gen("input_ids", "\xc7\x07\x01\x00\x00\x00\x02\xa1q\x00"), generate + `input_ids at byte 32: got 1 bytes of items in an integer array of typecode "q", want a multiple of 8`},
		"label":            {gen("token_ids_logprob", "\x92\x01\xa0"), generate + "token_ids_logprob[1] at byte 125: got string, want int"},
		"an image":         {gen("mm_inputs", "\x82\x01\x02\x03\x04"), generate + "mm_inputs at byte 34: got a map of 2, want null: nothing here heeds another value"},
		"embeds":           {gen("input_embeds", "\x90"), generate + "input_embeds at byte 33: got an array of 0, want null: nothing here heeds another value"},
		"a session":        {gen("session_id", "\xa1s"), generate + `session_id at byte 131: got "s", want null: nothing here heeds another value`},
		"hidden states":    {gen("return_hidden_states", "\xc3"), generate + "return_hidden_states at byte 127: got true, want false: nothing here heeds another value"},
		"start":            {gen("routed_experts_start_len", "\x07"), generate + "routed_experts_start_len at byte 129: got 7, want 0: nothing here heeds another value"},
		"time stats":       {gen("time_stats", "\xc4\x01x"), generate + "time_stats at byte 155: got bin of 1 bytes, want null: nothing here heeds another value"},
		"a mode":           {gen("sampling_logprobs_mode", "\xa3all"), generate + `sampling_logprobs_mode at byte 159: got "all", want "selected": nothing here heeds another value`},
		"ext":              {gen("kv_hints", "\xd4\x05x"), generate + "kv_hints at byte 157: got ext type 5, want null: nothing here heeds another value"},
		"null parameters":  {gen("sampling_params", "\xc0"), generate + "sampling_params at byte 36: got null, want array"},
		"many parameters":  {gen("sampling_params", "\xdc\x00\x22"+strings.Repeat("\xc0", 34)), generate + "sampling_params at byte 36: got 34 fields, want 0 to 33"},
		"temperature":      {params("temperature", "\xa1x"), sampling + "temperature at byte 43: got string, want int or float"},
		"n":                {params("n", "\x02"), sampling + "n at byte 99: got 2, want 1: nothing here heeds another value"},
		"a grammar":        {params("json_schema", "\xa2{}"), sampling + `json_schema at byte 101: got "{}", want null: nothing here heeds another value`},
		"a stop":           {params("stop", "\x01"), sampling + "stop at byte 40: got int, want string"},
		"stop's item":      {params("stop", "\x92\xa0\xc0"), sampling + "stop[1] at byte 42: got null, want string"},
		"stop_strs differ": {strings.Replace(params("stop_strs", "\x91\xa1b"), "\x00\xc0\xc0\xc0", "\x00\xa1a\xc0\xc0", 1), sampling + "stop_strs at byte 115: got other strings than in stop, want the same, or one of the two null"},
		"regexes":          {params("stop_regex_strs", "\x91\xa1b"), sampling + "stop_regex_strs at byte 115: got an array of 1, want null or an empty one: nothing here heeds another value"},
		"max_len":          {params("stop_str_max_len", "\xc0"), sampling + "stop_str_max_len at byte 116: got null, want int"},
		"bias":             {params("logit_bias", "\x90"), sampling + "logit_bias at byte 110: got array, want map"},
		"bias' key":        {params("logit_bias", "\x81\xa201\x00"), sampling + `logit_bias at byte 111: got key "01", want a token id in decimal`},
		"bias' int key":    {params("logit_bias", "\x81\x01\x00"), sampling + "logit_bias at byte 111: got int, want string"},
		"bias twice":       {params("logit_bias", "\x82\xa11\x00\xa11\x00"), sampling + "logit_bias at byte 114: got token id 1 twice, want each once"},
		"bias' value":      {params("logit_bias", "\x81\xa217\xc0"), sampling + "logit_bias[17] at byte 114: got null, want int or float"},
		"seed":             {params("sampling_seed", "\xc3"), sampling + "sampling_seed at byte 111: got bool, want int"},
		"rids":             {in("BatchTokenizedGenerateReqInput", "rids", "\x91\xc0"), "BatchTokenizedGenerateReqInput.rids[0] at byte 35: got null, want string"},
		"no batch":         {in("BatchTokenizedGenerateReqInput", "batch", "\xc0"), "BatchTokenizedGenerateReqInput.batch at byte 36: got null, want array"},
		"item's class":     {in("BatchTokenizedGenerateReqInput", "batch", "\x91\x91\xa8AbortReq"), `BatchTokenizedGenerateReqInput.batch[0] at byte 38: got class "AbortReq", want TokenizedGenerateReqInput`},
		"empty item":       {in("BatchTokenizedGenerateReqInput", "batch", "\x91\x90"), "BatchTokenizedGenerateReqInput.batch[0] at byte 38: got an empty array, want TokenizedGenerateReqInput and its fields"},
		"item's item":      {in("BatchTokenizedGenerateReqInput", "batch", "\x91"+params("n", "\x02")), "BatchTokenizedGenerateReqInput.batch[0].sampling_params.n at byte 136: got 2, want 1: nothing here heeds another value"},
		"reason":           {in("AbortReq", "finished_reason", "\xa0"), "AbortReq.finished_reason at byte 15: got string, want map"},
		"reason's key":     {in("AbortReq", "finished_reason", "\x81\xa7matched\x01"), `AbortReq.finished_reason at byte 16: got key "matched", want type, message, status_code or err_type`},
		"reason twice":     {in("AbortReq", "finished_reason", "\x82\xa4type\xa0\xa4type\xa0"), `AbortReq.finished_reason at byte 22: got key "type" twice, want each once`},
		"reason's status":  {in("AbortReq", "finished_reason", "\x81\xabstatus_code\xa0"), "AbortReq.finished_reason.status_code at byte 28: got string, want int"},
		"no type":          {in("AbortReq", "finished_reason", "\x80"), "AbortReq.finished_reason at byte 15: got a map without type, want one"},
		"weights":          {in("AbortReq", "weight_versions", "\x90"), "AbortReq.weight_versions at byte 17: got an array of 0, want null: nothing here heeds another value"},
		"timeout":          {in("FlushCacheReqInput", "timeout_s", "\xa0"), "FlushCacheReqInput.timeout_s at byte 24: got string, want int or float"},
		"state":            {in("GetInternalStateReqOutput", "internal_state", "\x80"), "GetInternalStateReqOutput.internal_state at byte 31: got map, want bin"},
		"a null ipc":       {in("TokenizerWorkerRegistrationReq", "worker_ipc_name", "\xc0"), "TokenizerWorkerRegistrationReq.worker_ipc_name at byte 36: got null, want string"},
	} {
		m, err := Decode([]byte(c.frame))
		if got := fmt.Sprint(err); got != "wire: "+c.want {
			t.Errorf("%s:\n got %s\nwant wire: %s", name, got, c.want)
		}
		if e := (*wire.Error)(nil); m != nil || !errors.As(err, &e) {
			t.Errorf("%s: got %v and %T, want no message and a *wire.Error", name, m, err)
		}
	}
}

// TestLong does not print a hostile text in full.
func TestLong(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, frame := range []string{
		"\x91\xd9\xc8" + long,
		frameWith(t, generateLayout, "session_id", "\xd9\xc8"+long),
		frameWith(t, byClass["AbortReq"], "finished_reason", "\x81\xd9\xc8"+long+"\xc0"),
		samplingWith(t, "logit_bias", "\x81\xd9\xc8"+long+"\xc0"),
		frameWith(t, byClass["BatchTokenizedGenerateReqInput"], "batch", "\x91\x91\xd9\xc8"+long),
	} {
		_, err := Decode([]byte(frame))
		if err == nil || !strings.Contains(err.Error(), long[:64]) || strings.Contains(err.Error(), long[:65]) {
			t.Errorf("got %v, want an error with 64 bytes of the text", err)
		}
	}
}

// TestTruncated cuts real frames, and random ones, at every byte.
func TestTruncated(t *testing.T) {
	frames := map[string][]byte{}
	for name := range goldens {
		frames[name] = goldenFrame(t, name)
	}
	g := newGen(2)
	for i := range 2 * len(layouts) {
		frames[fmt.Sprint("random ", i)] = mustEncode(t, g.message(i))
	}
	for name, frame := range frames {
		for n := range frame {
			m, err := Decode(frame[:n])
			var e *wire.Error
			if m != nil || !errors.As(err, &e) || e.Offset < 0 || e.Offset > n {
				t.Fatalf("%s, %d of %d bytes: got %v, %v", name, n, len(frame), m, err)
			}
		}
	}
}

// TestTruncatedFieldNamed says which field a cut frame ends in.
func TestTruncatedFieldNamed(t *testing.T) {
	frame := goldenFrame(t, "generate-rich")
	o := strings.Index(string(frame), "selected")
	_, err := Decode(frame[:o+3])
	var e *wire.Error
	if !errors.As(err, &e) || e.Class != "TokenizedGenerateReqInput" || e.Field != "sampling_logprobs_mode" || e.Offset != o-1 {
		t.Errorf("got %v, want TokenizedGenerateReqInput.sampling_logprobs_mode at byte %d", err, o-1)
	}
}

type stranger struct{}

func (stranger) Class() string { return "AbortReq" }

func TestEncodeErrors(t *testing.T) {
	for _, m := range []Message{nil, (*AbortReq)(nil), stranger{}} {
		got, err := Encode([]byte("before"), m)
		if want := fmt.Sprintf("wire: frame: got message %T, want a pointer that is not nil to one of: %s", m, classNames()); fmt.Sprint(err) != want {
			t.Errorf("%T: got %v, want %s", m, err, want)
		}
		if string(got) != "before" {
			t.Errorf("%T: got %q, want what was there before", m, got)
		}
	}
}
