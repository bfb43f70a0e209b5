// Package chat makes a model's prompt of a chat, by the template that the model ships.
//
// # What a template is given
//
// As by transformers' apply_chat_template (5.24.0, utils/chat_template_utils.py):
//
//	messages               a list of dicts, with every field that the client sent, in its order
//	tools                  a list of what the client sent, or None
//	documents              None
//	add_generation_prompt  true: the prompt ends where the model's answer begins
//	bos_token, eos_token   and the model's other special tokens
//	chat_template_kwargs   any other variable, such as enable_thinking
//
// The reasoning of a message has three names, reasoning_content, thinking and reasoning; a template finds
// it under the first two, whichever the client took. Package jinja says which templates can be read.
//
// # What is done before
//
// As by SGLang (entrypoints/openai/serving_chat.py):
//
//   - A role is written in lower case. Content that is null or missing is "".
//   - Content that is a list of texts is joined by a blank to one text, unless the template has a loop over
//     content; for role tool always.
//   - Arguments of an assistant's tool calls that are a text become the object that the text is in JSON;
//     another text is an error.
//   - With Continue the last message, an assistant's, is not rendered but put behind the prompt, so that the
//     answer goes on with it. Any other last message is an error (SGLang ignores the wish).
//
// Not as SGLang: an assistant's message at the end that is not to be continued stays one (SGLang makes it the
// user's); tools are given as the client wrote them (SGLang adds the defaults of their fields), and a
// template that fails is not tried again with tools of another form.
//
// # Errors
//
// Render's errors concern the chat: *jinja.Error if it is the template that fails. Its own words, from
// raise_exception, are the whole message. Limits keep a template from running for ever: jinja.Bounds.
package chat
