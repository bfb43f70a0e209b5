package api

import "github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"

// ChatTemplate makes a prompt of a chat; *chat.Template is one.
type ChatTemplate interface {
	Roles() []string           // that messages may have
	Mentions(word string) bool // false: what has this name in a request cannot reach the model
	Render(chat.Request) (string, error)
}

// unrendered is the answer where a template fails. What it says itself is the whole message, as in SGLang.
func unrendered(err error) *failure {
	if words, own := chat.Raised(err); own {
		return invalid("messages", "%s", words)
	}
	return invalid("messages", "messages cannot be made a prompt: %s", err)
}
