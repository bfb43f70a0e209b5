"""Reads pairs of pickles and says whether they hold equal values.

Standard input has the pairs, each pickle behind its length in four bytes (little-endian). SGLang itself is
not needed: its classes are stubs that keep their state. Times of a timing object are compared within 5e-6
after its sender's clock offset has been added, all else exactly. The number of pairs goes to standard output.
"""
import io
import pickle
import struct
import sys


class Stub:
    def __setstate__(self, state):
        self.state = state


STUBS = {("sglang.srt.observability.req_time_stats", "SchedulerReqTimeStats"): Stub}


def readers(data):
    for base in (pickle.Unpickler, pickle._Unpickler):

        class Reader(base):
            def find_class(self, module, name):
                return STUBS[module, name]

        yield Reader(io.BytesIO(data)).load()


def check(a, b, where):
    if type(a) is not type(b):
        raise SystemExit(f"{where}: {a!r} is {b!r}")
    if isinstance(a, Stub):
        check(list(a.state), list(b.state), where)
        for key, x in a.state.items():
            y = b.state[key]
            if key.endswith("time") and x:
                far = x + a.state["diff_realtime_monotonic"] - y - b.state["diff_realtime_monotonic"]
                if abs(far) > 5e-6:
                    raise SystemExit(f"{where}.{key}: {x!r} is {y!r}")
            else:
                check(x, y, f"{where}.{key}")
    elif isinstance(a, dict):
        check(list(a), list(b), where)
        for key in a:
            check(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list):
        if len(a) != len(b):
            raise SystemExit(f"{where}: {len(a)} values, not {len(b)}")
        for i, (x, y) in enumerate(zip(a, b)):
            check(x, y, f"{where}[{i}]")
    elif a != b:
        raise SystemExit(f"{where}: {a!r} is {b!r}")


def main():
    data = sys.stdin.buffer.read()
    pickles, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        pickles.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    for i in range(0, len(pickles), 2):
        for ours, theirs in zip(readers(pickles[i]), readers(pickles[i + 1])):
            check(ours, theirs, f"pair {i // 2}")
    print(len(pickles) // 2)


if __name__ == "__main__":
    main()
