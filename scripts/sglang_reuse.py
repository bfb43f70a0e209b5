#!/usr/bin/env python3
"""Makes the published candidate from an unpacked SGLang 0.5.21.

    python3 scripts/sglang_reuse.py TREE OUT

TREE is the folder that holds `sglang/`; OUT, which must not exist, becomes a copy of it in which two
loops open a message's wrapped metadata once for all rows behind the first, instead of for every row:
the detokenizer's (`multi_http_worker_event_loop`) and the detokenizer router's
(`MultiDetokenizerRouter.event_loop`). With both fields and 32 rows that is 4 opened columns instead
of 64; a message of one row is handled as before. TREE is only read. Each file changed is printed with
its sha256 before and after.

This file has no line of SGLang's. It parses TREE and looks for a structure:
  - a loop `for NUMBER, KEY in enumerate(...)` whose first statement is `ROW = SLICE(MESSAGE, NUMBER)`;
  - SLICE, a function of the same module, that takes a message apart by class, one `isinstance` a
    class, and reads each field by a call `READ(MESSAGE, "field", NUMBER)`;
  - READ, of the same module, that opens fields of certain names: `x = OPEN(x)` under a flag that is
    `name in ("field", ...)`;
  - OPEN, imported from another module of TREE, that hands back what is not wrapped.
Then `if NUMBER == 1: _fanoutbench_open_once(MESSAGE)` goes before each of the two slices, and that
function, made from the names found, before SLICE. What differs from this is not edited: the message
says which function and what in it, the exit status is 1, and OUT is not made.
"""
import argparse
import ast
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile

FOLDER = pathlib.PurePosixPath("sglang/srt/managers")
LOOPS = ((None, "multi_http_worker_event_loop"), ("MultiDetokenizerRouter", "event_loop"))
HELPER = "_fanoutbench_open_once"


class Refused(Exception):
    """The tree is not what this script edits; the text names function and difference."""


class Module:
    """One file of the tree: its text, and its functions by name (methods as Class.name)."""

    def __init__(self, tree, path):
        self.path = path
        self.data = (tree / path).read_bytes()
        try:
            self.ast = ast.parse(self.data, filename=str(path))
            self.text = self.data.decode("utf-8")
        except (SyntaxError, UnicodeDecodeError) as err:
            raise Refused(f"{path} does not parse: {err}") from err
        self.functions = {}
        for node in self.ast.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        self.functions[f"{node.name}.{inner.name}"] = inner


def is_name(node, name=None):
    return isinstance(node, ast.Name) and name in (None, node.id)


def calls_of(node):
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]


def find_loop(modules, owner, name):
    """The module and the qualified name of one of LOOPS."""
    found = [(m, full) for m in modules for full in m.functions
             if full.rpartition(".")[2] == name and owner in (None, full.rpartition(".")[0])]
    wanted = f"{owner}.{name}" if owner else name
    if not found:
        raise Refused(f"no file in {FOLDER} defines {wanted}; this tree has no such loop (0.5.21 has it)")
    if len(found) > 1:
        places = ", ".join(f"{m.path}:{m.functions[full].lineno}" for m, full in found)
        raise Refused(f"{wanted} is defined {len(found)} times ({places}), want once")
    return found[0]


def groups_rows(function):
    """Whether rows are gathered by key: x.setdefault(key, []).append(number)."""
    for call in calls_of(function):
        f = call.func
        if (isinstance(f, ast.Attribute) and f.attr == "append" and isinstance(f.value, ast.Call)
                and isinstance(f.value.func, ast.Attribute) and f.value.func.attr == "setdefault"):
            return True
    return False


