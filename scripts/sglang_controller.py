#!/usr/bin/env python3
"""Runs an SGLang source tree as an arm of fanoutbench: consumers, clock and, with the tree's own code, the worker.

    fanoutbench --reference "exec:PYTHON scripts/sglang_controller.py --tree TREE" ...

TREE is the folder that holds `sglang/`: an unpacked wheel, or the `python` folder of a checkout. It is imported where
it lies and is not changed. Standard input and output speak the arm protocol (protocol/doc.go); standard error is the log.

Processes. This one, the parent, reads a hello, imports the tree once, and has no socket and one thread. For each hello
it forks a controller, which serves that hello up to its stop, and forks the worker, and the consumers where they are
processes. ZeroMQ contexts and clock offsets are made after the forks, so a hello costs a fork and no import, and the
receipt says `again`. Where the tree's import leaves more than one thread a fork is not safe: the parent then serves one
hello itself, its worker is this script in a new interpreter, and `descriptive` in the receipt says so. Each process
dies with the one above it.

Worker. The tree's detokenizer loop, or with loop "router" its router between detokenizers, on the main thread, as
SGLang runs it; a second thread waits for lines of the control pipe (protocol/doc.go, section Control pipe) and does
nothing while the clock runs. A `--worker-command` takes the tree's place behind the tree's own messages.

Looking. What a tree has is found out, not known: the fields of its messages, those that its loop sets to None whatever
it got, and the strategy, from a first stream of four rows a consumer whose messages and decodes are counted. Left
out of the receipt's message are fields that the loop drops and those of types of SGLang's own, for which the protocol
has no form. Opaque decodes are counted in an extra pass over the stream, when no clock runs, the first time that a
process is sent a stream of that structure; the tree's functions are as they were in all other passes.
"""

import argparse
import array
import ast
import base64
import collections
import ctypes
import gc
import hashlib
import importlib
import inspect
import json
import math
import os
import pathlib
import pickle
import pickletools
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import types
import typing
import zlib

VERSION = 1
WIRE_VERSION = 2
QUIET_S = 0.005
START_S = 60  # for the worker to start, and for the first stream
SLICE_S = 0.5  # the longest wait in one call of poll, in case a signal came just before it
LEAVE_S = 2  # for processes to leave, less than a driver gives a controller
TRANSPORTS = {"msgpack": "0", "pickle": "1"}  # and SGLANG_USE_PICKLE_IPC
OPAQUE = ("customized_info", "time_stats")
COUNTERS = ["bytes", "messages", "opaque_decodes"]

# What is used of a tree. One that lacks any of it is too old or too new for this script.
NEEDED = {
    "sglang.srt.managers.io_struct": [
        "BatchStrOutput", "BatchTokenIDOutput", "FreezeGCReq", "sock_recv", "sock_send", "unwrap_from_pickle", "wrap_as_pickle"],
    "sglang.srt.managers.multi_tokenizer_mixin": ["MultiDetokenizerRouter", "_handle_output_by_index", "get_zmq_socket"],
    "sglang.srt.managers.detokenizer_manager": ["DetokenizerManager"],
    "sglang.srt.observability.req_time_stats": ["SchedulerReqTimeStats", "calibrate_time_diff", "global_diff_realtime_monotonic"],
    "sglang.srt.runtime_context": ["publish"],
    "sglang.srt.server_args": ["ServerArgs"],
}


class Refusal(Exception):
    """What ends an arm, in words for its user: it becomes the error line."""


class InputEnded(Exception):
    """The driver has closed its end without a stop."""


class ChildEnded(Exception):
    """A worker's or a consumer's process has ended while rows were awaited."""


# ---- lines -----------------------------------------------------------------------------------------------------------


class Channel:
    """JSON lines over two descriptors. It reads no further than one line when `exact` is set."""

    def __init__(self, reads, writes, exact=False):
        self.reads, self.writes, self.exact, self.rest = reads, writes, exact, b""

    def send(self, line):
        data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        while data:
            data = data[os.write(self.writes, data):]

    def receive(self, timeout=None):
        """The next line as an object, None at the end of input. TimeoutError after so many seconds."""
        until = None if timeout is None else time.perf_counter() + timeout
        while b"\n" not in self.rest:
            if until is not None and not select.select([self.reads], [], [], max(0, until - time.perf_counter()))[0]:
                raise TimeoutError
            data = os.read(self.reads, 1 if self.exact else 1 << 16)
            if not data:
                if self.rest:
                    raise Refusal(f"the input ended in the middle of a line: {self.rest[:80]!r}")
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        try:
            value = json.loads(line)
        except ValueError as error:
            raise Refusal(f"a line that is no JSON: {error}: {line[:80]!r}") from None
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            raise Refusal(f"a line without a type: {line[:80]!r}")
        return value

    def ask(self, line, want, timeout):
        """Sends a line and returns its answer."""
        self.send(line)
        answer = self.receive(timeout)
        if answer is None:
            raise ChildEnded
        if answer["type"] != want:
            raise Refusal(answer.get("message") or f"an answer of type {answer['type']!r} to {line['type']!r}, want {want!r}")
        return answer

    def close(self):
        for descriptor in {self.reads, self.writes} - {None}:
            os.close(descriptor)
        self.reads = self.writes = None


