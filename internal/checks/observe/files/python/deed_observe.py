"""Lets observers into pytest, unittest and tox when their modules are imported."""

import sys

OBSERVERS = {
    "_pytest.config": "deed_observe_pytest",
    "unittest.runner": "deed_observe_unittest",
    "tox.tox_env.api": "deed_observe_tox",
}


class Loader:
    """Loads a module as its own loader does, then lets the observer in."""

    def __init__(self, loader, observer):
        self.loader = loader
        self.observer = observer

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            __import__(self.observer)
            sys.modules[self.observer].let_in(module)
        except Exception:  # what cannot be observed runs as it would without us
            pass


class Finder:
    """Finds the modules of the runners as the other finders do."""

    def find_spec(self, name, path=None, target=None):
        observer = OBSERVERS.get(name)
        if observer is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec.loader, observer)
                return spec
        return None


def watch():
    sys.meta_path.insert(0, Finder())