def grouper(module, start):
    """The function that groups rows, among start and those it reaches in its module, or None."""
    seen, waiting = set(), [start]
    while waiting:
        full = waiting.pop()
        if full in seen or full not in module.functions:
            continue
        seen.add(full)
        function = module.functions[full]
        if groups_rows(function):
            return full
        owner = full.rpartition(".")[0]
        for call in calls_of(function):
            if is_name(call.func):
                waiting.append(call.func.id)
            elif isinstance(call.func, ast.Attribute) and is_name(call.func.value, "self"):
                waiting.append(f"{owner}.{call.func.attr}")
    return None


def slice_call(loop):
    """(SLICE, MESSAGE, NUMBER) where the loop has the structure, else what differs."""
    call = loop.iter
    if not (isinstance(call, ast.Call) and is_name(call.func, "enumerate") and len(call.args) == 1 and not call.keywords):
        return "it does not go over enumerate(...)"
    target = loop.target
    if not (isinstance(target, ast.Tuple) and len(target.elts) == 2 and all(map(is_name, target.elts))):
        return "its target is not a number and a key"
    number, first = target.elts[0].id, loop.body[0]
    if not (isinstance(first, ast.Assign) and len(first.targets) == 1 and is_name(first.targets[0])
            and isinstance(first.value, ast.Call) and is_name(first.value.func)
            and len(first.value.args) == 2 and not first.value.keywords
            and is_name(first.value.args[0]) and is_name(first.value.args[1], number)):
        return f"its first statement does not slice a row, as in ROW = SLICE(MESSAGE, {number})"
    message = first.value.args[0].id
    stored = [n.id for part in loop.body for n in ast.walk(part) if is_name(n) and isinstance(n.ctx, ast.Store)]
    for name in (message, number):
        if name in stored:
            return f"it assigns {name} inside"
    if first.lineno == loop.lineno or any(s.lineno == first.end_lineno for s in loop.body[1:]):
        return "its first statement has no line of its own"
    return first.value.func.id, message, number


def row_loop(module, full):
    """The loop over rows of a function: (SLICE, MESSAGE, NUMBER, first statement)."""
    function, where = module.functions[full], f"{module.path}: {full}"
    if HELPER in module.functions:
        raise Refused(f"{where}: this file was edited by this script before ({HELPER} is in it); want the release as it is")
    found, others = [], []
    for loop in (n for n in ast.walk(function) if isinstance(n, (ast.For, ast.AsyncFor))):
        result = slice_call(loop)
        if isinstance(result, str):
            others.append(f"line {loop.lineno}: {result}")
        else:
            found.append((*result, loop.body[0]))
    if len(found) == 1:
        return found[0]
    group = grouper(module, full)
    if not found and group:
        raise Refused(f"{where} has nothing to edit: {group} gathers the rows of one receiver and opens the metadata once "
                      "for each, so no row decodes it anew")
    if found:
        raise Refused(f"{where} has {len(found)} loops that slice rows, want one")
    raise Refused(f"{where} has no loop that slices rows ({'; '.join(others) or 'it has no loop'})")


def function_of(module, name, parameters, caller):
    function = module.functions.get(name)
    if function is None:
        raise Refused(f"{module.path}: {caller} calls {name}, which is not defined in that file")
    names = [a.arg for a in function.args.args]
    if len(names) < parameters:
        raise Refused(f"{module.path}: {name} has {len(names)} parameters, want at least {parameters}")
    return function, names


def opened_fields(module, name, caller):
    """(OPEN, field names): what READ opens. Its parameters are message, field name, number."""
    function, names = function_of(module, name, 3, caller)
    flags = {}
    for node in ast.walk(function):
        if (isinstance(node, ast.Assign) and is_name(node.targets[0]) and isinstance(node.value, ast.Compare)
                and is_name(node.value.left, names[1]) and isinstance(node.value.ops[0], ast.In)
                and isinstance(node.value.comparators[0], (ast.Tuple, ast.List, ast.Set))):
            fields = [e.value for e in node.value.comparators[0].elts if isinstance(e, ast.Constant)]
            flags[node.targets[0].id] = fields
    opens = []
    for node in ast.walk(function):
        if isinstance(node, ast.If) and is_name(node.test) and node.test.id in flags:
            for part in node.body:
                if (isinstance(part, ast.Assign) and is_name(part.targets[0]) and isinstance(part.value, ast.Call)
                        and is_name(part.value.func) and len(part.value.args) == 1
                        and is_name(part.value.args[0], part.targets[0].id)):
                    opens.append((part.value.func.id, flags[node.test.id]))
    if len(opens) != 1:
        raise Refused(f"{module.path}: {name} opens wrapped fields at {len(opens)} places, want one: "
                      "x = OPEN(x) under a flag that is set by `name in (...)`")
    return opens[0]