def write_file(path, value):
    """A bulk file, as protocol/doc.go has it."""
    data = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    pathlib.Path(path).write_bytes(data)
    return {"path": str(path), "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def read_file(file):
    data = pathlib.Path(file["path"]).read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    if (sha256, len(data)) != (file["sha256"], file["bytes"]):
        raise Refusal(f"{file['path']} has {len(data)} bytes and the hash {sha256}, want {file['bytes']} and {file['sha256']}")
    return json.loads(data)


# ---- the tree --------------------------------------------------------------------------------------------------------


class Tree:
    """An imported tree. There is one in a process, since modules are global."""

    def __init__(self, root, transport, env):
        self.root, self.transport, self.env = os.path.realpath(root), transport, env
        if not os.path.isfile(os.path.join(self.root, "sglang", "__init__.py")):
            raise Refusal(f"{root} has no sglang/__init__.py; want the folder that holds sglang/, such as the python folder of a checkout or an unpacked wheel")
        # Threads of numeric libraries, which nothing here uses, would make a fork unsafe.
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
        os.environ.update(env)
        os.environ["SGLANG_USE_PICKLE_IPC"] = TRANSPORTS[transport]
        sys.path[0] = self.root  # in place of this script's folder
        sys.dont_write_bytecode = True  # the tree is left as it is
        self.seen, self.hashes = set(), {}
        for module, names in NEEDED.items():
            self.take(module, names)
        self.check_transport()
        import msgspec
        import zmq

        self.msgspec, self.zmq = msgspec, zmq
        self.fields = msgspec.structs.fields(self.BatchTokenIDOutput)  # takes milliseconds
        self.foreign = {field.name for field in self.fields if self.own_type(field.type)}

    def take(self, module, names):
        try:
            loaded = importlib.import_module(module)
        except Exception as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name or ""
            if missing == module or missing and module.startswith(missing + "."):
                raise Refusal(f"the tree {self.root} has no module {missing}: it is too old or too new for this script") from None
            where = traceback.extract_tb(error.__traceback__)[-1]
            hint = ""
            if missing and not missing.startswith("sglang"):
                hint = f"; the package {missing.split('.')[0]!r} is missing in {sys.executable}: name an interpreter that has it (--python)"
            else:
                traceback.print_exc()  # the way to a fault of the tree; to a missing package it says nothing more
            raise Refusal(f"the tree {self.root} does not import: {type(error).__name__}: {error} ({where.filename}, line {where.lineno}){hint}") from None
        self.sources()
        for name in names:
            if not hasattr(loaded, name):
                raise Refusal(f"the tree {self.root} has no {module}.{name}: it is too old or too new for this script")
            setattr(self, name, getattr(loaded, name))
        if module.endswith("detokenizer_manager") and not hasattr(self.DetokenizerManager, "multi_http_worker_event_loop"):
            raise Refusal(f"the tree {self.root} has no DetokenizerManager.multi_http_worker_event_loop: it is too old or too new for this script")

    def check_transport(self):
        wrapped = self.wrap_as_pickle({"a": [1]})
        if isinstance(wrapped, dict) != (self.transport == "pickle"):
            raise Refusal(f"the tree {self.root} wraps metadata as {type(wrapped).__name__} with SGLANG_USE_PICKLE_IPC={TRANSPORTS[self.transport]}: it does not have the transport {self.transport}")

    def sources(self):
        """The files loaded so far, by their path in the tree, with their hashes when this process first saw them."""
        inside = os.path.join(self.root, "sglang") + os.sep
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) if name not in self.seen and name.split(".")[0] == "sglang" else None
            if file:
                file = os.path.realpath(file)
                if not file.startswith(inside):
                    raise Refusal(f"the module {name} was loaded from {file}, outside the tree {self.root}: is another sglang installed in {sys.prefix}?")
                self.hashes[os.path.relpath(file, self.root)] = hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
                self.seen.add(name)
        return dict(self.hashes)

    def vital(self):
        """The files of the loop, the slicer and the codec."""
        parts = (self.DetokenizerManager.multi_http_worker_event_loop, self._handle_output_by_index, self.sock_recv, self.sock_send)
        return {os.path.relpath(os.path.realpath(part.__code__.co_filename), self.root) for part in parts}

    def calibrate(self):
        """Makes this process's clock offset, as each SGLang process has its own."""
        self.calibrate_time_diff()

    def offset(self):
        """What to add to a time of time.perf_counter to get the shared clock."""
        return sys.modules["sglang.srt.observability.req_time_stats"].global_diff_realtime_monotonic

    def own_type(self, t):
        """Whether a type is made of SGLang's own structs, the opaque wrapper left out."""
        if isinstance(t, type) and issubclass(t, self.msgspec.Struct):
            return t.__name__ != "PickleWrapper"
        return any(self.own_type(part) for part in typing.get_args(t))

    def dropped(self, message, functions):
        """The fields of a message that one of the functions gives None, whatever it got."""
        names = set()
        for function in functions:
            for call in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == message:
                    names |= {k.arg for k in call.keywords if isinstance(k.value, ast.Constant) and k.value.value is None}
        return names

    def message(self, loop):
        """The receipt's message."""
        kind = "BatchTokenIDOutput" if loop == "router" else "BatchStrOutput"
        functions = [self._handle_output_by_index]
        if loop != "router":
            functions.append(self.DetokenizerManager.handle_batch_token_id_out)
        left_out = self.dropped(kind, functions) | self.foreign
        fields = []
        for field in self.msgspec.structs.fields(getattr(self, kind)):
            if field.name not in left_out:
                default = field.default
                fields.append({"name": field.name, "default": None if default is self.msgspec.NODEFAULT else plain(default)})
        return {"name": kind, "fields": fields}

    def find_packages(self):
        found = {"python": sys.version.split()[0], "libzmq": self.zmq.zmq_version()}
        for name in ("msgspec", "pyzmq", "torch", "transformers", "tokenizers", "numpy"):
            found[name] = importlib.import_module("importlib.metadata").version(name)
        return found

    def server_args(self, folder, http_workers):
        # With one HTTP worker SGLang runs another loop; the number only has to be another.
        args = self.ServerArgs(model_path="dummy", tokenizer_path=folder, tokenizer_worker_num=max(2, http_workers), soft_watchdog_timeout=None)
        return args

    def warm_up(self):
        """Has this process import what a worker will want, so that it is imported once."""
        args = self.server_args("none", 2)
        if hasattr(args, "resolve_once"):
            args.resolve_once()
        importlib.import_module("transformers").PreTrainedTokenizerFast  # noqa: B018, it is loaded when named
        self.sources()
        self.packages = self.find_packages()
        self.messages = {loop: self.message(loop) for loop in ("fanout", "router")}
        gc.collect()
        gc.freeze()  # what has been imported stays; a collection in a forked process would copy all of it


# ---- tokenizer -------------------------------------------------------------------------------------------------------

# A piece that another id has already gets digits of this alphabet, of the private use area, before it.
TAGS = "\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007"


def byte_letters():
    """The letters that a byte-level tokenizer has for the 256 bytes: printable ones for themselves, the rest from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def tag(number):
    digits = TAGS[number % 8]
    while number := number // 8:
        digits += TAGS[number % 8]
    return digits


def pieces(vocabulary):
    """The distinct text of each id from 0 to the highest; ids between that are none have what id 0 has, untagged, as an
    id outside counts as 0. And whether any has a tag, and the ids of the special ones."""
    by_id = {t["id"]: (base64.b64decode(t["bytes"]), t["special"]) for t in vocabulary["tokens"]}
    letters, taken, texts, special = byte_letters(), set(), [], []
    for i in range(max(by_id) + 1):
        data, is_special = by_id.get(i, by_id.get(0, (b"", False)))
        text = "".join(letters[b] for b in data) if vocabulary["kind"] == "bytes" else data.decode()
        if text in taken or not text:
            text = tag(i) + text
        taken.add(text)
        texts.append(text)
        if is_special:
            special.append(i)
    return texts, any(t[0] in TAGS for t in texts), special


def write_tokenizer(vocabulary, folder):
    """Makes a folder that SGLang can load as a tokenizer of the vocabulary."""
    import tokenizers
    from tokenizers import decoders, models

    if vocabulary["kind"] not in ("bytes", "words"):
        raise Refusal(f"a vocabulary of kind {vocabulary['kind']!r}, want bytes or words")
    texts, tagged, special = pieces(vocabulary)
    tokenizer = tokenizers.Tokenizer(models.WordLevel({text: i for i, text in enumerate(texts)}, unk_token=texts[0]))
    steps = [decoders.Replace(tokenizers.Regex(f"[{TAGS}]"), "")] if tagged else []
    if vocabulary["kind"] == "bytes":
        steps.append(decoders.ByteLevel())
    elif tagged:  # joined by blanks, as words are when there is no decoder
        steps.append(decoders.WordPiece(prefix="\ue008", cleanup=False))
    if steps:
        tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.add_special_tokens([tokenizers.AddedToken(texts[i], special=True, normalized=False) for i in special])
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


FIRST_VOCABULARY = {"kind": "words", "tokens": [
    {"id": 0, "bytes": base64.b64encode(b"[UNK]").decode(), "special": True}, {"id": 1, "bytes": base64.b64encode(b"a").decode(), "special": False}]}


# ---- the worker's process --------------------------------------------------------------------------------------------


def die_with_parent(parent, how):
    """This process gets the signal when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, how)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


