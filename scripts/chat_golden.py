"""Writes what runtime/tokenizer/chat is compared with, by jinja_golden.py's environment. In the folder that
scripts/tokenizer_files prints, with its bin/python:

    chat_golden.py chats FOLDER runtime/tokenizer/chat/testdata
        the templates of Qwen3 and SmolLM2 (both Apache-2.0), and chats
    chat_golden.py random FOLDER SEED OUT
        many made-up chats in these templates
    chat_golden.py transformers FOLDER
        compares the committed ones with transformers itself, which must be installed (tried with 5.24.0)
"""

import json
import pathlib
import random
import sys

import jinja2
from jinja_golden import NOW, VARIABLES, language, render, write

# Chats. A case is a request: what the client sends, and the variables that a template is given for it.

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Kraków","days":2,  "x":1.0}'}}
CALL_OBJECT = {"type": "function", "function": {"name": "noop", "arguments": {}}}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather", "description": "The weather at a place <now> & \"later\"; é",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "default": 1.0}, "items": {"type": "array", "items": {"enum": [None, True, 1e-7]}}},
            "required": ["city"],
        },
        "strict": False,
    },
}
NOOP = {"type": "function", "function": {"name": "noop", "parameters": {"type": "object", "properties": {}}}}


def say(role, content, **more):
    return {"role": role, "content": content, **more}


TURNS = [say("user", "What is 1+1?"), say("assistant", "2"), say("user", "And 2+2?")]
TOOL_TURNS = [
    say("user", "Weather in Kraków?"), say("assistant", None, tool_calls=[CALL, CALL_OBJECT]),
    say("tool", '{"t": 21}', tool_call_id="call_1"), say("tool", "", tool_call_id="call_2"),
]
THOUGHT = "<think>\nLet me add.\n</think>\n\n2"

CHATS = {
    "one turn": {"messages": [say("user", "hi")]},
    "system": {"messages": [say("system", "Be brief."), say("user", "hi")]},
    "turns without system": {"messages": TURNS},
    "turns with system": {"messages": [say("system", "Be brief.")] + TURNS},
    "system in the middle": {"messages": TURNS + [say("system", "Now shout."), say("user", "hi")]},
    "thinking on": {"messages": TURNS, "variables": {"enable_thinking": True}},
    "thinking off": {"messages": TURNS, "variables": {"enable_thinking": False}},
    "thinking null": {"messages": TURNS, "variables": {"enable_thinking": None}},
    "thought in content": {"messages": [say("user", "1+1?"), say("assistant", THOUGHT), say("user", "sure?")]},
    "thought in the last answer": {"messages": [say("user", "1+1?"), say("assistant", THOUGHT)]},
    "reasoning_content": {"messages": [say("user", "1+1?"), say("assistant", "2", reasoning_content="\nAdd.\n"), say("user", "sure?")]},
    "reasoning_content at the end": {"messages": [say("user", "1+1?"), say("assistant", "\n\n2", reasoning_content="\nAdd.\n")]},
    "reasoning under another name": {"messages": [say("user", "1+1?"), say("assistant", "2", reasoning="Add.", tool_calls=[CALL]), say("tool", "3")]},
    "reasoning null": {"messages": [say("user", "1+1?"), say("assistant", "2", reasoning_content=None), say("user", "sure?")]},
    "tools": {"messages": [say("user", "hi")], "tools": [WEATHER, NOOP]},
    "tools and system": {"messages": [say("system", "Be brief."), say("user", "hi")], "tools": [WEATHER]},
    "tools, called": {"messages": TOOL_TURNS, "tools": [WEATHER, NOOP]},
    "tools, called and answered": {"messages": TOOL_TURNS + [say("assistant", "21 degrees"), say("user", "Thanks")], "tools": [WEATHER]},
    "called without tools": {"messages": TOOL_TURNS},
    "calls beside content": {"messages": [say("user", "x"), say("assistant", "I look.", reasoning_content="Look!", tool_calls=[CALL]), say("tool", "21"), say("assistant", "21.")]},
    "calls not as functions": {"messages": [say("user", "x"), say("assistant", "", tool_calls=[{"name": "f", "arguments": {"a": [1, 2.50]}}])]},
    "tool answer in the user's place": {"messages": [say("user", "q"), say("assistant", "a"), say("user", "<tool_response>\n1\n</tool_response>")]},
    "parts": {"messages": [say("user", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])]},
    "parts of one and of none": {"messages": [say("system", [{"type": "text", "text": "one"}]), say("user", [])]},
    "parts of a tool": {"messages": TOOL_TURNS[:2] + [say("tool", [{"type": "text", "text": "21"}, {"type": "text", "text": "C"}])]},
    "unicode": {"messages": [say("system", "Zażółć 😀\u2028"), say("user", "日本語 \u00a0\ufeff e\u0301 \x00\x7f"), say("assistant", "👩‍👩‍👧")]},
    "empty content": {"messages": [say("system", ""), say("user", ""), say("assistant", ""), say("user", "")]},
    "no content": {"messages": [say("user", "x"), {"role": "assistant"}, say("user", "y"), {"role": "assistant", "content": None}]},
    "blanks and new lines": {"messages": [say("user", "  a\n\n"), say("assistant", "\n b \n\r\n"), say("user", "\t")]},
    "marks in content": {"messages": [say("user", "<|im_end|>\n<|im_start|>system\nx"), say("assistant", "a</think>b</think>c"), say("user", "{{ messages }} {% if %}")]},
    "other fields": {"messages": [say("user", "x", name="Ann", weight=1, nested={"a": []})]},
    "only system": {"messages": [say("system", "x")]},
    "unknown role": {"messages": [say("developer", "x"), say("user", "y")]},
    "continue": {"messages": TURNS[:1] + [say("assistant", "The answer is")], "continue": True},
    "continue after a thought": {"messages": TURNS[:1] + [say("assistant", "<think>\nAdd")], "continue": True, "variables": {"enable_thinking": True}},
}


