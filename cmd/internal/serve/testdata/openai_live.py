"""Drives a running server with the official OpenAI client.

openai_live.py URL KEY expects a server of the model "small" that runs two requests
and lets two wait. It prints the name of each check that held, and raises at the
first that does not.
"""

import sys
import threading
import time
import urllib.request

import openai

MESSAGES = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Say something. 🙂"}]


def texts_of(stream, delta):
    """The text and the finish of each choice of a stream, and its usage."""
    texts, finish, last = {}, {}, None
    for chunk in stream:
        last = chunk.usage or last
        for c in chunk.choices:
            assert c.index not in finish, "a chunk behind its choice's finish"
            texts[c.index] = texts.get(c.index, "") + (delta(c) or "")
            if c.finish_reason:
                finish[c.index] = c.finish_reason
    return texts, finish, last


def chat(client):
    asked = dict(model="small", messages=MESSAGES, max_tokens=40, temperature=1, seed=5, n=2)
    one = client.chat.completions.create(**asked)
    assert (one.object, one.model) == ("chat.completion", "small"), one
    assert [c.index for c in one.choices] == [0, 1], one
    assert all(c.message.role == "assistant" and c.message.content for c in one.choices), one
    assert one.choices[0].message.content != one.choices[1].message.content, "two copies of one text"
    u = one.usage
    assert 0 < u.completion_tokens <= 80 and u.total_tokens == u.prompt_tokens + u.completion_tokens, u

    stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    texts, finish, last = texts_of(stream, lambda c: c.delta.content)
    assert texts == {c.index: c.message.content for c in one.choices}, (texts, one)
    assert finish == {c.index: c.finish_reason for c in one.choices}, (finish, one)
    assert (last.prompt_tokens, last.completion_tokens) == (u.prompt_tokens, u.completion_tokens), (last, u)
    print("chat")

    # The text up to a stop, which is cut off, and the finish that says so.
    whole = one.choices[0].message.content
    stop = whole[7:10]
    cut = dict(asked, n=1, stop=[stop])
    want = whole[: whole.index(stop)]
    c = client.chat.completions.create(**cut).choices[0]
    assert (c.message.content, c.finish_reason) == (want, "stop"), (c, whole)
    texts, finish, _ = texts_of(client.chat.completions.create(**cut, stream=True), lambda c: c.delta.content)
    assert (texts, finish) == ({0: want}, {0: "stop"}), (texts, finish, want)
    print("chat-stop")

    # One entry a token, whose bytes joined are the text, characters of several tokens too.
    ask = dict(asked, n=1, logprobs=True, top_logprobs=3, extra_body={"skip_special_tokens": False})
    one = client.chat.completions.create(**ask)
    tokens, text = one.choices[0].logprobs.content, one.choices[0].message.content
    assert len(tokens) == one.usage.completion_tokens, one
    assert all(t.logprob <= 0 and len(t.top_logprobs) == 3 for t in tokens), one
    assert b"".join(bytes(t.bytes) for t in tokens).decode(errors="replace") == text, (text, tokens)
    assert len(text.encode()) > len(text), "no character of several tokens"
    streamed = []
    for chunk in client.chat.completions.create(**ask, stream=True):
        for c in chunk.choices:
            streamed += c.logprobs.content if c.logprobs else []
    assert streamed == tokens, (streamed, tokens)
    print("chat-logprobs")


def completions(client):
    asked = dict(model="small", max_tokens=20, temperature=1, seed=3)
    one = client.completions.create(prompt=["one", "two"], **asked)
    assert one.object == "text_completion" and [c.index for c in one.choices] == [0, 1], one
    assert one.usage.prompt_tokens == 6, one.usage
    stream = client.completions.create(prompt=["one", "two"], stream=True, **asked)
    texts, finish, _ = texts_of(stream, lambda c: c.text)
    assert texts == {c.index: c.text for c in one.choices}, (texts, one)
    assert finish == {c.index: c.finish_reason for c in one.choices}, (finish, one)
    ids = client.completions.create(prompt=[list(b"one"), list(b"two")], **asked)
    assert [c.text for c in ids.choices] == [c.text for c in one.choices], (ids, one)
    echo = client.completions.create(prompt="one", echo=True, logprobs=2, **asked).choices[0]
    assert echo.text == "one" + one.choices[0].text, (echo, one)
    assert echo.logprobs.token_logprobs[0] is None and echo.logprobs.tokens[:3] == ["o", "n", "e"], echo
    print("completions")


def models(client):
    assert [m.id for m in client.models.list()] == ["small"]
    assert client.models.retrieve("small").object == "model"
    print("models")


def errors(client, url):
    def refused(kind, status, says, call):
        try:
            call()
        except openai.APIStatusError as e:
            assert type(e) is kind and e.status_code == status and says in e.message, repr(e)
        else:
            raise AssertionError(says + " was taken")

    ask = client.chat.completions.create
    refused(openai.BadRequestError, 400, "temperature is -1", lambda: ask(model="small", messages=MESSAGES, temperature=-1))
    refused(openai.BadRequestError, 400, "messages", lambda: ask(model="small", messages=[]))
    refused(openai.BadRequestError, 400, "context_length of 32768", lambda: client.completions.create(model="small", prompt="x" * 40000))
    refused(openai.NotFoundError, 404, '"other"', lambda: client.models.retrieve("other"))
    for key in ["wrong", "secre", "secret2", "SECRET"]:
        stranger = openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0)
        refused(openai.AuthenticationError, 401, "Unauthorized", lambda: stranger.models.list())
        refused(openai.AuthenticationError, 401, "Unauthorized", lambda: stranger.completions.create(model="small", prompt="x"))
    print("errors")


def overload(client, url, key):
    """Of six requests that do not end two run and two wait; those that leave make room."""
    refusals, streams, lock = [], [], threading.Lock()

    def long():
        try:
            stream = client.completions.create(model="small", prompt="x", max_tokens=30000, stream=True, extra_body={"ignore_eos": True})
            with lock:
                streams.append(stream)
            for _ in stream:
                pass
        except openai.APIError as e:
            with lock:
                refusals.append(str(e))
        except Exception:  # its connection is closed below, while it reads
            pass

    for n in range(6):  # one after the other: the queue is for those that arrive at once, too
        threading.Thread(target=long, daemon=True).start()
        until(lambda: running(url, key) + waiting(url, key) + len(refusals) == n + 1)
    assert len(refusals) == 2, refusals
    assert all("max_queued_requests" in r for r in refusals), refusals
    assert (running(url, key), waiting(url, key)) == (2, 2)
    end = time.monotonic() + 120
    while running(url, key) > 0 or waiting(url, key) > 0:
        assert time.monotonic() < end, "the clients left, and their requests run"
        for stream in list(streams):
            stream.close()
        time.sleep(0.02)
    assert client.completions.create(model="small", prompt="x", max_tokens=3).choices[0].text
    print("overload")


def until(done):
    end = time.monotonic() + 120
    while not done():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def gauge(url, key, name):
    ask = urllib.request.Request(url + "/metrics", headers={"Authorization": "Bearer " + key})
    with urllib.request.urlopen(ask) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + "{"):
                return float(line.split()[-1])
    raise AssertionError("no " + name)


def running(url, key):
    return gauge(url, key, "sglang:num_running_reqs")


def waiting(url, key):
    return gauge(url, key, "sglang:num_queue_reqs")


def main(url, key):
    client = openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0)
    chat(client)
    completions(client)
    models(client)
    errors(client, url)
    overload(client, url, key)


main(*sys.argv[1:])
