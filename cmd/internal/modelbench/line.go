package main

// The types of lines.
const (
	typeReady     = "ready"
	typeGenerate  = "generate"
	typeGenerated = "generated"
	typeTokenize  = "tokenize"
	typeTokenized = "tokenized"
	typePass      = "pass"
	typePassed    = "passed"
)

// The arms, as their ready lines name them.
const (
	armOurs = "fanoutbench"
	armRead = "read"
)

// ready is what a process says of itself.
type ready struct {
	Type        string  `json:"type"`
	Arm         string  `json:"arm"`
	Version     string  `json:"version"`
	File        string  `json:"file"` // the model's, without its folder
	Threads     int     `json:"threads"`
	DType       string  `json:"dtype,omitempty"` // of the first layer's q_proj, ours alone
	WeightBytes int64   `json:"weight_bytes"`    // that one decoded token reads; 0 where it is not known
	EOS         []int64 `json:"eos"`
}

// generate asks for tokens.
type generate struct {
	Type   string  `json:"type"`
	Prompt []int64 `json:"prompt"`
	Tokens int     `json:"tokens"`
	Top    int     `json:"top"`  // the most likely candidates at each position
	Stop   bool    `json:"stop"` // with a token that ends a text, which is the last of ids then
}

type generated struct {
	Type           string        `json:"type"`
	PrefillSeconds float64       `json:"prefill_s"`
	DecodeSeconds  float64       `json:"decode_s"` // of one step less than there are ids
	CPUSeconds     float64       `json:"cpu_s"`    // of both
	IDs            []int64       `json:"ids"`
	Top            [][]candidate `json:"top"` // of each id, the likeliest first, none where it is not said; null if none were asked for
}

// candidate is a token that could have been chosen.
type candidate struct {
	ID      int64   `json:"id"`
	Logprob float64 `json:"logprob"`
	Logit   float64 `json:"logit,omitempty"` // ours alone
}

type tokenize struct {
	Type string `json:"type"`
	Text string `json:"text"` // special tokens in it are tokens
}

type tokenized struct {
	Type string  `json:"type"`
	IDs  []int64 `json:"ids"`
}

type pass struct {
	Type  string `json:"type"`
	Times int    `json:"times"` // at least 1
}

type passed struct {
	Type    string  `json:"type"`
	Bytes   int64   `json:"bytes"` // of one time
	Seconds float64 `json:"seconds"`
	Sum     uint64  `json:"sum"` // of the bytes as numbers of 64 bits, so that they were read
}
