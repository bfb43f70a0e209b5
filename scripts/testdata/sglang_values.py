"""Tests of what scripts/sglang_controller.py does without a tree: `sglang_values.py SCRIPT`. It needs msgpack alone."""

import array
import collections
import math
import os
import pickle
import runpy
import sys
import types
import unittest

import msgpack

script = runpy.run_path(sys.argv.pop(1))
Refusal = script["Refusal"]


class Values(unittest.TestCase):
    def test_plain(self):
        for value, want in [
            (None, None), (True, True), ("λ", "λ"), (3, 3), (2**53, 2**53), (2**53 + 1, str(2**53 + 1)), (-(2**60), str(-(2**60))), (0.5, 0.5),
            (math.inf, {"$f": "inf"}), (-math.inf, {"$f": "-inf"}), (b"\0\xff", {"$b64": "AP8="}), (array.array("q", [1, 2]), [1, 2]),
            ((1, [None]), [1, [None]]), ({"a": {"b": b""}}, {"a": {"b": {"$b64": ""}}}), (types.SimpleNamespace(code=9, data=b"x"), {"$ext": 9, "$b64": "eA=="}),
        ]:
            self.assertEqual(script["plain"](value), want)
            self.assertIs(type(script["plain"](value)), type(want))
        self.assertEqual(script["plain"](math.nan), {"$f": "nan"})
        for value in (object(), {1: 2}, {3}):
            with self.assertRaises(Refusal):
                script["plain"](value)

    def test_times(self):
        class Stats:
            def __init__(self):
                self.a_time, self.b_time, self.c_s, self.new_time = 0.0, 0.0, 0.0, 0.0

        stats = Stats()
        vars(stats).update(a_time=5.0, c_s=7.0, diff_realtime_monotonic=3.0)
        self.assertEqual(script["shared_times"](stats, 100.0), {"a_time": 105.0, "c_s": 7.0})
        self.assertIsNone(script["shared_times"](None, 1.0))

    def test_rows(self):
        message = types.SimpleNamespace(rids=["r", "s"], ids=[array.array("q", [1]), array.array("q", [2, 3])], empty=[], none=None)
        opened = {"customized_info": {"k": [[1.5], None]}}
        names = ["rids", "ids", "empty", "none", "customized_info"]
        self.assertEqual(script["row_fields"](message, opened, 1, names, 0), {"rids": "s", "ids": [2, 3], "customized_info": {"k": None}})
        message.short = ["x"]
        with self.assertRaisesRegex(Refusal, "short of a message has 1 values for 2 rows"):
            script["row_fields"](message, opened, 0, ["short"], 0)

    def test_counted_rows(self):
        """Rows counted from the first bytes are those of a whole decoding."""
        for rows in (0, 1, 15, 16, 65535, 65536):
            rids = [f"rid-{i}" for i in range(rows)]
            for fields in (3, 49):
                frame = msgpack.packb(["BatchStrOutput", rids, *[None] * fields])
                self.assertEqual(script["count_msgpack_rows"](frame), rows)
        for rows in (0, 1, 2, 999, 1000, 1001, 2500):
            rids = [f"rid-{i}" for i in range(rows)]
            for second in (None, ["a"], "text"):
                value = collections.OrderedDict, ([("rids", rids), ("http_worker_ipcs", second), ("output_strs", ["x"] * rows)],)
                frame = pickle.dumps({"rids": rids, "http_worker_ipcs": second, "more": value}, protocol=pickle.HIGHEST_PROTOCOL)
                if second != "text":
                    self.assertEqual(script["count_pickle_rows"](frame), rows)
        for bad in (msgpack.packb([1, 2]), msgpack.packb(["Name", "no list"])):
            with self.assertRaises(Refusal):
                script["count_msgpack_rows"](bad)


class Vocabulary(unittest.TestCase):
    def test_pieces(self):
        """Each id has a text of its own, of which the tags taken away are the piece; an id that is none is as id 0."""
        vocabulary = {"kind": "bytes", "tokens": [
            {"id": 0, "bytes": "YQ==", "special": False}, {"id": 4, "bytes": "YQ==", "special": True}, {"id": 2, "bytes": "", "special": False}, {"id": 9, "bytes": "/yA=", "special": False}]}
        texts, tagged, special = script["pieces"](vocabulary)
        self.assertEqual([t.strip(script["TAGS"]) for t in texts], ["a", "a", "", "a", "a", "a", "a", "a", "a", "\xff\u0120"])
        self.assertEqual(len(set(texts)), 10)
        self.assertEqual((tagged, special), (True, [4]))
        self.assertEqual(len(set(script["tag"](i) for i in range(5000))), 5000)

    def test_letters(self):
        letters = script["byte_letters"]()
        self.assertEqual(sorted(letters), list(range(256)))
        self.assertEqual(len(set(letters.values())), 256)
        self.assertEqual((letters[0], letters[32], letters[255]), ("\u0100", "\u0120", "\xff"))


class Lines(unittest.TestCase):
    def test_exact(self):
        """A reader of one line leaves the bytes behind it to the next process."""
        reads, writes = os.pipe()
        os.write(writes, b'{"type":"hello"}\n{"type":"trial"}\n{"ty')
        os.close(writes)
        self.assertEqual(script["Channel"](reads, 1, exact=True).receive(), {"type": "hello"})
        rest = script["Channel"](reads, 1)
        self.assertEqual(rest.receive(), {"type": "trial"})
        with self.assertRaisesRegex(Refusal, "in the middle of a line"):
            rest.receive()

    def test_options(self):
        def options(loop="fanout", env=(), worker=(), **given):
            args = types.SimpleNamespace(env=dict(env), worker_command=list(worker), worker_strategy="splice", worker_zmq="zmtp")
            return script["check_options"]({"options": {k.replace("__", "."): v for k, v in given.items()}, "loop": loop}, args)

        self.assertEqual(options(), {})
        self.assertEqual(options(env__A="1"), {"A": "1"})
        self.assertEqual(options(env={"A": "1"}, env__A="1", env__B="2"), {"A": "1", "B": "2"})
        self.assertEqual(options(loop="router", router="ipc"), {})
        self.assertEqual(options(worker=["w"], zmq="zmtp"), {})
        for bad in (
            {"env": {"A": "1"}, "env__A": "2"}, {"nosuch": "1"}, {"detokenizers": "2"}, {"zmq": "zmtp"}, {"router": "ipc"}, {"loop": "router"},
            {"loop": "router", "router": "rid"}, {"worker": ["w"], "zmq": "zmq4"},
        ):
            with self.assertRaises(Refusal, msg=bad):
                options(**bad)

    def test_pace(self):
        self.assertEqual([script["parse_pace"](p) for p in ("arrived", "none", "rate:20")], [None, None, 20.0])
        for bad in ("", "rate:", "rate:0", "rate:nan", "20", "rate:1e9"):
            with self.assertRaises(Refusal, msg=bad):
                script["parse_pace"](bad)


if __name__ == "__main__":
    unittest.main()
