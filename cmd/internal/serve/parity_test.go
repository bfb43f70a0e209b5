package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Where the shapes are from. The tests are those of SGLang's repository at 0.5.2x, read
// for what they send and what they look at; http_server.py, protocol.py and the others
// are its sources, under python/sglang/srt/entrypoints.
const (
	endpointTest = "test/registered/core/test_srt_endpoint.py "
	openAITest   = "test/registered/openai_server/basic/test_openai_server.py "
	lengthTest   = "test/registered/openai_server/validation/test_request_length_validation.py "
	abortTest    = "test/registered/scheduler/test_abort.py "
	nativeDoc    = "docs/basic_usage/native_api.md, "
	httpServer   = "http_server.py "
	protocol     = "openai/protocol.py "
)

// Parts of shapes.
const (
	finishStop   = `{"type":"=stop","matched":"any"}`
	finishLength = `{"type":"=length","length":"int"}`
	nativeFailed = `{"error":{"message":"string"}}`
	openAIFailed = `{"object":"=error","message":"string","type":"string","param":"string|null","code":"int"}`
	usageShape   = `{"prompt_tokens":"int","total_tokens":"int","completion_tokens":"int","prompt_tokens_details":"null","reasoning_tokens":"int"}`
	metaKeys     = `"id":"string","prompt_tokens":"int","weight_version":"=default","num_retractions":"int","reasoning_tokens":"int","completion_tokens":"int","cached_tokens":"int"`
	metaLength   = `{` + metaKeys + `,"finish_reason":` + finishLength + `,"e2e_latency":"number"}`
	generated    = `{"text":"string","output_ids":["int"],"meta_info":` + metaLength + `}`
	triple       = `["number|null","int","string|null"]`
	word         = `["number|null","int","string"]`
	modelShape   = `{"id":"string","object":"=model","created":"int","owned_by":"string","root":"string","parent":"null","max_model_len":"int"}`
	older        = `{"text_offset":["int"],"token_logprobs":["number|null"],"tokens":["string"],"top_logprobs":["any"]}`
	topToken     = `{"token":"string","bytes":["int"],"logprob":"number"}`
	newer        = `{"content":[{"token":"string","bytes":["int"],"logprob":"number","top_logprobs":[` + topToken + `]}]}`
	completion   = `"id":"string","object":"=text_completion","created":"int","model":"string"`
	chat         = `"id":"string","object":"=chat.completion","created":"int","model":"string"`
	chatChunk    = `"id":"string","object":"=chat.completion.chunk","created":"int","model":"string"`
	metadata     = `"metadata":{"weight_version":"string"}`
	fourTokens   = `"max_tokens":4,"temperature":0,"ignore_eos":true`
	manyTokens   = `"max_tokens":20,"temperature":0,"ignore_eos":true`
	nativeFour   = `"sampling_params":{"max_new_tokens":4,"temperature":0,"ignore_eos":true}`
	nativeMany   = `"sampling_params":{"max_new_tokens":20,"temperature":0,"ignore_eos":true}`
	hello        = `"messages":[{"role":"user","content":"Hello"}]`
)

func completionOf(logprobs string) string {
	return `{` + completion + `,"choices":[{"index":"int","text":"string","logprobs":` + logprobs + `,"finish_reason":"=length","matched_stop":"null"}],"usage":` + usageShape + `,` + metadata + `}`
}

func chatOf(logprobs string) string {
	message := `{"role":"=assistant","content":"string","reasoning_content":"null","tool_calls":"null"}`
	return `{` + chat + `,"choices":[{"index":"int","message":` + message + `,"logprobs":` + logprobs + `,"finish_reason":"=length","matched_stop":"null"}],"usage":` + usageShape + `,` + metadata + `}`
}

func chatEvent(delta, logprobs, finish string) string {
	return `{` + chatChunk + `,"choices":[{"index":"int","delta":` + delta + `,"logprobs":` + logprobs + `,"finish_reason":` + finish + `,"matched_stop":"null"}]}`
}

