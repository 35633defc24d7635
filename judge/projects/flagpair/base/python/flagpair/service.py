"""The service, and a command that answers the questions of a file.

    python3 -m flagpair.service serve PORT FILE
    python3 -m flagpair.service eval FILE
"""

import json
import sys
from wsgiref.simple_server import make_server

from .rules import evaluate_all


class Refused(Exception):
    """A question that cannot be answered."""


def read_context(environ):
    length = int(environ.get("CONTENT_LENGTH") or 0)
    try:
        question = json.loads(environ["wsgi.input"].read(length))
    except ValueError:
        raise Refused("not JSON") from None
    if not isinstance(question, dict) or not isinstance(question.get("context"), dict):
        raise Refused("no context")
    return question["context"]


def make_app(flags):
    def answer(environ):
        route = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if route == ("GET", "/health"):
            return "200 OK", "ok"
        if route == ("GET", "/flags"):
            return "200 OK", sorted(flags)
        if route == ("POST", "/evaluate"):
            try:
                return "200 OK", {"flags": evaluate_all(flags, read_context(environ))}
            except Refused as err:
                return "400 Bad Request", {"error": str(err)}
        return "404 Not Found", {"error": "no such thing"}

    def app(environ, start_response):
        status, body = answer(environ)
        start_response(status, [("Content-Type", "application/json; charset=utf-8")])
        return [json.dumps(body).encode("utf-8")]

    return app


def main(argv):
    if len(argv) == 3 and argv[0] == "serve":
        with open(argv[2], encoding="utf-8") as source:
            flags = json.load(source)["flags"]
        make_server("127.0.0.1", int(argv[1]), make_app(flags)).serve_forever()
    if len(argv) == 2 and argv[0] == "eval":
        with open(argv[1], encoding="utf-8") as source:
            shared = json.load(source)
        sys.stdout.reconfigure(encoding="utf-8")
        for number, ask in enumerate(shared["asks"]):
            for name, value in evaluate_all(shared["flags"], ask["context"]).items():
                print(number, name, json.dumps(value, ensure_ascii=False))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
