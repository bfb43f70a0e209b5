"""Drives a server with the official OpenAI client.

openai_client.py URL KEY prints what each kind of call gave as one line of JSON,
NAME VALUE. The caller knows what the server says and compares. It raises where
the client does not understand the server.
"""

import json
import sys

import openai


def show(name, value):
    print(name, json.dumps(value, ensure_ascii=False))


def usage(u):
    return [u.prompt_tokens, u.completion_tokens, u.total_tokens]


def chat(client):
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "u"}]}]
    one = client.chat.completions.create(model="small", messages=messages, max_tokens=9, stop=["X"], seed=1)
    c = one.choices[0]
    show("chat", [one.object, one.model, c.message.role, c.message.content, c.finish_reason, usage(one.usage)])

    two = client.chat.completions.create(model="small", messages=messages, n=2, logprobs=True, top_logprobs=2)
    show("chat-n", [[c.index, c.message.content, [t.token for t in c.logprobs.content]] for c in two.choices])

    texts, roles, finish, last = {}, {}, {}, None
    stream = client.chat.completions.create(
        model="small", messages=messages, n=2, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        assert chunk.object == "chat.completion.chunk", chunk
        last = chunk.usage or last
        for c in chunk.choices:
            roles[c.index] = c.delta.role or roles.get(c.index)
            texts[c.index] = texts.get(c.index, "") + (c.delta.content or "")
            finish[c.index] = c.finish_reason or finish.get(c.index)
    show("chat-stream", [[i, roles[i], texts[i], finish[i]] for i in sorted(texts)] + [usage(last)])


def completions(client):
    one = client.completions.create(model="small", prompt="p", echo=True, logprobs=2)
    c = one.choices[0]
    show("completion", [one.object, c.text, c.finish_reason, c.logprobs.tokens, usage(one.usage)])

    many = client.completions.create(model="small", prompt=[[1, 2], [3]], max_tokens=5)
    show("completion-batch", [[c.index, c.text] for c in many.choices])

    texts, finish = {}, {}
    for chunk in client.completions.create(model="small", prompt=["p", "q"], stream=True):
        for c in chunk.choices:
            texts[c.index] = texts.get(c.index, "") + c.text
            finish[c.index] = c.finish_reason or finish.get(c.index)
    show("completion-stream", [[i, texts[i], finish[i]] for i in sorted(texts)])


def models(client):
    show("models", [[m.id, m.object] for m in client.models.list()])
    show("model", client.models.retrieve("small").id)


def errors(client, url):
    def refused(name, call):
        try:
            call()
        except openai.APIStatusError as e:
            show(name, [type(e).__name__, e.status_code, e.body["message"], e.param])
        else:
            raise AssertionError(name + " was taken")

    messages = [{"role": "user", "content": "u"}]
    refused("bad", lambda: client.chat.completions.create(model="small", messages=messages, temperature=-1))
    refused("key", lambda: openai.OpenAI(base_url=url + "/v1", api_key="wrong", max_retries=0).models.list())
    refused("unknown", lambda: client.models.retrieve("other"))
    refused("full", lambda: client.completions.create(model="small", prompt="full"))
    try:
        for _ in client.completions.create(model="small", prompt="full", stream=True):
            pass
    except openai.APIError as e:
        show("full-stream", [type(e).__name__, e.message, e.code])
    else:
        raise AssertionError("a stream that failed ended well")


def main(url, key):
    client = openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0)
    chat(client)
    completions(client)
    models(client)
    errors(client, url)


main(*sys.argv[1:])
