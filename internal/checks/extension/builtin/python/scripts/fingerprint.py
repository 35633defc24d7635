#!/usr/bin/env python3
"""The structure of a Python file, by Python's own parser: the source is parsed, and never run.

One document {"file_path", "content"} on standard input gives one object on standard output, and a document that cannot
be read an exit code other than 0. With --lines every line of the input is a document with a number as its "id", and
every line of the output its answer, or {"error": why}, with the same.
"""

import sys

sys.dont_write_bytecode = True

import ast
import hashlib
import json
import warnings

MAX_CHARS = 2 << 20

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Refused(Exception):
    """A document that has no structure, with the reason for the report."""


class Hasher:
    """Names the body of a function, as it stands and without names and literals. Layout and comments are not in the
    tree, and a docstring is a comment. It goes down without recursion: code can be nested deeper than the stack."""

    def __init__(self):
        self.exact, self.shape, self.size = [], [], 0

    def both(self, mark):
        self.exact.append(mark)
        self.shape.append(mark)

    def text(self, value):
        raw = value.encode("utf-8", "surrogatepass")
        self.exact.append(b"%d:" % len(raw) + raw)

    def body(self, statements):
        stack = list(reversed(statements))
        while stack:
            item = stack.pop()
            if item is None:
                self.both(b"-")
            elif isinstance(item, bytes):
                self.both(item)
            elif isinstance(item, ast.AST):
                self.node(item, stack)
            else:
                self.both(b"n")
                self.text(str(item))

    def node(self, node, stack):
        if isinstance(node, ast.expr_context):
            return
        if not isinstance(node, (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)):
            self.size += 1
        self.both(b"(" + type(node).__name__.encode())
        if isinstance(node, ast.Constant):
            self.both(type(node.value).__name__.encode() + b")")
            self.text(literal(node.value))
            return
        stack.append(b")")
        for field in reversed(node._fields):
            value = getattr(node, field, None)
            if isinstance(value, list):
                stack.append(b"]")
                stack.extend(reversed(value))
                stack.append(b"[")
            elif isinstance(value, int):  # how deep an import goes up, and other small marks of the grammar
                stack.append(b"%d" % value)
            elif field != "type_comment":
                stack.append(value)


