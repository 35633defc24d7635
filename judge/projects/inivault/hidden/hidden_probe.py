import sys

sys.dont_write_bytecode = True
from inivault import Document, ExpandError, ParseError, expand, masked  # noqa: E402

failed = []


def check(name, got, want):
    if repr(got) != repr(want):
        failed.append("%s: got %r, want %r" % (name, got, want))


def raised(work):
    try:
        return work()
    except (ExpandError, ParseError) as err:
        return type(err).__name__


d = Document.parse("[m]\nDB_PASSWORD=p\nclient_Secret: q\nTokens=r\nname=s\n[n]\na=${n:b}-${n:b}\nb=${m:name}\n")
check("masked", masked(d, "m"), {"db_password": "***", "client_secret": "***", "tokens": "***", "name": "s"})
check("twice", expand(d, "n", "A"), "s-s")
check("self", raised(lambda: expand(Document.parse("[a]\nk=x${a:k}\n"), "a", "k")), "ExpandError")
three = Document.parse("[a]\n1=${b:2}\n[b]\n2=${c:3}\n[c]\n3=${a:1}\n")
check("loop of three", raised(lambda: expand(three, "c", "3")), "ExpandError")
deep = Document.parse("[a]\n" + "".join("k%d=${a:k%d}\n" % (n, n + 1) for n in range(40)) + "k40=end\n")
check("deep", raised(lambda: expand(deep, "a", "k0")), "end")
e = Document.parse("[x]\nk=1\n# c\n\n[y]\n")
e.set("x", "j", "2")
check("set", e.dump(), "[x]\nk = 1\nj = 2\n# c\n\n[y]\n")
e.set("X", "k", "3")
check("new section", e.sections(), ["x", "y", "X"])
print("\n".join(failed) or "ok")
sys.exit(1 if failed else 0)