// metaOf is a meta_info with the columns of log-probabilities.
func metaOf(columns string) string {
	return `{"text":"string","output_ids":["int"],"meta_info":{` + metaKeys + `,"finish_reason":` + finishLength + `,"e2e_latency":"number",` + columns + `}}`
}

// parity is one exchange: what is sent, and the shape of what must come. A stream has
// shapes one of which each event has, every one of them at least once.
type parity struct {
	name, source string
	method, path string
	body         string
	status       int
	shape        string // JSON; "text:..." is the beginning of a text
	events       []string
}

var parities = []parity{
	{"generate", nativeDoc + "Generate", "POST", "/generate", `{"text":"The capital of France is",` + nativeFour + `}`, 200, generated, nil},
	{"generate ids", endpointTest + "test_cache_tokens", "POST", "/generate", `{"input_ids":[1,2,3],` + nativeFour + `}`, 200, generated, nil},
	{"generate, list of one", endpointTest + "run_decode(batch=True)", "POST", "/generate", `{"text":["a"],` + nativeFour + `}`, 200, `[` + generated + `]`, nil},
	{"generate, n", endpointTest + "run_decode(n=3)", "POST", "/generate", `{"text":"a","sampling_params":{"n":2,"max_new_tokens":2,"ignore_eos":true}}`, 200, `[` + generated + `,` + generated + `]`, nil},
	{"generate, stop", "test/kits/matched_stop_kit.py", "POST", "/generate", `{"text":"a","sampling_params":{"max_new_tokens":200,"temperature":0,"stop_token_ids":[` + everyID + `]}}`, 200,
		`{"text":"string","output_ids":["int"],"meta_info":{` + metaKeys + `,"finish_reason":` + finishStop + `,"e2e_latency":"number"}}`, nil},
	{"logprobs", endpointTest + "test_logprob_start_len", "POST", "/generate", `{"text":"abcdef","return_logprob":true,"top_logprobs_num":2,"return_text_in_logprobs":true,"logprob_start_len":4,` + nativeFour + `}`, 200,
		metaOf(`"input_token_logprobs":[` + word + `,` + word + `],"output_token_logprobs":[` + word + `,` + word + `,` + word + `,` + word + `],"input_top_logprobs":["null",[` + word + `]],"output_top_logprobs":[[` + word + `,` + word + `]]`), nil},
	{"logprobs from the end", endpointTest + "test_logprob_with_chunked_prefill", "POST", "/generate", `{"text":"abcdef","return_logprob":true,"logprob_start_len":-1,` + nativeFour + `}`, 200,
		metaOf(`"input_token_logprobs":[["null","int","null"]],"output_token_logprobs":[["number","int","null"]]`), nil},
	{"logprobs of ids", endpointTest + "test_logprob_token_ids_chunked", "POST", "/generate", `{"input_ids":[5,6,7],"return_logprob":true,"logprob_start_len":0,"token_ids_logprob":[5,42],` + nativeFour + `}`, 200,
		metaOf(`"input_token_logprobs":[` + triple + `],"output_token_logprobs":[` + triple + `],"input_token_ids_logprobs":["null",[` + triple + `,` + triple + `],[` + triple + `,` + triple + `]],"output_token_ids_logprobs":[[` + triple + `,` + triple + `]]`), nil},
	{"generate stream", endpointTest + "run_decode(stream=True)", "POST", "/generate", `{"text":"a","stream":true,` + nativeMany + `}`, 200, "",
		[]string{`{"text":"string","output_ids":["int"],"meta_info":{` + metaKeys + `,"finish_reason":"null"}}`, generated}},
	{"generate stream of many", endpointTest + "run_decode(batch=True, stream=True)", "POST", "/generate", `{"text":["a"],"stream":true,` + nativeMany + `}`, 200, "",
		[]string{`{"text":"string","output_ids":["int"],"meta_info":{` + metaKeys + `,"finish_reason":"null"},"index":"int"}`, `{"text":"string","output_ids":["int"],"meta_info":` + metaLength + `,"index":"int"}`}},
	{"generate, nothing asked", httpServer + "generate_request: ValueError", "POST", "/generate", `{}`, 400, nativeFailed, nil},
	{"generate, id of a logprob", lengthTest + "test_token_ids_logprob_out_of_vocabulary", "POST", "/generate", `{"text":"hi","return_logprob":true,"token_ids_logprob":[2000000000]}`, 400, nativeFailed, nil},
	{"generate, nested ids of logprobs", lengthTest + "test_token_ids_logprob_rejects_nested_list", "POST", "/generate", `{"text":"hi","return_logprob":true,"token_ids_logprob":[[0],[1,2]]}`, 400, nativeFailed, nil},
	{"generate, one of a batch", lengthTest + "test_token_ids_logprob_batch_with_one_oov", "POST", "/generate", `{"text":["hi","hi"],"return_logprob":true,"token_ids_logprob":[[0],[2000000000]]}`, 400, nativeFailed, nil},
	{"generate, rid twice", abortTest + "test_duplicate_rid_in_batch", "POST", "/generate", `{"text":["Hello","World"],"rid":["dup","dup"]}`, 400, nativeFailed, nil},

	{"completions", openAITest + "run_completion", "POST", "/v1/completions", `{"model":"m","prompt":"The capital",` + fourTokens + `}`, 200, completionOf(`"null"`), nil},
	{"completions, logprobs", openAITest + "run_completion(logprobs=5)", "POST", "/v1/completions", `{"prompt":"The capital","logprobs":5,` + fourTokens + `}`, 200, completionOf(older), nil},
	{"completions, echo", openAITest + "run_completion(echo=True, logprobs=5)", "POST", "/v1/completions", `{"prompt":[1,2],"logprobs":5,"echo":true,` + fourTokens + `}`, 200, completionOf(older), nil},
	{"completions stream", openAITest + "run_completion_stream", "POST", "/v1/completions", `{"prompt":"a","stream":true,"stream_options":{"include_usage":true},` + manyTokens + `}`, 200, "", []string{
		`{` + completion + `,"choices":[{"index":"int","text":"string","logprobs":"null","finish_reason":"null","matched_stop":"null"}]}`,
		`{` + completion + `,"choices":[{"index":"int","text":"string","logprobs":"null","finish_reason":"=length","matched_stop":"null"}]}`,
		`{` + completion + `,"choices":[],"usage":` + usageShape + `}`}},
	{"completions stream, logprobs", openAITest + "run_completion_stream(logprobs=5)", "POST", "/v1/completions", `{"prompt":"a","stream":true,"logprobs":5,` + manyTokens + `}`, 200, "", []string{
		`{` + completion + `,"choices":[{"index":"int","text":"string","logprobs":` + older + `,"finish_reason":"null","matched_stop":"null"}]}`,
		`{` + completion + `,"choices":[{"index":"int","text":"string","logprobs":` + older + `,"finish_reason":"=length","matched_stop":"null"}]}`}},
	{"completions, bad", protocol + "ErrorResponse", "POST", "/v1/completions", `{"prompt":"a","max_tokens":-1}`, 400, openAIFailed, nil},

	{"chat", openAITest + "run_chat_completion", "POST", "/v1/chat/completions", `{"model":"m",` + hello + `,` + fourTokens + `}`, 200, chatOf(`"null"`), nil},
	{"chat, logprobs", openAITest + "run_chat_completion(logprobs=5)", "POST", "/v1/chat/completions", `{` + hello + `,"logprobs":true,"top_logprobs":5,` + fourTokens + `}`, 200, chatOf(newer), nil},
	{"chat, null top_logprobs", openAITest + "run_chat_completion(logprobs=None)", "POST", "/v1/chat/completions", `{` + hello + `,"logprobs":false,"top_logprobs":null,` + fourTokens + `}`, 200, chatOf(`"null"`), nil},
	{"chat stream", openAITest + "run_chat_completion_stream", "POST", "/v1/chat/completions", `{` + hello + `,"stream":true,"stream_options":{"include_usage":true},` + manyTokens + `}`, 200, "", []string{
		chatEvent(`{"role":"=assistant","content":"="}`, `"null"`, `"null"`), chatEvent(`{"content":"string"}`, `"null"`, `"null"`), chatEvent(`{}`, `"null"`, `"=length"`),
		`{` + chatChunk + `,"choices":[],"usage":` + usageShape + `}`}},
	{"chat stream, logprobs", openAITest + "run_chat_completion_stream(logprobs=5)", "POST", "/v1/chat/completions", `{` + hello + `,"stream":true,"logprobs":true,"top_logprobs":5,` + manyTokens + `}`, 200, "", []string{
		chatEvent(`{"role":"=assistant","content":"="}`, `"null"`, `"null"`), chatEvent(`{"content":"string"}`, newer, `"null"`), chatEvent(`{}`, `"null"`, `"=length"`)}},
	{"chat, too long", lengthTest + "test_input_length_longer_than_context_length", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"` + tooLongText + `"}]}`, 400, openAIFailed, nil},
	{"chat, too long, streamed", lengthTest + "test_input_length_longer_than_context_length_streaming", "POST", "/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"` + tooLongText + `"}]}`, 400, openAIFailed, nil},

	{"models", openAITest + "test_model_list", "GET", "/v1/models", "", 200, `{"object":"=list","data":[` + modelShape + `]}`, nil},
	{"a model", openAITest + "test_retrieve_model", "GET", "/v1/models/qwen3-small", "", 200, modelShape, nil},
	{"no such model", openAITest + "test_retrieve_model", "GET", "/v1/models/non-existent-model", "", 404, openAIFailed, nil},
	{"score", protocol + "ScoringResponse", "POST", "/v1/score", `{"query":"q","items":["a","b"],"label_token_ids":[1,2,3],"model":"m"}`, 200,
		`{"scores":[["number","number","number"],["number","number","number"]],"model":"=m","usage":` + usageShape + `,"object":"=scoring"}`, nil},
	{"score without labels", "openai/serving_score.py", "POST", "/v1/score", `{"query":"q","items":["a"]}`, 400, openAIFailed, nil},

	{"server_info", endpointTest + "test_get_server_info", "GET", "/server_info", "", 200,
		`{"version":"string","max_total_num_tokens":"int","max_req_input_len":"int","model_path":"string","tokenizer_path":"string","served_model_name":"string","port":"int","page_size":"int","internal_states":[{"last_gen_throughput":"number","*":"any"}],"*":"any"}`, nil},
	{"health", httpServer + "health_generate", "GET", "/health", "", 200, "text:", nil},
	{"health_generate", httpServer + "health_generate", "GET", "/health_generate", "", 200, "text:", nil},
	{"flush_cache", nativeDoc + "Flush Cache", "POST", "/flush_cache", "", 200, "text:Cache flushed.\nPlease check backend logs for more details. ", nil},
	{"flush_cache by GET", httpServer + "flush_cache", "GET", "/flush_cache", "", 200, "text:Cache flushed.\n", nil},
	{"abort_request", abortTest + "test_abort_all_with_retraction", "POST", "/abort_request", `{"abort_all":true}`, 200, "text:", nil},
	{"abort_request of a rid", httpServer + "abort_request", "POST", "/abort_request", `{"rid":"nobody's"}`, 200, "text:", nil},
	{"model_info", nativeDoc + "Get Model Info", "GET", "/model_info", "", 200,
		`{"model_path":"string","tokenizer_path":"string","is_generation":"bool","preferred_sampling_params":"null","weight_version":"string","has_image_understanding":"bool","has_audio_understanding":"bool","model_type":"string","architectures":["string"],"served_model_name":"string","context_length":"int","vocab_size":"int"}`, nil},
	{"tokenize", endpointTest + "test_tokenize_various_inputs", "POST", "/tokenize", `{"model":"m","prompt":"Hello 😊","add_special_tokens":true}`, 200, `{"tokens":["int"],"count":"int","max_model_len":"int"}`, nil},
	{"tokenize a list", endpointTest + "test_tokenize_various_inputs", "POST", "/v1/tokenize", `{"prompt":["First sentence.","中文"],"add_special_tokens":false}`, 200, `{"tokens":[["int"]],"count":["int"],"max_model_len":"int"}`, nil},
	{"tokenize nothing", endpointTest + "test_tokenize_various_inputs", "POST", "/tokenize", `{"prompt":"","add_special_tokens":false}`, 200, `{"tokens":["int"],"count":"int","max_model_len":"int"}`, nil},
	{"tokenize a number", endpointTest + "test_tokenize_invalid_type", "POST", "/tokenize", `{"prompt":12345}`, 400, openAIFailed, nil},
	{"detokenize", endpointTest + "test_detokenize_roundtrip", "POST", "/detokenize", `{"tokens":[72,105],"skip_special_tokens":true}`, 200, `{"text":"=Hi"}`, nil},
	{"detokenize nothing", endpointTest + "test_detokenize_roundtrip", "POST", "/detokenize", `{"tokens":[],"skip_special_tokens":true}`, 200, `{"text":"="}`, nil},
	{"detokenize words", endpointTest + "test_detokenize_invalid_tokens", "POST", "/detokenize", `{"tokens":["a","b"]}`, 400, openAIFailed, nil},
}

