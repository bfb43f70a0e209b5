// Package sim is a simulated device: a model whose steps take a stated time and
// whose tokens and scores are drawn, so that the paths around a model can be
// loaded beyond what a CPU decodes.
//
// # Time
//
// A step takes Base + PerToken · tokens + PerContext · context seconds: tokens
// are those that it computes, context is the length of every work's sequence,
// computed before or now. Forward draws the tokens first, which takes time too,
// and then sleeps until the step's deadline; it does not sleep the step's time.
// A deadline is the step's time after its begin. A step begins when Forward is
// called, less what the step before woke late: sleeping too long does not add
// up, and a step after one that was late is shorter by that. Time that the
// caller spends between two steps counts, as on a device that waits for its
// host. Lateness is reported in [Stats], never hidden: a step whose deadline
// had passed before it could sleep is Missed.
//
// # Machines
//
// [Machines] have step times made of published figures, so that a run's constants are
// none of its own. Those named after Llama-3.1-8B are step times as the source has them: fitted
// to traces of vLLM on one GPU, a base and a part for each prompt token that is not in the cache (one generated
// takes a third of that there, and as much as a prompt's here). That of Qwen3-0.6B is
// made of two latencies, of one request each, of SGLang's server: what 50 more prompts take, less the arithmetic of
// their one token, is divided by their context. So it holds the server's own work for a request and a prompt,
// HTTP and tokenizing, which is no device's and comes once more here; and the least that a token
// can take by the GPU's data sheet stands for what it does take: long prompts
// that are not in the cache are too fast.
//
// # The clock
//
// The clock, with its sleep, is given: in tests there is none. [Wall] is the
// real one.
//
// # Tokens
//
// The vocabulary ([Vocabulary]) is of bytes:
//
//	0 to 255     the byte
//	256          no byte at all
//	257, 258     <|endoftext|> and <|im_end|>: special, and the model's EOS
//	259 to 263   <|im_start|> and others: special
//
// What a request generates depends on its seed and on the position, counted from
// its first generated token; on nothing else, its prompt included. (Its seed is
// as package sampling has it: where it has none, its rid and the device's seed
// are.) At each position where no character is open, Philox (package sampling)
// with the counter (position, 1, 0, 0) chooses, the first word what comes and
// the second which one:
//
//	a character of 2, 3 or 4 bytes, one token each: Latin, CJK, pictographs
//	the token without bytes
//	a special token other than EOS
//	an EOS, which stops a request unless it ignores it
//	otherwise a printable ASCII character
//
// [Shares] are of tokens: with MultiByte 0.3 a third of 0.3 are tokens of
// characters of 2 bytes, as many of 3 and of 4. A text is valid UTF-8 unless it
// ends within a character. Of the other sampling parameters min_new_tokens is
// heeded: a stop token or EOS too early becomes an ASCII character, also within
// a character, which is then broken.
//
// # Scores
//
// Where log-probabilities are wanted, logits are drawn from 0 to 10, with the
// counter (position in the sequence, 2, id / 4, 0), a word for each id; the token
// generated has 11, so it is the most likely. Their log softmax is what package
// sampling makes of them; temperature does not count.
//
// A request without a seed has for these draws the key of the tokens before the
// position (FNV-1a of their bytes) in place of its rid's, and its tokens that of its
// prompt: as of a real model, the scores of a text are the same whoever asks.
//
// # Errors
//
// New names the field of a [Config] that cannot be. Forward's error is for the
// whole batch: a work that contradicts itself, a clock that wakes too early, or
// the clock's own error.
package sim
