package wire

// The structs below hold one Go field a wire field, in wire order; the tag is
// SGLang's name. table.go derives everything else from them.

// BatchTokenIDOutput is a scheduler's batch: per row the new token ids and what
// the detokenizer needs to turn them into text.
type BatchTokenIDOutput struct {
	RIDs                           []string           `wire:"rids"`
	HTTPWorkerIPCs                 []Opt[string]      `wire:"http_worker_ipcs"`
	FinishedReasons                []Map              `wire:"finished_reasons"`
	DecodedTexts                   []Opt[string]      `wire:"decoded_texts"`
	DecodeIDs                      []Opt[IntArray]    `wire:"decode_ids"`
	ReadOffsets                    []Opt[int64]       `wire:"read_offsets"`
	OutputIDs                      []Opt[IntArray]    `wire:"output_ids"`
	SkipSpecialTokens              []Opt[bool]        `wire:"skip_special_tokens"`
	SpacesBetweenSpecialTokens     []Opt[bool]        `wire:"spaces_between_special_tokens"`
	NoStopTrim                     []Opt[bool]        `wire:"no_stop_trim"`
	PromptTokens                   []Opt[int64]       `wire:"prompt_tokens"`
	ReasoningTokens                []Opt[int64]       `wire:"reasoning_tokens"`
	CompletionTokens               []Opt[int64]       `wire:"completion_tokens"`
	CachedTokens                   []Opt[int64]       `wire:"cached_tokens"`
	InputTokenLogprobsVal          [][]Opt[float64]   `wire:"input_token_logprobs_val"`
	InputTokenLogprobsIdx          [][]Opt[int64]     `wire:"input_token_logprobs_idx"`
	OutputTokenLogprobsVal         [][]Opt[float64]   `wire:"output_token_logprobs_val"`
	OutputTokenLogprobsIdx         [][]Opt[int64]     `wire:"output_token_logprobs_idx"`
	InputTopLogprobsVal            [][][]Opt[float64] `wire:"input_top_logprobs_val"`
	InputTopLogprobsIdx            [][][]Opt[int64]   `wire:"input_top_logprobs_idx"`
	OutputTopLogprobsVal           [][][]Opt[float64] `wire:"output_top_logprobs_val"`
	OutputTopLogprobsIdx           [][][]Opt[int64]   `wire:"output_top_logprobs_idx"`
	InputTokenIDsLogprobsVal       [][][]Opt[float64] `wire:"input_token_ids_logprobs_val"`
	InputTokenIDsLogprobsIdx       [][][]Opt[int64]   `wire:"input_token_ids_logprobs_idx"`
	OutputTokenIDsLogprobsVal      [][][]Opt[float64] `wire:"output_token_ids_logprobs_val"`
	OutputTokenIDsLogprobsIdx      [][][]Opt[int64]   `wire:"output_token_ids_logprobs_idx"`
	OutputTokenEntropyVal          []Opt[float64]     `wire:"output_token_entropy_val"`
	OutputTokenSamplingMask        []Value            `wire:"output_token_sampling_mask"`
	OutputHiddenStates             []Value            `wire:"output_hidden_states"`
	RoutedExperts                  []Opt[Ext]         `wire:"routed_experts"`
	IndexerTopK                    []Opt[Ext]         `wire:"indexer_topk"`
	PlaceholderTokensIdx           [][]Opt[int64]     `wire:"placeholder_tokens_idx"`
	PlaceholderTokensVal           [][]Opt[int64]     `wire:"placeholder_tokens_val"`
	RetractionCounts               []Opt[int64]       `wire:"retraction_counts"`
	BeamSearchOutput               []Value            `wire:"beam_search_output"`
	WeightVersions                 []Value            `wire:"weight_versions"`
	TokenSteps                     [][]Opt[int64]     `wire:"token_steps"`
	CustomizedInfo                 *Opaque            `wire:"customized_info"`
	CachedTokensDetails            []Map              `wire:"cached_tokens_details"`
	DPRanks                        []Opt[int64]       `wire:"dp_ranks"`
	TimeStats                      *Opaque            `wire:"time_stats"`
	ImageTokens                    []Opt[int64]       `wire:"image_tokens"`
	AudioTokens                    []Opt[int64]       `wire:"audio_tokens"`
	VideoTokens                    []Opt[int64]       `wire:"video_tokens"`
	SpecVerifyCt                   []Opt[int64]       `wire:"spec_verify_ct"`
	SpecNumCorrectDrafts           []Opt[int64]       `wire:"spec_num_correct_drafts"`
	SpecNumBlockAcceptTokens       []Opt[int64]       `wire:"spec_num_block_accept_tokens"`
	SpecNumCapTokens               []Opt[int64]       `wire:"spec_num_cap_tokens"`
	SpecCorrectDraftsHistogram     [][]Opt[int64]     `wire:"spec_correct_drafts_histogram"`
	SpecCapLensHistogram           [][]Opt[int64]     `wire:"spec_cap_lens_histogram"`
	InputTopLogprobsValFlat        []Opt[Ext]         `wire:"input_top_logprobs_val_flat"`
	InputTopLogprobsIdxFlat        []Opt[Ext]         `wire:"input_top_logprobs_idx_flat"`
	InputTopLogprobsFlatNullPrefix []Opt[int64]       `wire:"input_top_logprobs_flat_null_prefix"`
}

