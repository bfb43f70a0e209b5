"""Plays frames through the two fanout loops of a tree and of its copy with reuse, in one interpreter.

    python reuse_rows.py TREE COPY FRAME...

The copy's one changed file is loaded as a second module beside the tree's own, so that SGLang is
imported once. Each loop runs as it stands, without sockets: what it would receive comes from the
frames, what it would send is encoded at once by the tree's encoder. Prints one JSON object for each
loop and frame: rows, whether the encoded rows are equal byte for byte, opened columns of each.
"""
import contextlib
import importlib.util
import json
import os
import pathlib
import sys
import types

os.environ["SGLANG_USE_PICKLE_IPC"] = "0"
tree, copy, *frames = sys.argv[1:]
sys.path.insert(0, tree)

from sglang.srt.managers import io_struct, multi_tokenizer_mixin as original  # noqa: E402

assert pathlib.Path(original.__file__).is_relative_to(tree), original.__file__
spec = importlib.util.spec_from_file_location(
    "edited", pathlib.Path(copy, pathlib.Path(original.__file__).relative_to(tree)))
edited = importlib.util.module_from_spec(spec)
sys.modules["edited"] = edited
spec.loader.exec_module(edited)


class Done(Exception):
    """No more frames."""


class Watchdog:
    def disable(self):
        return contextlib.nullcontext()

    def feed(self):
        pass


def play(module, loop, frame):
    """What the loop sends for the frame, encoded, and how many columns it opened."""
    sent, opened, waiting = [], [0], [io_struct.msgpack_decode(frame)]

    def receive(*_):
        if not waiting:
            raise Done
        return waiting.pop()

    def unwrap(value):
        opened[0] += isinstance(value, io_struct.PickleWrapper)
        return io_struct.unwrap_from_pickle(value)

    class Sockets:
        def send_output(self, name, message, is_tokenizer=False):
            sent.append((name, io_struct.msgpack_encode(message)))

    module.sock_recv, module.unwrap_from_pickle, module.SocketMapping = receive, unwrap, Sockets
    owner = types.SimpleNamespace(soft_watchdog=Watchdog(), recv_from_scheduler=None, socket_mapping=Sockets(),
                                  _request_dispatcher=lambda message: message, ipc_name_list=["ipc://one"])
    owner._pick = lambda key: key
    owner._send = lambda name, message: owner.socket_mapping.send_output(name, message)
    with contextlib.suppress(Done):
        loop(module)(owner)
    return sent, opened[0]


loops = {
    "detokenizer": lambda module: module.MultiHttpWorkerDetokenizerMixin.multi_http_worker_event_loop,
    "router": lambda module: module.MultiDetokenizerRouter.event_loop,
}
for path in frames:
    frame = pathlib.Path(path).read_bytes()
    for name, loop in loops.items():
        rows, opened = play(original, loop, frame)
        same, reused = play(edited, loop, frame)
        print(json.dumps({"loop": name, "frame": pathlib.Path(path).name, "rows": len(rows), "equal": rows == same,
                          "opened": opened, "reused": reused}))