def sliced_classes(module, name, caller):
    """(classes, OPEN, fields): the classes of message whose opened fields SLICE reads."""
    function, (message, number, *_) = function_of(module, name, 2, caller)
    readers = {c.func.id for c in calls_of(function)
               if is_name(c.func) and len(c.args) >= 3 and is_name(c.args[0], message) and is_name(c.args[2], number)}
    if len(readers) != 1:
        raise Refused(f"{module.path}: {name} reads fields by {len(readers)} functions {sorted(readers)}, want one: "
                      f'READ({message}, "field", {number})')
    reader = readers.pop()
    opener, fields = opened_fields(module, reader, name)
    classes = []
    for node in ast.walk(function):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Call) and is_name(node.test.func, "isinstance")
                and is_name(node.test.args[0], message)):
            continue
        read = {c.args[1].value for part in node.body for c in calls_of(part)
                if is_name(c.func, reader) and isinstance(c.args[1], ast.Constant)}
        if read & set(fields):
            if not is_name(node.test.args[1]):
                raise Refused(f"{module.path}:{node.lineno}: {name} asks for more than one class at once, want one a branch")
            classes.append(node.test.args[1].id)
    if not classes:
        raise Refused(f"{module.path}: {name} has no branch `isinstance({message}, CLASS)` that reads one of {fields}")
    return classes, opener, fields


def check_opener(tree, module, opener):
    """OPEN must hand back what is open already: rows behind the first call it on opened columns."""
    sources = [n for n in module.ast.body if isinstance(n, ast.ImportFrom) and not n.level
               and any(opener == (a.asname or a.name) for a in n.names)]
    if len(sources) != 1:
        raise Refused(f"{module.path}: {opener} is imported {len(sources)} times, want once")
    path = pathlib.PurePosixPath(*sources[0].module.split(".")).with_suffix(".py")
    if not (tree / path).is_file():
        raise Refused(f"{module.path} imports {opener} from {sources[0].module}, which is no file of the tree ({path})")
    name = next(a.name for a in sources[0].names if opener == (a.asname or a.name))
    other = Module(tree, path)
    function, (value, *_) = function_of(other, name, 1, module.path)
    for node in ast.walk(function):
        if (isinstance(node, ast.If) and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
                and isinstance(node.test.operand, ast.Call) and is_name(node.test.operand.func, "isinstance")
                and is_name(node.test.operand.args[0], value)
                and isinstance(node.body[-1], ast.Return) and is_name(node.body[-1].value, value)):
            return
    raise Refused(f"{path}: {name} does not hand back a value that is not wrapped "
                  f"(no `if not isinstance({value}, ...): return {value}`), so an opened column cannot be read again")


def helper(classes, opener, fields):
    return [
        f"def {HELPER}(message):",
        '    """Opens the wrapped columns for all rows that are still to come."""',
        f"    if isinstance(message, ({', '.join(classes)},)):",
        f"        for field in {tuple(fields)!r}:",
        "            column = getattr(message, field, None)",
        "            if column is not None:",
        f"                setattr(message, field, {opener}(column))",
        "", "",
    ]