class Unwraps:
    """Counts the tree's calls of unwrap_from_pickle with something wrapped, while it is on, wherever the tree has imported it."""

    def __init__(self, tree):
        self.tree, self.places, self.decodes = tree, [], 0

    def count(self, value):
        self.decodes += type(value).__name__ == "PickleWrapper"
        return self.tree.unwrap_from_pickle(value)

    def on(self):
        self.decodes = 0
        for module in [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "sglang"]:
            if getattr(module, "unwrap_from_pickle", None) is self.tree.unwrap_from_pickle:
                module.unwrap_from_pickle = self.count
                self.places.append(module)

    def off(self):
        for module in self.places:
            module.unwrap_from_pickle = self.tree.unwrap_from_pickle
        self.places = []
        return {"type": "counted", "decodes": self.decodes}


class Worker:
    """The tree's loop, and what the control pipe asks of it."""

    def __init__(self, tree, channel, configure):
        self.tree, self.channel, self.unwraps, self.manager, self.vocabulary = tree, channel, Unwraps(tree), None, None
        tree.calibrate()
        self.folder = os.path.join(configure["dir"], "tokenizer")
        write_tokenizer(FIRST_VOCABULARY, self.folder)
        self.args = tree.server_args(self.folder, configure["http_workers"])
        tree.publish(self.args, role="detokenizer")
        ports = types.SimpleNamespace(detokenizer_ipc_name=configure["endpoint"])
        if configure["loop"] == "router":
            self.loop = tree.MultiDetokenizerRouter(configure["targets"], ports).event_loop
        else:
            self.manager = tree.DetokenizerManager(self.args, ports)
            self.loop = self.manager.multi_http_worker_event_loop

    def freeze(self):
        if self.manager:
            self.manager.handle_freeze_gc_req(self.tree.FreezeGCReq())

    def answer(self, line):
        if line["type"] == "prepare":
            if self.manager and line["vocabulary"]["sha256"] != self.vocabulary:
                write_tokenizer(read_file(line["vocabulary"]), self.folder)
                self.manager.init_tokenizer(self.args)
                self.vocabulary = line["vocabulary"]["sha256"]
                self.freeze()
            return {"type": "prepared"}
        if line["type"] == "sources":
            return {"type": "sources", "files": self.tree.sources()}
        if line["type"] == "count":
            self.unwraps.on()
            return {"type": "counting"}
        if line["type"] == "counted":
            return self.unwraps.off()
        return {"type": "error", "message": f"the worker was asked {line['type']!r}"}

    def listen(self):
        while line := self.channel.receive():
            try:
                answer = self.answer(line)
            except Exception as error:
                traceback.print_exc()
                answer = {"type": "error", "message": f"the worker at {line['type']}: {type(error).__name__}: {error}"}
            self.channel.send(answer)
        os._exit(0)  # the controller has closed its end

    def run(self):
        self.freeze()
        threading.Thread(target=self.listen, daemon=True).start()
        self.channel.send({"type": "ready"})
        self.loop()


def work(channel, tree, configure):
    """The life of a worker's process; it does not return."""
    try:
        Worker(tree, channel, configure).run()
    except BaseException as error:
        traceback.print_exc()
        try:
            channel.send({"type": "error", "message": f"the worker's loop ended: {type(error).__name__}: {error}"})
        finally:
            os._exit(1)
    os._exit(1)


