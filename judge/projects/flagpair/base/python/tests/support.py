"""Shared by the tests."""

import io
import json
import pathlib

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


def shared_files():
    """Yield the name and the content of every shared file."""
    for path in sorted(SHARED.glob("*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))


def ask(app, method, path, body=b""):
    """Ask the application without a network; return the number of the status and the answer."""
    seen = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    chunks = app(environ, lambda status, headers: seen.append(status))
    return int(seen[0].split()[0]), json.loads(b"".join(chunks))