def plan(tree):
    """{path: edited bytes}, without having written anything."""
    folder = tree / FOLDER
    if not folder.is_dir():
        nested = " (it has python/sglang: give its folder `python`)" if (tree / "python" / FOLDER).is_dir() else ""
        raise Refused(f"{tree} does not hold {FOLDER}{nested}")
    names = {name for _, name in LOOPS}
    modules = [Module(tree, FOLDER / p.name) for p in sorted(folder.glob("*.py"))
               if any(f"def {name}" in p.read_text("utf-8", errors="replace") for name in names)]
    inserts = {}  # module -> {line: lines that go before it}
    helpers = {}  # (module, SLICE) -> done
    for owner, name in LOOPS:
        module, full = find_loop(modules, owner, name)
        slicer, message, number, first = row_loop(module, full)
        indent = " " * first.col_offset
        lines = inserts.setdefault(module, {})
        lines[first.lineno] = [f"{indent}if {number} == 1:", f"{indent}    {HELPER}({message})"]
        if (module, slicer) in helpers:
            continue
        if any(m is module for m, _ in helpers):
            raise Refused(f"{module.path}: {full} slices rows by {slicer}, the other loop by another function")
        classes, opener, fields = sliced_classes(module, slicer, full)
        check_opener(tree, module, opener)
        helpers[module, slicer] = True
        function = module.functions[slicer]
        at = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        lines[at] = helper(classes, opener, fields)
    return {module.path: edited(module, lines) for module, lines in inserts.items()}


def edited(module, inserts):
    end = "\r\n" if "\r\n" in module.text else "\n"
    out = []
    for number, line in enumerate(module.text.split("\n"), 1):
        out += [text + end for text in inserts.get(number, [])] + [line + "\n"]
    data = "".join(out)[:-1].encode("utf-8")
    if ast.dump(without_ours(ast.parse(data))) != ast.dump(module.ast):
        raise Refused(f"{module.path}: the edit changed more than it should; nothing was written")
    return data


def without_ours(tree):
    """The module without what this script adds."""
    class Remover(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            return None if node.name == HELPER else self.generic_visit(node)

        def visit_If(self, node):
            ours = any(is_name(c.func, HELPER) for part in node.body[:1] if isinstance(part, ast.Expr) for c in calls_of(part))
            return None if ours else self.generic_visit(node)

    return Remover().visit(tree)


def make(tree, out):
    """Copies the tree beside OUT, edits the copy, renames it. Gives (path, before, after) of each file."""
    if os.path.lexists(out):
        raise Refused(f"{out} exists, want a path where nothing is")
    if tree.resolve() in out.resolve().parents:
        raise Refused(f"{out} lies inside {tree}")
    files = plan(tree)
    making = pathlib.Path(tempfile.mkdtemp(prefix=".making-", dir=out.parent))
    try:
        copy = making / "copy"
        # Links are followed: one that stayed a link would lead an edit to the original.
        shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("__pycache__"))
        changed = []
        for path, data in files.items():
            before = (copy / path).read_bytes()
            (copy / path).chmod(0o644)
            (copy / path).write_bytes(data)
            changed.append((path, hashlib.sha256(before).hexdigest(), hashlib.sha256(data).hexdigest()))
        os.rename(copy, out)
        return changed
    finally:
        shutil.rmtree(making)


def main():
    parser = argparse.ArgumentParser(description="Copies an unpacked SGLang and lets the copy's fanout loops open "
                                                 "wrapped metadata once behind the first row.")
    parser.add_argument("tree", metavar="TREE", type=pathlib.Path, help="the folder that holds sglang/")
    parser.add_argument("out", metavar="OUT", type=pathlib.Path, help="where the copy goes; must not exist")
    args = parser.parse_args()
    try:
        for path, before, after in make(args.tree, args.out):
            print(f"{path} {before} {after}")
    except (Refused, OSError) as err:
        sys.exit(f"sglang_reuse.py: {err}")


if __name__ == "__main__":
    main()
