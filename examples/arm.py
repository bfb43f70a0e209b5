"""A whole arm for fanoutbench, on pyzmq and msgpack: consumers, clock and a worker; protocol/doc.go has the protocol.
Put your path in place of worker(), encode() and decode(): fanoutbench --candidate "exec:python3 examples/arm.py"."""
import base64, gc, hashlib, json, os, pathlib, sys, time
import msgpack, zmq

FIELDS = ["rids", "finished_reasons", "output_strs", "output_ids", "prompt_tokens", "completion_tokens",
          "reasoning_tokens", "cached_tokens", "customized_info", "time_stats"]

def decode_ids(vocabulary, ids, skip):
    tokens, glue = vocabulary
    found = [tokens.get(i, tokens.get(0, (b"", True))) for i in ids]  # an id that is none counts as 0
    return glue.join(piece for piece, special in found if not (special and skip)).decode(errors="replace")

def text_of(vocabulary, ids, row):
    """What a request may show so far: without a matched stop at its end, before that without half a character."""
    end, keep, skip = row["finished_reasons"], row["no_stop_trim"], row["skip_special_tokens"]
    matched = (end or {}).get("matched")
    text = decode_ids(vocabulary, ids[:-1] if isinstance(matched, int) and not keep else ids, skip)
    text = row["before"] + text[len(decode_ids(vocabulary, ids[:row["read_offsets"]], skip)):]
    text, found, _ = text.partition(matched) if matched and isinstance(matched, str) else (text, "", "")
    return text + found * keep if end else text.removesuffix("\ufffd")

def worker(endpoint, parent):
    """The code under test: detokenize a batch, send each row to its consumer."""
    context, outs, vocabulary, states = zmq.Context(), {}, {}, {}
    (pull := context.socket(zmq.PULL)).bind(endpoint)
    while os.getppid() == parent:  # it ends with its controller
        batch = msgpack.unpackb(pull.recv(), strict_map_key=False) if pull.poll(200) else {}
        vocabulary = batch.get("vocabulary", vocabulary)  # sent before the clock starts
        for i, ipc in enumerate(batch.get("http_worker_ipcs", [])):
            row = {name: column[i] for name, column in batch.items()}
            ids, row["before"], sent = states.get(row["rids"], ([], row["decoded_texts"], 0))
            text = text_of(vocabulary, ids := ids + row["decode_ids"], row)
            row["output_strs"], states[row["rids"]] = text[sent:], (ids, row["before"], max(sent, len(text)))
            states.pop(row["rids"] if row["finished_reasons"] else None, None)
            if ipc not in outs:
                outs.setdefault(ipc, context.socket(zmq.PUSH)).connect(ipc)
            outs[ipc].send(msgpack.packb({name: row[name] for name in FIELDS if name in row}))

def encode(batch, endpoints):  # one message; each row's metadata becomes opaque bytes of its own
    message = {**batch["columns"], "http_worker_ipcs": [endpoints[c] for c in batch["consumers"]]}
    info, times = message.get("customized_info", {}), message.get("time_stats", [])
    rows = {"customized_info": [dict(zip(info, values)) for values in zip(*info.values())], "time_stats": times}
    return msgpack.packb(message | {name: [msgpack.packb(v) for v in values] for name, values in rows.items() if values})

def decode(frame):
    return {k: msgpack.unpackb(v) if isinstance(v, bytes) else v for k, v in msgpack.unpackb(frame).items()}