class Child:
    """A process of this arm, as its controller sees it."""

    others = []  # so that one that is forked does not hold the pipes of those before it open

    def __init__(self, name, pid, channel):
        self.name, self.pid, self.channel, self.status = name, pid, channel, None
        self.others.append(self)

    @classmethod
    def fork(cls, name, play, *args):
        """Forks a process that plays with its end of a channel; play does not return."""
        (down_reads, down_writes), (up_reads, up_writes), parent = os.pipe(), os.pipe(), os.getpid()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            os.close(down_reads)
            os.close(up_writes)
            return cls(name, pid, Channel(up_reads, down_writes))
        try:
            for sign in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM):
                signal.signal(sign, signal.SIG_DFL)
            die_with_parent(parent, signal.SIGKILL)
            os.close(down_writes)
            os.close(up_reads)
            for other in cls.others:
                other.channel.close()
            play(Channel(down_reads, up_writes), *args)
        except BaseException:
            traceback.print_exc()
        os._exit(1)

    @classmethod
    def command(cls, name, command):
        parent = os.getpid()
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, preexec_fn=lambda: die_with_parent(parent, signal.SIGKILL))
        except OSError as error:
            raise Refusal(f"{name}: {' '.join(command)}: {error}") from None
        child = cls(name, process.pid, Channel(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno())))
        process.stdin.close()
        process.stdout.close()
        process.returncode = 0  # this class waits for it
        return child

    def ask(self, line, want, timeout=START_S):
        try:
            return self.channel.ask(line, want, timeout)
        except TimeoutError:
            raise Refusal(f"the {self.name} did not answer {line['type']!r} within {timeout} s") from None
        except (ChildEnded, BrokenPipeError):
            raise Refusal(f"the {self.name} ended: {self.obituary()}") from None

    def ended(self):
        """Whether the process has ended; its status is kept."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def wait(self, seconds):
        until = time.perf_counter() + seconds
        while not self.ended() and time.perf_counter() < until:
            time.sleep(0.002)
        return self.ended()

    def obituary(self):
        if not self.wait(0.3):
            return "it closed its pipe"
        words = f"killed by {signal.Signals(-self.status).name}" if self.status < 0 else f"exit status {self.status}"
        try:
            while self.channel.reads is not None and (line := self.channel.receive(0)):
                if line["type"] == "error":
                    words += f": {line['message']}"
        except (TimeoutError, Refusal):
            pass
        return words


def end_all(children):
    """Ends processes by the end of their input, all at once; one that does not leave is killed."""
    left = [child for child in children if child.status is None]
    for child in left:
        child.channel.close()
    until = time.perf_counter() + LEAVE_S
    for child in left:
        if not child.wait(until - time.perf_counter()):
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            child.status = -signal.SIGKILL


# ---- values and rows -------------------------------------------------------------------------------------------------


def plain(value):
    """A value as the protocol's JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {"$f": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$b64": base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple, array.array)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {key(k): plain(v) for k, v in value.items()}
    if hasattr(value, "__struct_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if hasattr(value, "code") and hasattr(value, "data"):
        return {"$ext": value.code, "$b64": base64.b64encode(value.data).decode()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise Refusal(f"a value of type {type(value).__name__}, for which the protocol has no form")


def key(k):
    if not isinstance(k, str):
        raise Refusal(f"a key {k!r} of type {type(k).__name__}, want a string")
    return k


def shared_times(stats, offset):
    """A timing object's values, with times in the shared clock; left out is what was never set, which some trees send all the same."""
    if stats is None:
        return None
    unset = vars(type(stats)())
    values = {k: plain(v) for k, v in vars(stats).items() if k != "diff_realtime_monotonic" and (k not in unset or v != unset[k])}
    return {k: v + offset if k.endswith("_time") and v else v for k, v in values.items()}


def row_fields(message, opened, i, names, offset):
    """Row i of a message; values that are not there are left out."""
    rows, fields = len(message.rids), {}
    for name in names:
        value = opened[name] if name in opened else getattr(message, name)
        if value is None:
            continue
        if name == "customized_info":
            fields[name] = {key(k): plain(v[i]) for k, v in value.items()}
            continue
        if not isinstance(value, list):
            raise Refusal(f"the field {name} of a message is a {type(value).__name__}, want a list with a value a row")
        if len(value) != rows and value:
            raise Refusal(f"the field {name} of a message has {len(value)} values for {rows} rows")
        if value:
            fields[name] = shared_times(value[i], offset) if name == "time_stats" else plain(value[i])
    return fields


def count_msgpack_rows(frame):
    """The rows of a MessagePack message, from the header of its rids."""
    at = {0xDC: 3, 0xDD: 5}.get(frame[0], 1)
    if not 0xA0 <= frame[at] <= 0xBF:
        raise Refusal(f"a message that does not begin with its name: {frame[:40]!r}")
    at += 1 + frame[at] - 0xA0
    if frame[at] >> 4 == 9:
        return frame[at] & 15
    if frame[at] not in (0xDC, 0xDD):
        raise Refusal(f"a message whose first field is no list: {frame[:60]!r}")
    return int.from_bytes(frame[at + 1:at + (3 if frame[at] == 0xDC else 5)], "big")


def count_pickle_rows(frame):
    """The rows of a pickled message: the strings of its first list, rids."""
    rows = waiting = None
    for op, _, _ in pickletools.genops(frame):
        if rows is None:
            if op.name == "EMPTY_LIST":
                rows = waiting = 0
        elif op.name.endswith("BINUNICODE") or op.name in ("BINGET", "LONG_BINGET"):
            waiting += 1
        elif op.name in ("APPEND", "APPENDS"):
            rows, waiting = rows + waiting, 0
        elif op.name not in ("MEMOIZE", "MARK", "FRAME"):
            return rows
    raise Refusal("a pickled message without a list of rids")


# ---- messages to the worker ------------------------------------------------------------------------------------------


class Outgoing:
    """A batch as a message of the tree. What is opaque is wrapped when it is sent, within the clock."""

    def __init__(self, tree, batch, endpoints):
        self.consumers, columns = batch["consumers"], batch["columns"]
        values = {}
        for field in tree.fields:
            if field.name in columns and field.name not in OPAQUE and field.name not in tree.foreign:
                values[field.name] = self.column(tree, field.name, field.type, columns[field.name])
            elif field.required:
                values[field.name] = None
        values["http_worker_ipcs"] = [endpoints[c] for c in self.consumers]
        self.message = tree.BatchTokenIDOutput(**values)
        self.opaque = [(name, columns[name]) for name in OPAQUE if name in columns]
        for n, (name, value) in enumerate(self.opaque):
            if name == "time_stats":
                self.opaque[n] = name, [timing(tree, row) for row in value]
        self.structure = (tuple(sorted(collections.Counter(self.consumers).items())), tuple(sorted(columns)))

    @staticmethod
    def column(tree, name, t, value):
        if name in ("decode_ids", "output_ids"):
            return [array.array("q", ids) for ids in value]
        try:
            return tree.msgspec.convert(value, t)
        except tree.msgspec.ValidationError as error:
            raise Refusal(f"the column {name} is not what the tree's {name} may be: {error}") from None

    def send(self, tree, push):
        for name, value in self.opaque:
            setattr(self.message, name, tree.wrap_as_pickle(value))
        tree.sock_send(push, self.message)


def plain_columns(rids, finished, before):
    """The columns of a batch of one token a row, of this script's own."""
    row = {"finished_reasons": finished, "decoded_texts": before, "decode_ids": [1], "read_offsets": 0, "output_ids": [1], "skip_special_tokens": True,
           "spaces_between_special_tokens": True, "no_stop_trim": False, "prompt_tokens": 1, "reasoning_tokens": 0, "completion_tokens": 1, "cached_tokens": 0}
    return {"rids": rids} | {name: [value] * len(rids) for name, value in row.items()}


def timing(tree, row):
    """SGLang's timing object of a row, its times in this process's own clock."""
    if row is None:
        return None
    stats, offset = tree.SchedulerReqTimeStats(), tree.offset()
    for name, value in row.items():
        if not hasattr(stats, name):
            raise Refusal(f"the tree's SchedulerReqTimeStats has no {name}")
        setattr(stats, name, value - offset if name.endswith("_time") and value else value)
    return stats


# ---- consumers -------------------------------------------------------------------------------------------------------


class Tap:
    """A socket for the tree's sock_recv, whose bytes are counted. Loaded with a frame it hands that out instead."""

    def __init__(self, socket):
        self.socket, self.bytes, self.frame = socket, 0, None

    def recv(self, flags=0, *args, **kwargs):
        if self.frame is not None:
            frame, self.frame = self.frame, None
            return frame
        frame = self.socket.recv(flags, *args, **kwargs)
        self.bytes += len(frame)
        return frame

    def recv_pyobj(self, flags=0):
        return pickle.loads(self.recv(flags))


class Inbox:
    """Consumers, served by one thread: each is a PULL."""

    def __init__(self, tree, endpoints, kind, raw, number=0):
        self.tree, self.kind, self.raw, self.number = tree, getattr(tree, kind), raw, number
        self.context, self.poller = tree.zmq.Context(), tree.zmq.Poller()
        self.pulls = [tree.get_zmq_socket(self.context, tree.zmq.PULL, end, True) for end in endpoints]
        self.taps = [Tap(pull) for pull in self.pulls]
        self.count_rows = count_pickle_rows if tree.transport == "pickle" else count_msgpack_rows
        for pull in self.pulls:
            self.poller.register(pull, tree.zmq.POLLIN)
        self.begin(0)

    def begin(self, rows):
        """Forgets what has come. Of what comes now, so many rows are right."""
        self.most, self.rows = 2 * rows + 100, 0
        self.got = [[] for _ in self.pulls]
        self.firsts, self.lasts = [0.0] * len(self.pulls), [0.0] * len(self.pulls)
        for tap in self.taps:
            tap.bytes = 0

    def open(self, tap):
        """One message, with its opaque metadata."""
        message = self.tree.sock_recv(tap, self.tree.zmq.NOBLOCK)
        if type(message) is not self.kind:
            raise Refusal(f"a consumer got a {type(message).__name__}, want a {self.kind.__name__}")
        unwrap = self.tree.unwrap_from_pickle
        return message, {name: unwrap(getattr(message, name)) for name in OPAQUE}

    def drain(self, i):
        tap, got, again = self.taps[i], self.got[i], self.tree.zmq.Again
        while True:
            try:
                if self.raw:
                    message = tap.recv(self.tree.zmq.NOBLOCK)
                    self.rows += self.count_rows(message)
                else:
                    message = self.open(tap)
                    self.rows += len(message[0].rids)
            except again:
                return
            self.lasts[i] = time.perf_counter()
            if not got:
                self.firsts[i] = self.lasts[i]
            got.append(message)
            if self.rows > self.most:
                raise Refusal(f"more than {self.most} rows have come, twice as many as were sent")

    def wait(self, seconds):
        """Serves what is ready within so many seconds; False if nothing was."""
        ready = dict(self.poller.poll(seconds * 1000))
        for i, pull in enumerate(self.pulls):
            if pull in ready:
                self.drain(i)
        return bool(ready)

    def receive(self, rows, until):
        """Serves the consumers until so many rows have come since begin, or it is too late."""
        while self.rows < rows:
            left = until - time.perf_counter()
            if left <= 0:
                return False
            self.wait(min(left, SLICE_S))
        return True

    def quiet(self):
        while self.wait(QUIET_S):
            pass

    def counts(self):
        return sum(map(len, self.got)), sum(tap.bytes for tap in self.taps)

    def times(self):
        return self.firsts, self.lasts

    def delivery(self, names):
        """Every row that has come since begin."""
        rows, spare, offset = [], Tap(None), self.tree.offset()
        for i, got in enumerate(self.got):
            position = 0
            for message in got:
                if self.raw:
                    spare.frame = message
                    message = self.open(spare)
                for n in range(len(message[0].rids)):
                    rows.append({"endpoint": self.number + i, "position": position, "fields": row_fields(*message, n, names, offset)})
                    position += 1
        return rows

    def close(self):
        self.context.destroy(linger=0)


def consume(channel, tree, endpoint, kind, raw, number):
    """The life of a consumer in a process of its own. It tells its rows after each wake-up from begin to collect, and
    leaves its socket alone at other times."""
    tree.calibrate()
    inbox, serving = Inbox(tree, [endpoint], kind, raw, number), False
    inbox.poller.register(channel.reads, select.POLLIN)
    channel.send({"type": "ready"})
    while True:
        try:
            if serving and channel.reads not in (ready := dict(inbox.poller.poll())):
                inbox.drain(0)
                messages, size = inbox.counts()
                channel.send({"type": "rows", "rows": inbox.rows, "messages": messages, "bytes": size, "first": inbox.firsts[0], "last": inbox.lasts[0]})
                continue
            line = channel.receive()
            if line is None:
                os._exit(0)
            if line["type"] == "begin":
                inbox.begin(line["rows"])
                gc.collect()
                gc.disable()
                serving = True
                channel.send({"type": "begun"})
            else:
                serving = False
                gc.enable()
                channel.send({"type": "collected", "file": write_file(line["path"], inbox.delivery(line["names"]))})
        except Refusal as error:
            channel.send({"type": "error", "message": f"consumer {number}: {error}"})
            os._exit(1)


class Crowd:
    """Consumers that are processes. Their clock is this process's: time.perf_counter is CLOCK_MONOTONIC on Linux."""

    def __init__(self, folder, children):
        self.folder, self.children, self.poll, self.rows = folder, children, select.poll(), 0
        self.by_descriptor = {child.channel.reads: i for i, child in enumerate(children)}
        for descriptor in self.by_descriptor:
            self.poll.register(descriptor, select.POLLIN)
        self.tallies = [{}] * len(children)
        for child in children:
            self.answer(child, "ready")

    def answer(self, child, want):
        """A child's next line of that type; tallies before it are of no more use."""
        while (line := child.channel.receive(START_S)) and line["type"] == "rows":
            pass
        if line is None:
            raise ChildEnded
        if line["type"] != want:
            raise Refusal(line.get("message", f"{child.name} said {line['type']!r}, want {want!r}"))
        return line

    def begin(self, rows):
        for child in self.children:
            child.channel.send({"type": "begin", "rows": rows})
        for child in self.children:
            self.answer(child, "begun")
        self.tallies, self.rows = [{}] * len(self.children), 0

    def wait(self, seconds):
        ready = self.poll.poll(seconds * 1000)
        for descriptor, _ in ready:
            i = self.by_descriptor[descriptor]
            channel = self.children[i].channel
            while True:
                line = channel.receive()
                if line is None:
                    raise ChildEnded
                if line["type"] != "rows":
                    raise Refusal(line.get("message", f"consumer {i} said {line['type']!r}, want rows"))
                self.rows += line["rows"] - self.tallies[i].get("rows", 0)
                self.tallies[i] = line
                if b"\n" not in channel.rest:
                    break
        return bool(ready)

    receive, quiet = Inbox.receive, Inbox.quiet

    def counts(self):
        return sum(t.get("messages", 0) for t in self.tallies), sum(t.get("bytes", 0) for t in self.tallies)

    def times(self):
        return [t.get("first", 0.0) for t in self.tallies], [t.get("last", 0.0) for t in self.tallies]

    def delivery(self, names):
        for i, child in enumerate(self.children):
            child.channel.send({"type": "collect", "path": os.path.join(self.folder, f"rows-{i}.json"), "names": names})
        rows = []
        for child in self.children:
            file = self.answer(child, "collected")["file"]
            rows += read_file(file)
            os.unlink(file["path"])
        return rows

    def close(self):
        end_all(self.children)


# ---- the controller --------------------------------------------------------------------------------------------------


def parse_pace(pace):
    """Batches a second, or None where there is no rate."""
    if pace in ("arrived", "none"):
        return None
    try:
        rate = float(pace.removeprefix("rate:"))
    except ValueError:
        rate = 0
    if not pace.startswith("rate:") or not 1e-3 <= rate <= 1e6:
        raise Refusal(f"pace {pace!r}, want arrived, none or rate:R")
    return rate


def cpu_seconds(pids):
    """The CPU time of all threads of processes, on Linux; None elsewhere."""
    if sys.platform != "linux":
        return None
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


class Controller:
    """Serves one hello."""

    def __init__(self, tree, args, hello, channel, forked):
        self.tree, self.args, self.hello, self.channel, self.forked = tree, args, hello, channel, forked
        self.loop, self.dir = hello.get("loop") or "fanout", hello["dir"]
        self.kind = "BatchTokenIDOutput" if self.loop == "router" else "BatchStrOutput"
        self.children, self.worker, self.inbox, self.context, self.push = [], None, None, None, None
        self.vocabulary, self.decodes, self.before = None, {}, None
        self.busy = self.awaiting = self.over = False

    # -- signals: an end that is noticed while rows are awaited, and once: another exception would cut off the clean-up

    def on_child(self, *_):
        if self.awaiting:
            raise ChildEnded

    def on_input_end(self, *_):
        if self.busy:
            self.on_term()

    def on_term(self, *_):
        if not self.over:
            self.over = True
            raise InputEnded

    def serve(self):
        """Answers lines until stop. It returns the exit status."""
        signal.signal(signal.SIGCHLD, self.on_child)
        signal.signal(signal.SIGUSR1, self.on_input_end)
        signal.signal(signal.SIGTERM, self.on_term)
        try:
            self.busy = True
            self.channel.send(self.open())
            while self.answer():
                pass
            return 0
        except InputEnded:
            return 1
        except Exception as error:
            self.say(error)
            return 1
        finally:
            self.over = True
            for sign in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM):
                signal.signal(sign, signal.SIG_IGN if sign != signal.SIGCHLD else signal.SIG_DFL)
            self.close()

    def say(self, error):
        """Tells the driver what ended this arm."""
        if not isinstance(error, Refusal):
            traceback.print_exc()
        dead = [f"the {c.name} ended: {c.obituary()}" for c in self.children if c.ended()]
        words = str(error) if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
        if isinstance(error, ChildEnded) and dead:
            words = "; ".join(dead)
        elif dead and not any(d in words for d in dead):
            words += "; " + "; ".join(dead)
        try:
            self.channel.send({"type": "error", "message": words})
        except OSError:
            pass  # the driver has gone

    def answer(self):
        """Reads one line and answers it; False after stop."""
        self.busy = False
        line = self.channel.receive()
        if line is None:
            self.over = True
            raise InputEnded
        self.busy = True
        if line["type"] == "trial":
            try:
                self.channel.send(self.trial(line))
            except Refusal as error:
                raise Refusal(f"trial {line.get('id')}: {error}") from None
            return True
        if line["type"] != "stop":
            raise Refusal(f"a line of type {line['type']!r}, want trial or stop")
        if self.channel.rest:
            raise Refusal("a line after stop, before its answer")
        self.leave()
        self.busy = False  # from here on the end of the input is in order
        self.channel.send({"type": "stopped"})
        return False

    # -- start

    def open(self):
        self.endpoints = [self.endpoint(i) for i in range(self.hello["http_workers"])]
        self.input = f"ipc://{self.dir}/w"
        self.start_consumers()
        self.start_worker()
        self.tree.calibrate()
        raw = self.hello["consumer"] == "raw"
        if self.crowd:
            self.inbox = Crowd(self.dir, self.crowd)
        else:
            self.inbox = Inbox(self.tree, self.endpoints, self.kind, raw)
        self.context = self.tree.zmq.Context()
        self.push = self.tree.get_zmq_socket(self.context, self.tree.zmq.PUSH, self.input, False)
        return self.receipt(self.first_stream())

    def endpoint(self, i):
        """A name for consumer i; in the router's loop one whose crc32 leads to i."""
        n, tried = self.hello["http_workers"], 0
        while True:
            name = f"ipc://{self.dir}/c{i}" + (f"-{tried:x}" if self.loop == "router" else "")
            if self.loop != "router" or zlib.crc32(name.encode()) % n == i:
                return name
            tried += 1

    def start_consumers(self):
        """Forks the consumers that are processes, before this process has a socket."""
        self.crowd = []
        if self.hello.get("consumers") == "process":
            if not self.forked:
                raise Refusal(f"consumers in processes are forked, but the tree's import leaves {thread_count()} threads")
            for i, end in enumerate(self.endpoints):
                self.crowd.append(Child.fork(f"consumer {i}'s process", consume, self.tree, end, self.kind, self.hello["consumer"] == "raw", i))
            self.children += self.crowd

    def start_worker(self):
        configure = {"type": "configure", "dir": self.dir, "http_workers": self.hello["http_workers"], "loop": self.loop,
                     "endpoint": self.input, "targets": self.endpoints}
        if self.args.worker_command:
            self.start_command()
            return
        if self.forked:
            self.worker = Child.fork("worker", work, self.tree, configure)
        else:
            command = [sys.executable, os.path.abspath(__file__), "--tree", self.tree.root, "--transport", self.tree.transport, "--as-worker"]
            for name, value in self.tree.env.items():
                command += ["--env", f"{name}={value}"]
            self.worker = Child.command("worker", command)
            self.worker.channel.send(configure)
        self.children.append(self.worker)
        try:
            ready = self.worker.channel.receive(START_S * 5)
        except TimeoutError:
            raise Refusal(f"the worker is not ready after {START_S * 5} s") from None
        if ready is None or ready["type"] != "ready":
            raise Refusal(f"the worker did not start: {ready['message'] if ready else self.worker.obituary()}")

    def start_command(self):
        self.worker = Child.command("worker", self.args.worker_command)
        self.children.append(self.worker)
        configure = {"type": "configure", "wire_version": WIRE_VERSION, "strategy": self.args.worker_strategy, "zmq": self.args.worker_zmq,
                     "endpoint": self.input, "send_ms": self.hello["wait_ms"]}
        if self.loop == "router":
            configure |= {"router": "ipc", "targets": self.endpoints}
        self.ready = self.worker.ask(configure, "ready")
        if self.ready.get("wire_version") != WIRE_VERSION:
            raise Refusal(f"the worker speaks wire version {self.ready.get('wire_version')}, this controller {WIRE_VERSION}")
        if self.ready.get("needs_prepared"):
            raise Refusal(f"the strategy {self.args.worker_strategy} wants the frames beforehand, which an SGLang arm does not have")

    def first_stream(self):
        """Plays four rows a consumer, so that all code is loaded, and says how they were split."""
        n = 4 * len(self.endpoints)
        columns = plain_columns([f"first-{i}" for i in range(n)], {"type": "length", "length": 1}, "") | {
            "customized_info": {"x": list(range(n))}, "time_stats": [{"has_timing_data": True, "wait_queue_entry_time": time.time()}] * n}
        batch = {"consumers": [i % len(self.endpoints) for i in range(n)], "columns": columns}
        outgoing = Outgoing(self.tree, batch, self.endpoints)
        self.prepare(FIRST_VOCABULARY, 1)
        counted = self.untimed([outgoing])
        messages, _ = self.inbox.counts()
        if self.args.worker_command:
            self.worker.ask({"type": "report"}, "report")
            return self.ready["strategy"]
        strategy = {n: "per-row", len(self.endpoints): "grouped"}.get(messages, f"{messages} messages for {n} rows to {len(self.endpoints)} consumers")
        if strategy == "per-row" and self.tree.transport == "msgpack" and counted["decodes"] < 2 * n:
            strategy += ", reuse"
        return strategy

    def check_texts_before(self, stream):
        """Refuses a stream with texts from before a first row, if the tree loses them: 0.5.21 to 0.5.23 do, where a request goes on."""
        if self.loop == "router" or self.args.worker_command or not any(any(o.message.decoded_texts) for o in stream):
            return
        if self.before is None:
            self.prepare(FIRST_VOCABULARY, 2)
            batches = [plain_columns(["before"], None, "a "), plain_columns(["before"], {"type": "length", "length": 2}, "")]
            self.untimed([Outgoing(self.tree, {"consumers": [0], "columns": columns}, self.endpoints) for columns in batches])
            self.before = [row["fields"]["output_strs"] for row in self.inbox.delivery(["output_strs"])]
        if "".join(self.before) != "a a a":
            raise Refusal(f"the tree loses decoded_texts, the text from before a request's first row, which this stream has: for 'a ' before 'a' and then ' a' its rows say {self.before}")

    def untimed(self, stream):
        """Plays a stream with the tree's unwrap calls counted, when no clock runs."""
        own = not self.args.worker_command
        if own:
            self.worker.ask({"type": "count"}, "counting")
        self.inbox.begin(sum(len(o.consumers) for o in stream))
        if not self.send(stream, "arrived", 0, time.perf_counter() + START_S):
            raise Refusal(f"{self.inbox.rows} rows of an untimed stream came within {START_S} s, want {sum(len(o.consumers) for o in stream)}")
        self.inbox.quiet()
        return self.worker.ask({"type": "counted"}, "counted") if own else {}

    def sources(self):
        """The files that were loaded, which worker and controller agree on."""
        own = self.tree.sources()
        if self.args.worker_command:
            return own
        files = self.worker.ask({"type": "sources"}, "sources")["files"]
        for path in own.keys() & files.keys():
            if own[path] != files[path]:
                raise Refusal(f"controller and worker have loaded different versions of {path}: it was changed while they started")
        if missing := self.tree.vital() - files.keys():
            raise Refusal(f"the worker has not loaded {', '.join(sorted(missing))}, where its loop, slicer and codec should be")
        return own | files

    def receipt(self, strategy):
        packages, binaries = dict(self.tree.packages), []
        options = {f"env.{name}": value for name, value in self.tree.env.items()}
        if self.loop == "router":
            options["router"] = "ipc"
        if self.args.worker_command:
            options |= {"worker": f"builtin:{self.args.worker_strategy}", "zmq": self.args.worker_zmq}
            packages |= {f"worker {name}": version for name, version in self.ready["packages"].items()}
            binaries = [hashlib.sha256(pathlib.Path(self.args.worker_command[0]).read_bytes()).hexdigest()]
        receipt = {
            "type": "receipt", "version": VERSION, "runtime": "sglang", "runtime_version": str(getattr(sys.modules["sglang"], "__version__", "unknown")),
            "transports": list(TRANSPORTS), "transport": self.tree.transport, "strategy": strategy, "options": options,
            "pids": [self.worker.pid], "packages": packages,
            "sources": [{"path": path, "sha256": sha256} for path, sha256 in sorted(self.sources().items())], "binary_sha256": binaries,
            "counters": sorted(self.ready["counters"]) if self.args.worker_command else COUNTERS,
            "endpoints": self.endpoints, "router": "ipc" if self.loop == "router" else "none", "messages": [self.tree.messages[self.loop]],
        }
        if self.hello.get("consumers"):
            receipt["consumers"] = self.hello["consumers"]
        self.names = [field["name"] for field in receipt["messages"][0]["fields"]]
        if self.forked:
            receipt["again"] = True
        else:
            receipt["descriptive"] = f"the tree's import leaves {thread_count()} threads, so that controller and worker could not be forked from one process and each has imported the tree by itself"
        return receipt

    # -- trials

    def prepare(self, vocabulary, batches):
        if vocabulary != self.vocabulary:
            self.file, self.vocabulary = write_file(os.path.join(self.dir, "vocabulary.json"), vocabulary), vocabulary
        self.worker.ask({"type": "prepare", "vocabulary": self.file, "batches": batches}, "prepared")

    def trial(self, line):
        played = read_file(line["work"])
        stream = [Outgoing(self.tree, batch, self.endpoints) for batch in played["stream"]]
        fence = [Outgoing(self.tree, batch, self.endpoints) for batch in played["fence"]]
        self.check_texts_before(stream)
        self.prepare(played["vocabulary"], len(stream))
        rate, wait = parse_pace(self.hello["pace"]), self.hello["wait_ms"] / 1000
        if rate and (len(stream) - 1) / rate >= wait:
            raise Refusal(f"pace {self.hello['pace']}: the last of {len(stream)} batches is due after {(len(stream) - 1) / rate} s, want less than the {wait} s that rows may take")
        self.inbox.begin(sum(len(o.consumers) for o in stream + fence))
        gc.collect()
        gc.disable()
        try:
            metrics, counts, stalled = self.measure(stream, fence, wait)
        finally:
            gc.enable()
        rows = write_file(os.path.join(self.dir, "rows.json"), {"rows": self.inbox.delivery(self.names)})
        result = {"type": "result", "id": line["id"], "metrics": metrics, "counters": self.counters(stream, counts, stalled), "rows": rows}
        return result | ({"stalled": stalled} if stalled else {})

    def measure(self, stream, fence, wait):
        """The timed part, the fence and the quiet period."""
        pids, inbox = [self.worker.pid], self.inbox
        self.awaiting = True
        cpu = cpu_seconds(pids)
        start = time.perf_counter()
        until = start + wait
        complete = self.send(stream, self.hello["pace"], start, until)
        metrics, counts = self.metrics(start, stream), inbox.counts()
        complete = complete and self.send(fence, "arrived", start, until)
        metrics["worker_cpu_ms"] = cpu and 1000 * (cpu_seconds(pids) - cpu)
        inbox.quiet()
        self.awaiting = False
        wanted = sum(len(o.consumers) for o in stream + fence)
        return metrics, counts, "" if complete else f"{inbox.rows} rows came within {wait} s, want {wanted}"

    def send(self, batches, pace, start, until):
        """Sends batches at a pace and serves the consumers; False if rows are missing in the end."""
        wanted, rate = self.inbox.rows, parse_pace(pace)
        if rate:
            return self.send_at(rate, batches, start, until)
        for batch in batches:
            batch.send(self.tree, self.push)  # never blocks: the tree's sockets have no high-water mark
            wanted += len(batch.consumers)
            if pace == "arrived" and not self.inbox.receive(wanted, until):
                return False
        return self.inbox.receive(wanted, until)

    def send_at(self, rate, batches, start, until):
        """Batch s is sent s/rate seconds after the start, by a thread of its own."""
        enough, failed = threading.Event(), []

        def send():
            try:
                for s, batch in enumerate(batches):
                    if enough.wait(max(0, start + s / rate - time.perf_counter())):
                        return
                    while time.perf_counter() < start + s / rate:
                        pass  # a wait may end a little early
                    batch.send(self.tree, self.push)
            except Exception as error:
                failed.append(error)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            return self.inbox.receive(self.inbox.rows + sum(len(b.consumers) for b in batches), until)
        finally:
            enough.set()
            sender.join()
            if failed:
                raise failed[0]

    def metrics(self, start, stream):
        firsts, lasts = self.inbox.times()
        first = [firsts[c] for c in set(stream[0].consumers)] or [start]
        last = [lasts[c] for batch in stream for c in set(batch.consumers)] or [start]
        several = len({c for batch in stream for c in batch.consumers}) > 1
        return {"complete_ms": 1000 * max(0, max(last) - start), "first_ms": 1000 * max(0, min(first) - start),
                "first_all_ms": 1000 * max(0, max(first) - start), "spread_ms": 1000 * (max(last) - min(last)) if several else None}

    def counters(self, stream, counts, stalled):
        """What the worker did for the stream, per batch of it."""
        if self.args.worker_command:
            report = self.worker.ask({"type": "report"}, "report")
            if report.get("errors"):
                raise Refusal(f"the worker reports: {'; '.join(report['errors'])}")
            return report["counters"]
        structure = tuple(o.structure for o in stream)
        if structure not in self.decodes and not stalled:
            self.decodes[structure] = self.untimed(stream)["decodes"]
        return {"messages": counts[0] / len(stream), "bytes": counts[1] / len(stream), "opaque_decodes": self.decodes.get(structure, 0) / len(stream)}

    # -- the end

    def leave(self):
        """Ends this arm in good order. Rows that came when none should are looked for when the worker has gone."""
        if self.worker.ended():
            raise Refusal(f"the worker ended: {self.worker.obituary()}")
        end_all([self.worker])
        self.inbox.begin(0)
        self.inbox.quiet()
        if rows := self.inbox.delivery(self.names):
            raise Refusal(f"{len(rows)} rows came after the last trial's quiet period, the first to consumer {rows[0]['endpoint']} with rid {rows[0]['fields']['rids']}")
        if self.worker.status:
            raise Refusal(f"the worker left with status {self.worker.status}")
        self.close()

    def close(self):
        end_all(self.children)
        if self.inbox:
            self.inbox.close()
            self.inbox = None
        if self.context:
            self.context.destroy(linger=0)
            self.context = None
        for end in [getattr(self, "input", ""), *getattr(self, "endpoints", [])]:
            if end:
                pathlib.Path(end.removeprefix("ipc://")).unlink(missing_ok=True)


# ---- the parent ------------------------------------------------------------------------------------------------------


def thread_count():
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return 0  # unknown


def check_hello(hello, args):
    """Refuses what this arm cannot do, before anything is imported. It returns the environment of the options."""
    if hello.get("type") != "hello":
        raise Refusal(f"a line of type {hello.get('type')!r}, want hello")
    if hello.get("version") != VERSION:
        raise Refusal(f"protocol version {hello.get('version')}, this controller speaks {VERSION}")
    wants = {"transport": list(TRANSPORTS), "consumer": ["decode", "raw"], "consumers": [None, "process"], "loop": [None, "fanout", "router"]}
    for name, values in wants.items():
        if hello.get(name) not in values:
            raise Refusal(f"{name} {hello.get(name)!r}, this controller has {', '.join(v for v in values if v)}")
    if args.transport and hello["transport"] != args.transport:
        raise Refusal(f"transport {hello['transport']!r}, but the command line says {args.transport!r}")
    for name in ("http_workers", "wait_ms"):
        if not isinstance(hello.get(name), int) or hello[name] < 1:
            raise Refusal(f"{name} is {hello.get(name)!r}, want at least 1")
    parse_pace(hello.get("pace", ""))
    return check_options(hello, args)


def check_options(hello, args):
    env, known = dict(args.env), {"detokenizers": "1"}
    if hello.get("loop") == "router":
        if hello["options"].get("router") != "ipc":
            raise Refusal(f"option router is {hello['options'].get('router', 'rid')!r}, but SGLang's router goes by http_worker_ipc: say router=ipc")
        known["router"] = "ipc"
    if args.worker_command:
        known |= {"worker": f"builtin:{args.worker_strategy}", "zmq": args.worker_zmq}
    for name, value in hello["options"].items():
        if name.startswith("env.") and len(name) > 4:
            if env.setdefault(name[4:], value) != value:
                raise Refusal(f"option {name} is {value!r}, but the command line says {env[name[4:]]!r}")
        elif known.get(name) != value:
            has = f"want {known[name]!r}" if name in known else "an SGLang arm has env.NAME, worker and zmq, and router in the router's loop"
            raise Refusal(f"option {name} is {value!r}: {has}")
    return env


def run_child(tree, args, hello):
    """Forks a controller for a hello and waits for its end; its exit status."""
    parent = os.getpid()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            die_with_parent(parent, signal.SIGTERM)
            status = Controller(tree, args, hello, Channel(0, args.stdout), forked=True).serve()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    ended, poll = os.pidfd_open(pid), select.poll()
    poll.register(ended, select.POLLIN)
    poll.register(0, 0)  # nothing is read here; the end of input shows all the same
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if ended in ready:
            os.close(ended)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.kill(pid, signal.SIGUSR1)
        poll.unregister(0)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tree", required=True, help="the folder that holds sglang/")
    parser.add_argument("--transport", choices=TRANSPORTS, help="by default the first hello's")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the tree, set before it is imported")
    parser.add_argument("--worker-command", type=json.loads, default=[], metavar="JSON", help="a worker in the tree's place, as a JSON list")
    parser.add_argument("--worker-strategy", default="", help="what to configure it for")
    parser.add_argument("--worker-zmq", default="zmtp")
    parser.add_argument("--as-worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    pairs = [pair.partition("=") for pair in args.env]
    if bad := [name + mark for name, mark, _ in pairs if not name or not mark]:
        parser.error(f"--env {bad[0]}, want NAME=VALUE")
    args.env = {name: value for name, _, value in pairs}
    if bool(args.worker_command) != bool(args.worker_strategy):
        parser.error("--worker-command and --worker-strategy go together")
    return args


def serve(args, channel):
    """Serves hellos until the end of input. It returns the exit status."""
    tree = None
    while hello := channel.receive():
        env = check_hello(hello, args)
        if tree is None:
            tree = Tree(args.tree, hello["transport"], env)
            tree.warm_up()
        elif (hello["transport"], env) != (tree.transport, tree.env):
            raise Refusal(f"this process has imported the tree for the transport {tree.transport} and the environment {tree.env}, and cannot change them")
        if thread_count() != 1 or not hasattr(os, "pidfd_open"):
            return Controller(tree, args, hello, channel, forked=False).serve()
        status = run_child(tree, args, hello)
        if status < 0:
            raise Refusal(f"the controller's process was killed by {signal.Signals(-status).name}")
        if status:
            return status
    return 0


def main():
    args = parse_arguments()
    args.stdout = os.dup(1)  # whatever the tree prints goes to the log
    os.dup2(2, 1)
    channel = Channel(0, args.stdout, exact=True)
    try:
        if args.as_worker:
            tree = Tree(args.tree, args.transport, args.env)
            work(channel, tree, channel.receive())
        status = serve(args, channel)
    except Refusal as error:
        channel.send({"type": "error", "message": str(error)})
        status = 1
    sys.stderr.flush()
    os._exit(status)  # without the exit handlers of the libraries, which take their time


if __name__ == "__main__":
    main()
