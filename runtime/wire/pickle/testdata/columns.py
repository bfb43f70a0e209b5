"""Pickles columns, has them cut, and holds the rows against Python's own slices.

columns.py SEED CASES

For each case it writes a column and groups of rows on standard output, each number as four bytes
(little-endian): the pickle behind its length, the number of groups, and each group's row numbers behind
their count. On standard input comes one answer a group behind its length: the group's pickle, or nothing
for null; or once the length 0xffffffff, and the error behind its length. Every pickle is read by CPython's
unpickler in C and by the one in Python. The answer's objects must equal those of the unpickled column,
and one object must be one object in both. At the end it says on standard error how many it compared.
"""
import collections
import datetime
import decimal
import enum
import io
import pickle
import pickletools
import random
import struct
import sys


class Plain:
    def __init__(self, **state):
        self.__dict__.update(state)


class Stated:
    def __init__(self):
        self.inner = None

    def __getstate__(self):
        return {"kept": self.inner}

    def __setstate__(self, state):
        self.inner = state["kept"]


class Reduced:
    def __init__(self, *args):
        self.args = args

    def __reduce__(self):
        return Reduced, self.args


class Slotted:
    __slots__ = ("left", "right")


class Keyworded:
    def __new__(cls, a=None, *, b=None):
        self = object.__new__(cls)
        self.made = (a, b)
        return self

    def __getnewargs_ex__(self):
        return (self.made[0],), {"b": self.made[1]}


class Listed(list):
    pass


class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"


Point = collections.namedtuple("Point", "x y")
NAN = struct.unpack("<d", b"\x01\x00\x00\x00\x00\x00\xf8\x7f")[0]

ATOMS = [
    None, True, False, 0, 7, 255, 256, 70000, -1, -70000, 2**40, -(2**80), 2**2100, 0.0, -0.0, 0.1, NAN, float("inf"),
    "", "x", "λ", "\ud800", "y" * 300, b"", b"z", b"\x80\x04]" * 100, 1 + 2j, Colour.RED, Colour.BLUE, Plain, len, Ellipsis,
    decimal.Decimal("1.50"), datetime.datetime(2026, 11, 30, 22, 3), range(3), Point(1, "p"), Reduced(), (),
]  # fmt: skip


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.made = []  # what may be referred to again

    def value(self, depth=4):
        r = self.rng
        if self.made and r.random() < 0.25:
            return r.choice(self.made)
        if depth == 0 or r.random() < 0.3:
            value = r.choice(ATOMS)
            return value if r.random() < 0.9 else "s%d" % r.randrange(5)
        return self.container(depth - 1)

    def values(self, depth):
        return [self.value(depth) for _ in range(self.rng.randrange(5))]

    def keep(self, value):
        self.made.append(value)
        return value

    def container(self, depth):
        r, kind = self.rng, self.rng.randrange(15)
        if kind == 0:
            out = self.keep([])
            out.extend(self.values(depth))
            return out
        if kind == 1:
            out = self.keep({})
            for v in self.values(depth):
                out["k%d" % r.randrange(9)] = v
            return out
        if kind == 2:
            return self.keep(tuple(self.values(depth)))
        if kind == 3:
            return self.keep({r.randrange(99), "s%d" % r.randrange(5), (1, r.randrange(3)), None})
        if kind == 4:
            return self.keep(frozenset([r.randrange(99), b"f", frozenset(["in"])]))
        if kind == 5:
            out = self.keep(Plain())
            out.value, out.other, out.again = self.value(depth), self.value(depth), out if r.random() < 0.3 else None
            return out
        if kind == 6:
            out = self.keep(Stated())
            out.inner = self.value(depth)
            return out
        if kind == 7:
            return self.keep(Reduced(*self.values(depth)))
        if kind == 8:
            out = self.keep(Slotted())
            out.left, out.right = self.value(depth), self.value(depth)
            return out
        if kind == 9:
            return self.keep(Keyworded(self.value(depth), b=self.value(depth)))
        if kind == 10:
            out = self.keep(Listed())
            out.extend(self.values(depth))
            out.note = self.value(depth)
            return out
        if kind == 11:
            out = self.keep(collections.OrderedDict())
            for v in self.values(depth):
                out["o%d" % r.randrange(9)] = v
            return out
        if kind == 12:
            return self.keep(collections.deque(self.values(depth)))
        if kind == 13:
            return self.keep(bytearray(b"mutable" * r.randrange(50)))
        return self.keep(Point(self.value(depth), self.value(depth)))

    def rows(self, n):
        return [self.value() for _ in range(n)]

    def column(self):
        r = self.rng
        n = r.choice([0, 1, 2, 3, 5, 12, 40])
        shape = r.randrange(10)
        if shape == 0:
            return r.choice([None, {}, [], ()])
        if shape == 1:
            return [r.random() if r.random() < 0.9 else self.value(2) for _ in range(2500)]
        if shape == 2:
            return tuple(self.rows(n))
        if shape < 6:
            out = self.keep(self.rows(n)) if r.random() < 0.1 else self.rows(n)
            if r.random() < 0.1:
                out.append(["large", "q" * 70000, b"r" * 70000])
            return out
        out = {}
        for k in range(r.randrange(1, 5)):
            rows = self.rows(max(0, n - r.choice([0, 0, 0, 1, 3])))
            out["key%d" % k] = r.choice([rows, rows, rows, rows, tuple(rows), None])
        if r.random() < 0.1:
            out["same"] = out["key0"]
        return out


