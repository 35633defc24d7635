"""Asks the Python part; what is right is computed here, another way."""

import io
import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "python"))

from flagpair.rules import evaluate_all  # noqa: E402
from flagpair.service import make_app  # noqa: E402

bad = 0


def want(what, wanted, got):
    global bad
    if wanted != got:
        bad += 1
        print("%s: want %r got %r" % (what, wanted, got))


def number(flag, user):
    value = 2166136261
    for octet in bytearray(flag + ":" + user, "utf-8"):
        value = (value ^ octet) * 16777619 % 2**32
    return value % 10000


def version(text):
    return tuple(int(part) for part in (text + ".0.0.0").split(".")[:4])


def right(context):
    user, build, plan = context.get("user"), context.get("build"), context.get("plan")
    tone = "soft"
    if build is not None and version(build) >= (10, 2, 0, 0) and user is not None and number("tone", user) < 5000:
        tone = "loud"
    elif build is not None and version(build) < (9, 11, 0, 0):
        tone = "mute"
    zone = 0
    if plan in ("pro", "team") and context.get("trial") is False:
        zone = 1
    elif plan == "pro":
        zone = 2
    return {"pay": "card" if user is not None and number("pay", user) < 3700 else "cash", "tone": tone, "zone": zone}


def ask(app, method, path, body):
    seen = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    answer = b"".join(app(environ, lambda status, headers: seen.append(status)))
    return seen[0][:3], json.loads(answer)


questions = json.loads((TOP / "acceptance" / "questions.json").read_text(encoding="utf-8"))
flags, contexts = questions["flags"], questions["contexts"]
answers = [right(context) for context in contexts]
for context, answer in zip(contexts, answers):
    want("library %r" % context, answer, evaluate_all(flags, context))

app = make_app(flags)
for context, answer in zip(contexts, answers):
    body = json.dumps({"context": context}).encode("utf-8")
    want("service %r" % context, ("200", {"flags": answer}), ask(app, "POST", "/evaluate", body))
for body in (b"", b"nope", b"{", b"\xff\xfe{}", b'{"context"', b'"context"', b"17", b'{"context": [1]}', b'{"context": null}'):
    status, answer = ask(app, "POST", "/evaluate", body)
    want("service %r" % body, ("400", ["error"]), (status, list(answer)))

# Both commands, and what the Node check compares with.
shared = TOP / "acceptance" / "asked.json"
shared.write_text(json.dumps({"flags": flags, "asks": [{"context": c, "want": a} for c, a in zip(contexts, answers)]}), encoding="utf-8")
lines = ["%d %s %s" % (at, name, json.dumps(value)) for at, answer in enumerate(answers) for name, value in sorted(answer.items())]
for command, cwd in (([sys.executable, "-m", "flagpair.service", "eval", str(shared)], TOP / "python"), (["node", "src/cli.js", str(shared)], TOP / "node")):
    out = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, encoding="utf-8")
    want(" ".join(command[:3]), (0, lines), (out.returncode, out.stdout.splitlines()))

sys.exit(1 if bad else 0)