// everyID stops at the first token, whichever it is.
var everyID = func() string {
	ids := make([]string, smallVocab)
	for id := range ids {
		ids[id] = strconv.Itoa(id)
	}
	return strings.Join(ids, ",")
}()

// tooLongText has more tokens than the context.
var tooLongText = strings.Repeat("hello ", 1500)

// Requests as SGLang's own tests and pages send them have answers of SGLang's shapes:
// names, types, null or absent, bodies and codes of errors. Streams are a slow device's,
// so that their events are not merged into one.
func TestParityOfShapes(t *testing.T) {
	t.Parallel()
	quick, paced := launch(t), launch(t, slow...)
	for _, p := range parities {
		t.Run(p.name, func(t *testing.T) {
			s := quick
			if p.events != nil {
				s = paced
			}
			request, err := http.NewRequestWithContext(t.Context(), p.method, s.url+p.path, strings.NewReader(p.body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(response.Body)
			_ = response.Body.Close() // read only
			if err != nil || response.StatusCode != p.status {
				t.Fatalf("%s: %d %.300s, %v, want %d", p.source, response.StatusCode, data, err, p.status)
			}
			kind := response.Header.Get("Content-Type")
			switch text, isText := strings.CutPrefix(p.shape, "text:"); {
			case p.events != nil:
				checkEvents(t, p.events, string(data))
				kind = strings.TrimPrefix(kind, "text/event-stream; charset=utf-8")
			case isText:
				if !strings.HasPrefix(string(data), text) {
					t.Errorf("%s: %q, want %q first", p.source, data, text)
				}
				kind = strings.TrimPrefix(kind, "text/plain; charset=utf-8")
			default:
				matches(t, p.shape, string(data))
				kind = strings.TrimPrefix(kind, "application/json")
			}
			if kind != "" {
				t.Errorf("%s: Content-Type %q", p.source, response.Header.Get("Content-Type"))
			}
		})
	}
	quick.term()
	paced.term()
}

// checkEvents holds every event to one of the shapes, and wants each shape somewhere.
func checkEvents(t *testing.T, shapes []string, stream string) {
	t.Helper()
	events := strings.Split(stream, "\n\n")
	if n := len(events); n < 3 || events[n-1] != "" || events[n-2] != "data: [DONE]" {
		t.Fatalf("a stream %.300q", stream)
	}
	met := make([]bool, len(shapes))
	for _, event := range events[:len(events)-2] {
		var got any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &got); err != nil {
			t.Fatalf("%v: %q", err, event)
		}
		fits, why := false, ""
		for i, shape := range shapes {
			var want any
			if err := json.Unmarshal([]byte(shape), &want); err != nil {
				t.Fatalf("the shape %s: %v", shape, err)
			}
			wrong := mismatch(want, got, "")
			fits, met[i] = fits || wrong == "", met[i] || wrong == ""
			why += "\n" + wrong
		}
		if !fits {
			t.Errorf("the event %.500s: %s", event, why)
		}
	}
	for i, is := range met {
		if !is {
			t.Errorf("no event is %s, of %.600s", shapes[i], stream)
		}
	}
}