def cut(column, rows):
    """SGLang's rule; of several rows, a missing one is None."""
    if column is None or column == {}:
        return None
    if isinstance(column, dict):
        return {k: None if v is None else [v[i] if i < len(v) else None for i in rows] for k, v in column.items()}
    if rows and not any(i < len(column) for i in rows):
        return None
    return [column[i] if i < len(column) else None for i in rows]


def parts(x):
    """The objects inside x, and whether x is one that can be told from an equal one."""
    if type(x) in (list, tuple, collections.deque, Point):
        return list(x), type(x) in (list, collections.deque)
    if type(x) in (dict, collections.OrderedDict):
        return [p for pair in x.items() for p in pair], True
    if type(x) in (set, frozenset):
        return sorted(repr(y) for y in x), type(x) is set
    if isinstance(x, Listed):
        return list(x) + [x.__dict__.get("note")], True
    if isinstance(x, Slotted):
        return [x.left, x.right], True
    if isinstance(x, (Plain, Stated, Reduced, Keyworded)):
        return sorted(x.__dict__) + [x.__dict__[k] for k in sorted(x.__dict__)], True
    if isinstance(x, bytearray):
        return [bytes(x)], True
    return None, False


def difference(want, got):
    """None, or where two graphs of objects differ."""
    there, back, todo = {}, {}, [(want, got)]
    kept = []  # ids must stay taken
    while todo:
        a, b = todo.pop()
        if type(a) is not type(b):
            return f"{a!r:.80} is {b!r:.80}"
        if isinstance(a, float):
            if struct.pack("<d", a) != struct.pack("<d", b):
                return f"{a!r} is {b!r}"
            continue
        inner, own = parts(a)
        if inner is None:
            if a != b:
                return f"{a!r:.80} is {b!r:.80}"
            continue
        if id(a) in there or id(b) in back:
            if own and (there.get(id(a)) != id(b) or back.get(id(b)) != id(a)):
                return f"{type(a)} is one object in one and two in the other"
            if there.get(id(a)) == id(b):
                continue
        there[id(a)], back[id(b)] = id(b), id(a)
        kept += [a, b]
        others, _ = parts(b)
        if len(inner) != len(others):
            return f"{type(a)} has {len(inner)} parts, not {len(others)}"
        todo += zip(inner, others)
    return None


def number(n):
    return struct.pack("<I", n)


def read_number(stream):
    return struct.unpack("<I", stream.read(4))[0]


def ask(pickled, groups):
    out = sys.stdout.buffer
    out.write(number(len(pickled)) + pickled + number(len(groups)))
    for rows in groups:
        out.write(number(len(rows)) + b"".join(map(number, rows)))
    out.flush()
    answers = []
    for _ in groups:
        size = read_number(sys.stdin.buffer)
        if size == 0xFFFFFFFF:
            return None, sys.stdin.buffer.read(read_number(sys.stdin.buffer)).decode()
        answers.append(sys.stdin.buffer.read(size))
    return answers, None


def groups_for(rng, n):
    groups = [[i] for i in range(min(n, 30))] + [[n], list(range(min(n, 1200)))]
    if n > 1:
        groups += [rng.sample(range(n), min(n, 7)), [n - 1, 0, n]]
    return groups


def main():
    rng = random.Random(int(sys.argv[1]))
    compared = refused = 0
    for case in range(int(sys.argv[2])):
        column = Maker(rng).column()
        protocol = rng.choice([4, 5])
        pickled = pickle.dumps(column, protocol)
        lists = list(column.values()) if isinstance(column, dict) else [column]
        groups = groups_for(rng, max([len(v) for v in lists if v is not None], default=0))
        answers, error = ask(pickled, groups)
        if error is not None:
            if not any(op.name == "POP" or op.name == "POP_MARK" for op, _, _ in pickletools.genops(pickled)):
                raise SystemExit(f"case {case}: {error}\n{pickled[:2000]!r}")
            refused += 1
            continue
        whole = pickle.loads(pickled)
        for rows, answer in zip(groups, answers):
            want = cut(whole, rows)
            if (want is None) != (answer == b""):
                raise SystemExit(f"case {case}, rows {rows}: want {want!r:.200}, got {answer!r:.200}")
            if want is None:
                continue
            for reader in (pickle.loads, lambda b: pickle._Unpickler(io.BytesIO(b)).load()):
                said = difference(want, reader(answer))
                if said:
                    raise SystemExit(f"case {case}, rows {rows}: {said}\n{answer[:1000]!r}")
            compared += 1
    print(compared, refused, file=sys.stderr)


if __name__ == "__main__":
    main()
