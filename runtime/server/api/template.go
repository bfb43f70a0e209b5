package api

import "strings"

// Message of a chat: a role that [ChatTemplate.Roles] has, and text.
type Message struct {
	Role    string
	Content string
}

// ChatTemplate makes a prompt of a chat. A model's own may stand in ChatML's place.
type ChatTemplate interface {
	Roles() []string
	Render(chat []Message) string
}

// ChatML is the template of the built-in models. Its end of a turn, <|im_end|>, is
// an EOS of theirs, so that it ends an answer. Text of a message that looks like
// one of its marks is one, as in SGLang: a tokenizer sees no difference.
type ChatML struct{}

// Roles that ChatML knows.
func (ChatML) Roles() []string { return []string{"system", "developer", "user", "assistant"} }

// Render opens the assistant's turn after the others.
func (ChatML) Render(chat []Message) string {
	var b strings.Builder
	for _, m := range chat {
		b.WriteString("<|im_start|>" + m.Role + "\n" + m.Content + "<|im_end|>\n")
	}
	b.WriteString("<|im_start|>assistant\n")
	return b.String()
}