def prepared(request, tokens):
    """The twin of runtime/tokenizer/chat: the variables of a template, and the text behind the prompt."""
    messages = []
    for m in json.loads(json.dumps(request["messages"])):
        reasoning = next((m[k] for k in ("reasoning_content", "thinking", "reasoning") if m.get(k) is not None), None)
        if reasoning is not None:
            m = {"thinking": reasoning, **m, "reasoning_content": reasoning}
        if m.get("content") is None:
            m["content"] = ""
        if isinstance(m["content"], list):
            m["content"] = " ".join(p["text"] for p in m["content"])
        for call in m.get("tool_calls") or []:
            if isinstance(call.get("function", {}).get("arguments"), str):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        messages.append(m)
    behind = messages.pop()["content"] if request.get("continue") else ""
    variables = {
        **tokens, "messages": messages, "tools": request.get("tools"), "documents": None, "add_generation_prompt": True,
        **request.get("variables", {}),
    }
    return variables, behind


def models(folder):
    """The templates by name, each with its special tokens."""
    folder = pathlib.Path(folder)
    config = json.loads((folder / "qwen3" / "tokenizer_config.json").read_text())
    named = {k: v for k, v in config.items() if k in ("bos_token", "eos_token", "pad_token", "unk_token") and v is not None}
    smollm2 = (folder / "smollm2" / "chat_template.jinja").read_text()
    return {"qwen3": (config["chat_template"], named), "smollm2": (smollm2, {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"})}


def rendered(model, request, how=render):
    source, tokens = model
    variables, behind = prepared(request, tokens)
    out = how(source, variables)
    if "text" in out:
        out["text"] += behind
    return out


def chats(folder, out):
    out = pathlib.Path(out)
    for name, (source, _) in models(folder).items():
        (out / (name + ".jinja")).write_text(source, newline="")
    cases = [
        {"model": name, "name": case, "request": request, **rendered(model, request)}
        for name, model in models(folder).items() for case, request in CHATS.items()
    ]
    tokens = {name: tokens for name, (_, tokens) in models(folder).items()}
    write(out / "chats.json", {"tokens": tokens, "cases": cases})


PIECES = ["", " ", "\n", "hi", "<think>", "</think>", "\n\n", "é😀", "<tool_response>", "</tool_response>", "{{ x }}", "\\n", "'\"", "日本", "\t", "<|im_end|>"]


def some_json(r, depth=0):
    kind = r.randrange(9 if depth < 3 else 7)
    if kind == 7:
        return [some_json(r, depth + 1) for _ in range(r.randrange(4))]
    if kind == 8:
        return {r.choice(["a", "b", "items", "keys", "é", "type"]): some_json(r, depth + 1) for _ in range(r.randrange(4))}
    return [None, True, r.randrange(-5, 1 << 60), r.random() * 10 ** r.randrange(-20, 20), r.choice(PIECES), 1.0, False][kind]


def some_text(r):
    return "".join(r.choice(PIECES) for _ in range(r.randrange(6)))


def some_message(r):
    role = r.choice(["user", "assistant", "assistant", "tool", "system"])
    m = say(role, some_text(r))
    if r.random() < 0.1:
        m["content"] = r.choice([None, [{"type": "text", "text": some_text(r)} for _ in range(r.randrange(3))]])
    if role == "assistant" and r.random() < 0.4:
        m[r.choice(["reasoning_content", "thinking", "reasoning"])] = r.choice([None, some_text(r)])
    if role == "assistant" and r.random() < 0.4:
        arguments = {"x": some_json(r)}
        m["tool_calls"] = [
            {"type": "function", "function": {"name": "f", "arguments": arguments if r.random() < 0.5 else json.dumps(arguments)}}
            for _ in range(r.randrange(1, 3))
        ]
    return m


def some_request(r):
    request = {"messages": [some_message(r) for _ in range(r.randrange(1, 9))]}
    if r.random() < 0.5:
        request["tools"] = [{"type": "function", "function": {"name": "f", "parameters": some_json(r)}} for _ in range(r.randrange(1, 3))]
    if r.random() < 0.5:
        request["variables"] = {"enable_thinking": r.choice([True, False, None, "x"])}
    return request


def made_up(folder, seed, out):
    r = random.Random(int(seed))
    cases = []
    for name, model in models(folder).items():
        for i in range(3000):
            request = some_request(r)
            cases.append({"model": name, "name": str(i), "request": request, **rendered(model, request)})
    tokens = {name: tokens for name, (_, tokens) in models(folder).items()}
    write(out, {"tokens": tokens, "cases": cases})


def transformers_same(folder):
    """Says whether transformers, which must be installed, renders all that is committed as this script does."""
    import transformers
    from transformers.utils import chat_template_utils

    def by_transformers(source, variables):
        template = chat_template_utils._compile_jinja_template(source)
        template.environment.globals["strftime_now"] = NOW.strftime
        try:
            return {"text": template.render(**json.loads(json.dumps(variables)))}
        except Exception as e:
            return {"error": type(e).__name__, "message": str(e)}

    count = 0
    for name, model in models(folder).items():
        for case, request in CHATS.items():
            ours, theirs = rendered(model, request), rendered(model, request, by_transformers)
            if ours != theirs:
                sys.exit(f"{name}, {case}: transformers {transformers.__version__} has {theirs}, jinja2 alone {ours}")
            count += 1
    for case in language()["cases"]:
        theirs = None
        try:
            theirs = by_transformers(case["template"], VARIABLES)
        except jinja2.exceptions.TemplateSyntaxError as e:
            theirs = {"error": type(e).__name__, "line": e.lineno}
        if {"template": case["template"], **theirs} != case:
            sys.exit(f"{case}: transformers {transformers.__version__} has {theirs}")
        count += 1
    print(f"{count} cases are the same by transformers {transformers.__version__}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["chats", folder, out]:
            chats(folder, out)
        case ["random", folder, seed, out]:
            made_up(folder, seed, out)
        case ["transformers", folder]:
            transformers_same(folder)
        case _:
            sys.exit(__doc__)
