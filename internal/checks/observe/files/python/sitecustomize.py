"""Observes pytest, unittest and what tox starts. PYTHONPATH puts it before every other sitecustomize, which it runs too."""

import sys


def _next(here):
    """Runs the sitecustomize that would have been found without this one."""
    import importlib.machinery

    paths = [p for p in sys.path if p.rstrip("/\\") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is None or spec.loader is None:
        return
    module = type(sys)("sitecustomize")
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _observe():
    import os

    if not os.environ.get("DEED_OBSERVE_INSIDE"):
        import deed_observe

        deed_observe.watch()
    return os.path.dirname(os.path.abspath(__file__))


if sys.version_info >= (3, 5):
    try:
        _here = _observe()
    except Exception:  # what cannot be observed runs as it would without us
        _here = None
    if _here:
        _next(_here.rstrip("/\\"))
