package backend

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
	"github.com/fanoutbench/fanoutbench/runtime/model/gguf"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"
)

// ChatTemplate reads the chat template that the settings name; nil: the model has none.
//
//	chat_template  a file
//	tokenizer_path, or without it model_path:
//	  a folder     chat_template.jinja, otherwise chat_template in tokenizer_config.json: a text, or a list of
//	               {"name": ..., "template": ...}, of which default and tool_use are taken
//	  a GGUF       tokenizer.chat_template, and tokenizer.chat_template.tool_use
//	neither        chat.ChatML, the form of the models that need no files
//
// The special tokens are those of tokenizer_config.json or of the GGUF, also for a template of chat_template.
func ChatTemplate(a args.Args) (*chat.Template, error) {
	source, tokens, err := shippedChat(cmp.Or(a.TokenizerPath, a.ModelPath))
	if err != nil {
		return nil, err
	}
	if a.ChatTemplate != "" {
		text, err := tensor.ReadFile(a.ChatTemplate, maxChatFile)
		if err != nil {
			return nil, fmt.Errorf("chat_template is %q, expected a file with a Jinja template: %w", a.ChatTemplate, err)
		}
		source = chat.Source{Name: a.ChatTemplate, Text: string(text)}
	}
	switch {
	case source.Name != "":
		t, err := chat.Parse(source, tokens)
		if err != nil {
			return nil, fmt.Errorf("the chat template cannot be read: %w", err)
		}
		return t, nil
	case a.ModelPath == "" && a.TokenizerPath == "":
		return chat.ChatML()
	}
	return nil, nil
}

// maxChatFile is far above any chat template and tokenizer_config.json.
const maxChatFile = 64 << 20

// shippedChat reads what a model's files have; a Source without a name is none.
func shippedChat(path string) (chat.Source, map[string]string, error) {
	if path == "" {
		return chat.Source{}, nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return chat.Source{}, nil, err
	case strings.HasSuffix(path, ".gguf"):
		return ggufChat(path)
	case info.IsDir():
		return folderChat(path)
	}
	return folderChat(filepath.Dir(path)) // of a tokenizer.json
}

// tokenizerConfig is what a chat needs of tokenizer_config.json.
type tokenizerConfig struct {
	Template json.RawMessage `json:"chat_template"`
	tokens   map[string]string
}

// specials are the names of special tokens; each is a text or {"content": text}.
var specials = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

func folderChat(folder string) (chat.Source, map[string]string, error) {
	config := filepath.Join(folder, "tokenizer_config.json")
	c, err := readConfig(config)
	if err != nil {
		return chat.Source{}, nil, err
	}
	own := filepath.Join(folder, "chat_template.jinja")
	text, err := tensor.ReadFile(own, maxChatFile)
	switch {
	case err == nil:
		return chat.Source{Name: own, Text: string(text)}, c.tokens, nil
	case !errors.Is(err, fs.ErrNotExist):
		return chat.Source{}, nil, err
	}
	source, err := configChat(config, c.Template)
	return source, c.tokens, err
}

// readConfig reads a tokenizer_config.json, which need not be there.
func readConfig(path string) (tokenizerConfig, error) {
	c := tokenizerConfig{tokens: map[string]string{}}
	text, err := tensor.ReadFile(path, maxChatFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return c, fmt.Errorf("%s is no JSON object: %w", path, err)
	}
	if err := jsoncheck.DoubledKey(text); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	c.Template = all["chat_template"]
	for _, name := range specials {
		var plain *string
		var object struct{ Content *string }
		switch raw := all[name]; {
		case raw == nil || string(raw) == "null":
			continue
		case json.Unmarshal(raw, &plain) == nil:
		case json.Unmarshal(raw, &object) == nil && object.Content != nil:
			plain = object.Content
		default:
			return c, fmt.Errorf("%s: %s is %.80s, expected a text or an object with content", path, name, raw)
		}
		c.tokens[name] = *plain
	}
	return c, nil
}

// configChat reads chat_template of a tokenizer_config.json.
func configChat(path string, raw json.RawMessage) (chat.Source, error) {
	if raw == nil || string(raw) == "null" {
		return chat.Source{}, nil
	}
	source := chat.Source{Name: path + ": chat_template"}
	if json.Unmarshal(raw, &source.Text) == nil {
		return source, nil
	}
	var named []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &named); err != nil {
		return chat.Source{}, fmt.Errorf("%s: chat_template is %.80s, expected a text or a list of named templates", path, raw)
	}
	found := false
	for _, n := range named {
		switch n.Name {
		case "default":
			source.Text, found = n.Template, true
		case "tool_use":
			source.Tools = n.Template
		}
	}
	if !found {
		return chat.Source{}, fmt.Errorf("%s: chat_template has %d templates, expected one of the name default", path, len(named))
	}
	return source, nil
}

// The keys of a GGUF.
const (
	ggufTemplate = "tokenizer.chat_template"
	ggufTokens   = "tokenizer.ggml.tokens"
)

// ggufIDs are the keys of special tokens' ids.
var ggufIDs = map[string]string{
	"bos_token": "tokenizer.ggml.bos_token_id", "eos_token": "tokenizer.ggml.eos_token_id", "unk_token": "tokenizer.ggml.unknown_token_id",
	"sep_token": "tokenizer.ggml.seperator_token_id", "pad_token": "tokenizer.ggml.padding_token_id",
}

func ggufChat(path string) (source chat.Source, tokens map[string]string, err error) {
	f, err := gguf.Open(path)
	if err != nil {
		return chat.Source{}, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.Has(ggufTemplate) {
		source.Name = path + ": " + ggufTemplate
		if source.Text, err = f.String(ggufTemplate); err != nil {
			return source, nil, err
		}
	}
	if f.Has(ggufTemplate + ".tool_use") {
		if source.Tools, err = f.String(ggufTemplate + ".tool_use"); err != nil {
			return source, nil, err
		}
	}
	tokens = map[string]string{}
	if !f.Has(ggufTokens) {
		return source, tokens, nil
	}
	vocabulary, err := f.Strings(ggufTokens)
	if err != nil {
		return source, nil, err
	}
	for name, key := range ggufIDs {
		if !f.Has(key) {
			continue
		}
		id, err := f.Int(key)
		if err == nil && (id < 0 || id >= int64(len(vocabulary))) {
			err = fmt.Errorf("%s: %s is %d, expected 0 to %d", path, key, id, len(vocabulary)-1)
		}
		if err != nil {
			return source, nil, err
		}
		tokens[name] = strings.Clone(vocabulary[id])
	}
	return source, tokens, nil
}
