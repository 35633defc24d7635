"""The provider command of the package @NAME@: it reads one request, and writes one outcome, whatever happens."""

import hashlib
import json
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "@NAME@.json"), encoding="utf-8") as manifest:
    DECLARATION = json.load(manifest)["agent_task_executors"][0]


def work(request):
    """Does what a request asks for, and returns the rest of the outcome. What it raises becomes a failure."""
    progress("greeting")
    greeting = artifact(request, "greeting", "greeting.txt", "Hello! You said: " + request["instructions"] + "\n")
    return {"status": "succeeded", "summary": "said hello", "artifacts": [greeting]}


def artifact(request, kind, name, content):
    """Writes a file below artifacts_path, and describes it."""
    own = DECLARATION["workspace_materialization"]["artifact_paths"][0]
    directory = request.get("artifacts_path") or os.path.join(os.getcwd(), own)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name)
    data = hide(content).encode("utf-8")
    with open(path, "wb") as file:
        file.write(data)
    return {"id": name, "kind": kind, "name": name, "path": path, "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def progress(text):
    """Tells the host what is being done. Standard output is for the outcome alone."""
    print(hide("HOMEBOY_PROGRESS " + text), file=sys.stderr, flush=True)


def hide(text):
    """Takes the values of declared secrets out of a text."""
    values = [os.environ.get(s["name"], "") for s in DECLARATION["secret_requirements"]]
    for value in sorted((v for v in values if len(v) >= 4), key=len, reverse=True):
        text = text.replace(value, "[redacted]")
    return text


class Failure(Exception):
    """A failure with the words that the contract has for it."""

    def __init__(self, status, classification, diagnostic, message):
        super().__init__(message)
        self.outcome = {
            "status": status,
            "failure_classification": classification,
            "summary": message,
            "diagnostics": [{"class": diagnostic, "message": message}],
        }


def invalid(message):
    return Failure("provider_error", "invalid_input", "request_validation", message)


def read_request():
    text = sys.stdin.buffer.read().decode("utf-8", "replace") or os.environ.get("HOMEBOY_AGENT_TASK_REQUEST", "")
    try:
        request = json.loads(text)
    except ValueError as error:
        raise invalid(f"the request cannot be read: {error}") from error
    if not isinstance(request, dict):
        raise invalid("the request is not an object")
    return request


def at(value, path):
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def check(request):
    """Raises everything that is wrong with a request at once."""
    faults = []
    if request.get("schema") != DECLARATION["request_schema"]:
        faults.append("schema is not " + DECLARATION["request_schema"])
    if at(request, "executor.backend") != DECLARATION["backend"]:
        faults.append("executor.backend is not " + DECLARATION["backend"])
    for path in DECLARATION["request_required_fields"]:
        value = at(request, path)
        if value is None or (isinstance(value, str) and not value.strip()):
            faults.append(path + " is missing")
    if faults:
        raise invalid("; ".join(faults))


def stop(*_):
    raise Failure("cancelled", "unknown", "cancelled", "the host asked to stop")


def late(*_):
    raise Failure("timeout", "timeout", "timeout", "the time limit passed")


def serve():
    task_id = "unknown-task"
    try:
        request = read_request()
        if isinstance(request.get("task_id"), str) and request["task_id"].strip():
            task_id = request["task_id"]
        check(request)
        limits = request.get("limits") or {}
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, (limits.get("timeout_ms") or limits.get("max_runtime_ms") or 1_200_000) / 1000)
        outcome = work(request)
    except Failure as failure:
        outcome = failure.outcome
    except Exception as error:  # whatever happens, the host gets an outcome
        outcome = Failure("failed", "execution_failed", "execution_failed", f"{type(error).__name__}: {error}").outcome
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"schema": DECLARATION["outcome_schema"], "task_id": task_id, **outcome}


def main():
    if "--provider-contract" in sys.argv:
        print(json.dumps(DECLARATION))
        return
    signal.signal(signal.SIGTERM, stop)
    outcome = serve()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(hide(json.dumps(outcome)), flush=True)


if __name__ == "__main__":
    main()