// Class is the name on the wire.
func (m *BatchTokenIDOutput) Class() string { return "BatchTokenIDOutput" }

// Rows is the number of rows: the length of rids.
func (m *BatchTokenIDOutput) Rows() int { return len(m.RIDs) }

// BatchStrOutput is a detokenizer's batch or row: the text that came new, and
// every other column of the batch passed on.
type BatchStrOutput struct {
	RIDs                           []string           `wire:"rids"`
	HTTPWorkerIPCs                 []Opt[string]      `wire:"http_worker_ipcs"`
	FinishedReasons                []Map              `wire:"finished_reasons"`
	OutputStrs                     []Opt[string]      `wire:"output_strs"`
	OutputIDs                      []Opt[IntArray]    `wire:"output_ids"`
	PromptTokens                   []Opt[int64]       `wire:"prompt_tokens"`
	CompletionTokens               []Opt[int64]       `wire:"completion_tokens"`
	ReasoningTokens                []Opt[int64]       `wire:"reasoning_tokens"`
	CachedTokens                   []Opt[int64]       `wire:"cached_tokens"`
	InputTokenLogprobsVal          [][]Opt[float64]   `wire:"input_token_logprobs_val"`
	InputTokenLogprobsIdx          [][]Opt[int64]     `wire:"input_token_logprobs_idx"`
	OutputTokenLogprobsVal         [][]Opt[float64]   `wire:"output_token_logprobs_val"`
	OutputTokenLogprobsIdx         [][]Opt[int64]     `wire:"output_token_logprobs_idx"`
	InputTopLogprobsVal            [][][]Opt[float64] `wire:"input_top_logprobs_val"`
	InputTopLogprobsIdx            [][][]Opt[int64]   `wire:"input_top_logprobs_idx"`
	OutputTopLogprobsVal           [][][]Opt[float64] `wire:"output_top_logprobs_val"`
	OutputTopLogprobsIdx           [][][]Opt[int64]   `wire:"output_top_logprobs_idx"`
	InputTokenIDsLogprobsVal       [][][]Opt[float64] `wire:"input_token_ids_logprobs_val"`
	InputTokenIDsLogprobsIdx       [][][]Opt[int64]   `wire:"input_token_ids_logprobs_idx"`
	OutputTokenIDsLogprobsVal      [][][]Opt[float64] `wire:"output_token_ids_logprobs_val"`
	OutputTokenIDsLogprobsIdx      [][][]Opt[int64]   `wire:"output_token_ids_logprobs_idx"`
	OutputTokenEntropyVal          []Opt[float64]     `wire:"output_token_entropy_val"`
	OutputTokenSamplingMask        []Value            `wire:"output_token_sampling_mask"`
	OutputHiddenStates             []Value            `wire:"output_hidden_states"`
	RoutedExperts                  []Opt[string]      `wire:"routed_experts"`
	IndexerTopK                    []Opt[string]      `wire:"indexer_topk"`
	PlaceholderTokensIdx           [][]Opt[int64]     `wire:"placeholder_tokens_idx"`
	PlaceholderTokensVal           [][]Opt[int64]     `wire:"placeholder_tokens_val"`
	RetractionCounts               []Opt[int64]       `wire:"retraction_counts"`
	BeamSearchOutput               []Value            `wire:"beam_search_output"`
	WeightVersions                 []Value            `wire:"weight_versions"`
	TokenSteps                     [][]Opt[int64]     `wire:"token_steps"`
	CustomizedInfo                 *Opaque            `wire:"customized_info"`
	CachedTokensDetails            []Map              `wire:"cached_tokens_details"`
	DPRanks                        []Opt[int64]       `wire:"dp_ranks"`
	TimeStats                      *Opaque            `wire:"time_stats"`
	ImageTokens                    []Opt[int64]       `wire:"image_tokens"`
	AudioTokens                    []Opt[int64]       `wire:"audio_tokens"`
	VideoTokens                    []Opt[int64]       `wire:"video_tokens"`
	SpecVerifyCt                   []Opt[int64]       `wire:"spec_verify_ct"`
	SpecNumCorrectDrafts           []Opt[int64]       `wire:"spec_num_correct_drafts"`
	SpecNumBlockAcceptTokens       []Opt[int64]       `wire:"spec_num_block_accept_tokens"`
	SpecNumCapTokens               []Opt[int64]       `wire:"spec_num_cap_tokens"`
	SpecCorrectDraftsHistogram     [][]Opt[int64]     `wire:"spec_correct_drafts_histogram"`
	SpecCapLensHistogram           [][]Opt[int64]     `wire:"spec_cap_lens_histogram"`
	InputTopLogprobsValFlat        []Opt[Ext]         `wire:"input_top_logprobs_val_flat"`
	InputTopLogprobsIdxFlat        []Opt[Ext]         `wire:"input_top_logprobs_idx_flat"`
	InputTopLogprobsFlatNullPrefix []Opt[int64]       `wire:"input_top_logprobs_flat_null_prefix"`
}

// Class is the name on the wire.
func (m *BatchStrOutput) Class() string { return "BatchStrOutput" }

// Rows is the number of rows: the length of rids.
func (m *BatchStrOutput) Rows() int { return len(m.RIDs) }
