"""Plays one message through each loop of the made-up tree TREE and prints rows and opened columns."""
import json
import sys

sys.path.insert(0, sys.argv[1])

from sglang.srt.managers import messages, rows  # noqa: E402


def play(loop, message):
    sent = []
    messages.opened.clear()
    owner = rows.MultiDetokenizerRouter()
    owner.waiting = [message]
    owner.send = lambda key, part: sent.append(
        (key, getattr(part, "names", None), getattr(part, "numbers", None), type(part.notes).__name__,
         getattr(part.notes, "value", part.notes)))
    loop(owner)
    return {"rows": sent, "opened": len(messages.opened)}


def tokens(count):
    column = [{"note": n} for n in range(count)]
    return messages.Tokens([f"r{n}" for n in range(count)], list(range(count)), messages.Sealed(column), ["a", "b"] * (count // 2) + ["a"] * (count % 2))


out = []
for loop in (rows.Detokenizer.multi_http_worker_event_loop, rows.MultiDetokenizerRouter.event_loop):
    for message in (tokens(1), tokens(5), messages.Whole(messages.Sealed(["kept", "whole"]), ["a", "b"])):
        out.append(play(loop, message))
json.dump(out, sys.stdout)