class Arm:
    def __init__(self, hello):
        known = (hello["version"], hello["transport"], hello["options"]) == (1, "msgpack", {}) and ":" not in hello["pace"] and "consumers" not in hello
        assert known, "this arm speaks version 1 over msgpack, has no options, serves consumers itself, and sends at no rate"
        self.hello, parent, endpoint = hello, os.getpid(), f"ipc://{hello['dir']}/socket-w"
        self.pid = os.fork() or (os.dup2(2, 1), worker(endpoint, parent), os._exit(0))  # before any socket exists
        self.context, self.poller = zmq.Context(), zmq.Poller()
        self.endpoints = [f"ipc://{hello['dir']}/socket-{i}" for i in range(hello["http_workers"])]
        self.pulls = [self.context.socket(zmq.PULL) for _ in self.endpoints]
        [(pull.bind(end), self.poller.register(pull, zmq.POLLIN)) for pull, end in zip(self.pulls, self.endpoints)]
        self.push = self.context.socket(zmq.PUSH)
        self.push.connect(endpoint)

    def receipt(self, hello):
        return {"type": "receipt", "version": 1, "runtime": "python", "runtime_version": sys.version.split()[0],
                "transports": ["msgpack"], "transport": "msgpack", "strategy": "example", "options": {}, "router": "none",
                "sources": [{"path": "arm.py", "sha256": hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()}],
                "packages": {"pyzmq": zmq.__version__, "libzmq": zmq.zmq_version()}, "binary_sha256": [], "pids": [self.pid],
                "endpoints": self.endpoints, "counters": ["messages"],
                "messages": [{"name": "Row", "fields": [{"name": name, "default": None} for name in FIELDS]}]}

    def receive(self, rows, until):  # serve the consumers until so many rows have come, or time is up and 5 ms are quiet
        while sum(map(len, self.got)) < rows and (ready := dict(self.poller.poll(max(5, 1000 * (until - time.perf_counter()))))):
            for i, pull in enumerate(self.pulls):
                while pull in ready and pull.poll(0):
                    self.got[i].append(pull.recv() if self.hello["consumer"] == "raw" else decode(pull.recv()))
                    self.times[i].append(time.perf_counter())

    def send(self, batches):
        for n, batch in enumerate(batches):
            self.push.send(encode(batch, self.endpoints))
            self.sent += len(batch["consumers"])
            self.receive(self.sent if self.hello["pace"] == "arrived" or n == len(batches) - 1 else 0, self.until)

    def trial(self, trial):
        file, work = trial["work"], json.loads(raw := pathlib.Path(trial["work"]["path"]).read_bytes())
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (file["sha256"], file["bytes"]), "not the file that the line names"
        tokens = {t["id"]: (base64.b64decode(t["bytes"]), t["special"]) for t in work["vocabulary"]["tokens"]}
        self.push.send(msgpack.packb({"vocabulary": [tokens, b" " if work["vocabulary"]["kind"] == "words" else b""]}))
        self.got, self.times, self.sent = [[] for _ in self.pulls], [[] for _ in self.pulls], 0
        gc.collect(), gc.disable()
        cpu, self.until = time.clock_gettime((~self.pid << 3) | 2), self.hello["wait_ms"] / 1000 + (start := time.perf_counter())
        self.send(work["stream"])
        firsts, lasts = zip(*[(t[0], t[-1]) for t in self.times if t] or [(start, start)])
        metrics = {"complete_ms": max(lasts) - start, "first_ms": min(firsts) - start, "first_all_ms": max(firsts) - start,
                   "spread_ms": max(lasts) - min(lasts) if len(lasts) > 1 else None}
        self.send(work["fence"])
        metrics["worker_cpu_ms"] = time.clock_gettime((~self.pid << 3) | 2) - cpu
        self.receive(float("inf"), 0), gc.enable()  # until it is quiet
        rows = [{"endpoint": i, "position": j, "fields": row if isinstance(row, dict) else decode(row)}
                for i, got in enumerate(self.got) for j, row in enumerate(got)]
        (path := pathlib.Path(self.hello["dir"], "rows.json")).write_bytes(body := json.dumps({"rows": rows}).encode())
        return {"type": "result", "id": trial["id"], "metrics": {k: v and v * 1000 for k, v in metrics.items()},
                "counters": {"messages": sum(len(b["consumers"]) for b in work["stream"]) / len(work["stream"])},
                "rows": {"path": str(path), "sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)},
                "stalled": "" if len(rows) >= self.sent else f"{len(rows)} rows came, want {self.sent}"}

    def close(self):
        self.context.destroy(linger=0), os.kill(self.pid, 9), os.waitpid(self.pid, 0)
        [path.unlink() for path in pathlib.Path(self.hello["dir"]).glob("socket-*")]

arm = None
for line in map(json.loads, sys.stdin):
    try:
        arm = arm or Arm(line)
        said = {"hello": Arm.receipt, "trial": Arm.trial, "stop": lambda *_: {"type": "stopped"}}[line["type"]](arm, line)
    except Exception as error:
        said = {"type": "error", "message": f"{type(error).__name__}: {error}"}
    print(json.dumps(said), flush=True)
    if said["type"] == "stopped":
        break
arm and arm.close()