def digest(parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def literal(value):
    """The text of a constant. Decimals of a huge number would take long to make, and are refused."""
    return hex(value) if type(value) is int else value if isinstance(value, str) else repr(value)


class Reader:
    """Finds the declarations of one file. What stands in the body of a function belongs to the function."""

    def __init__(self):
        self.functions, self.types, self.properties, self.exported = [], [], [], None

    def block(self, statements, owner=None):
        """Reads statements of the file or of a class, in order, with all that is only there under a condition."""
        stack = [(s, owner) for s in reversed(statements)]
        while stack:
            s, owner = stack.pop()
            if isinstance(s, FUNCTIONS):
                self.function(s, owner)
            elif isinstance(s, ast.ClassDef):
                name = self.type(s, owner)
                stack.extend((inner, name) for inner in reversed(s.body))
            elif isinstance(s, (ast.Assign, ast.AnnAssign)):
                self.assigned(s, owner)
            else:
                inner = []
                for field in ("body", "handlers", "orelse", "finalbody", "cases"):
                    inner.extend(getattr(s, field, None) or [])
                stack.extend((i, owner) for i in reversed(inner) if isinstance(i, ast.AST))

    def function(self, f, owner):
        a = f.args
        parameters = len(a.args) + len(getattr(a, "posonlyargs", [])) + len(a.kwonlyargs) + bool(a.vararg) + bool(a.kwarg)
        if owner and not any(name_of(d) == "staticmethod" for d in f.decorator_list):
            parameters -= 1 if a.args or getattr(a, "posonlyargs", []) else 0  # the object is none
        found = {
            "name": f.name, "type": owner or "", "line": f.lineno, "end": f.end_lineno, "visibility": visibility(f.name), "parameters": parameters,
        }
        body = f.body[1:] if ast.get_docstring(f, clean=False) is not None else f.body
        if not all(isinstance(s, ast.Pass) or is_ellipsis(s) for s in body):
            h = Hasher()
            h.body(body)
            found.update(hash=digest(h.exact), shape=digest(h.shape), size=h.size)
        self.functions.append(found)

    def type(self, c, owner):
        name = f"{owner}.{c.name}" if owner else c.name
        bases = [b for b in map(name_of, c.bases) if b and b != "object"]
        self.types.append({"name": name, "kind": "class", "line": c.lineno, "implements": bases, "visibility": visibility(c.name)})
        return name

    def assigned(self, s, owner):
        for t in s.targets if isinstance(s, ast.Assign) else [s.target]:
            if not isinstance(t, ast.Name):
                continue
            if owner:
                self.properties.append(t.id)
            elif t.id == "__all__" and isinstance(s.value, (ast.List, ast.Tuple)):
                self.exported = [e.value for e in s.value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def is_ellipsis(s):
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and s.value.value is ...


def name_of(node):
    """The dotted name of an expression, of what is indexed or called too; "" for any other expression."""
    parts = []
    while True:
        if isinstance(node, ast.Name):
            return ".".join([node.id] + parts[::-1])
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return ""


def visibility(name):
    if name.startswith("__") and not name.endswith("__"):
        return "private"
    return "protected" if name.startswith("_") and not name.startswith("__") else "public"


def imported(node):
    """The modules that a statement names; of one that is only dots, what it takes from there."""
    if isinstance(node, ast.Import):
        return [a.name for a in node.names]
    dots = "." * (node.level or 0)
    return [dots + node.module] if node.module else [dots + a.name for a in node.names]


def unique(items):
    return list(dict.fromkeys(items))


def answer(tree):
    r = Reader()
    r.block(tree.body)
    imports, calls = [], set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.extend((node.lineno, name) for name in imported(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            calls.add(node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
    imports.sort(key=lambda i: i[0])
    first = r.types[0] if r.types else {"name": "", "implements": []}
    hashed = [f for f in reversed(r.functions) if "hash" in f]  # of two with one name the first counts
    public = [f["name"] for f in r.functions + r.types if f["visibility"] == "public" and not f.get("type")]
    return {
        "methods": unique(f["name"] for f in r.functions),
        "type_name": first["name"],
        "type_names": unique(t["name"] for t in r.types),
        "extends": first["implements"][0] if first["implements"] else "",
        "implements": first["implements"][1:],
        "namespace": "",
        "imports": [name for _, name in imports],
        "import_lines": [line for line, _ in imports],
        "method_hashes": {f["name"]: f["hash"] for f in hashed},
        "structural_hashes": {f["name"]: f["shape"] for f in hashed},
        "visibility": {f["name"]: f["visibility"] for f in reversed(r.functions)},
        "properties": unique(r.properties),
        "internal_calls": sorted(calls),
        "public_api": unique(public) if r.exported is None else r.exported,
        "functions": r.functions,
        "types": r.types,
    }


def decoded(document):
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def fingerprint(document):
    content = document.get("content")
    if not isinstance(content, str):
        raise Refused("not a document with file_path and content")
    if len(content) > MAX_CHARS:
        raise Refused("too large to parse")
    try:
        tree = ast.parse(content[1:] if content.startswith("\ufeff") else content)
    except (RecursionError, MemoryError):
        raise Refused("nested too deep to parse") from None
    except (SyntaxError, ValueError, OverflowError):
        raise Refused("not valid Python") from None
    return answer(tree)


def main():
    if sys.version_info < (3, 8):
        sys.exit("Python 3.8 or later is needed")
    warnings.simplefilter("ignore")  # what Python thinks of the code is for its linter
    if sys.argv[1:] != ["--lines"]:
        try:
            print(json.dumps(fingerprint(decoded(sys.stdin.buffer.read()))))
        except Refused as why:
            sys.exit(str(why))
        return
    for line in sys.stdin.buffer:
        document = decoded(line)
        try:
            out = fingerprint(document)
        except Refused as why:
            out = {"error": str(why)}
        out["id"] = document.get("id")
        sys.stdout.write(json.dumps(out) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
