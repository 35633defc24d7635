"""Answers questions about the Python project in the working directory, from its files and the interpreter that runs this.

path      the directories that an installed project would have on the path, one in a line
missing   for each name of a module on standard input that is a dependency and not installed: the name
"""

import configparser
import glob
import os
import re
import sys

try:
    import tomllib
except ImportError:
    tomllib = None


def text(name):
    try:
        with open(name, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def pyproject(directory="."):
    """The tables of pyproject.toml; none where it is broken, or where this Python has no reader: its lines speak then."""
    if tomllib is None:
        return {}
    try:
        return tomllib.loads(text(os.path.join(directory, "pyproject.toml")))
    except ValueError:
        return {}


def setup_cfg(directory="."):
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(text(os.path.join(directory, "setup.cfg")))
    except (configparser.Error, ValueError):
        return configparser.ConfigParser()
    return config


def at(tables, *keys):
    for key in keys:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def strings(value):
    """The texts in a value of any shape."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def pairs(lines):
    """`name = directory` in the lines of an option of setup.cfg."""
    for line in lines.splitlines():
        if "=" in line:
            yield line.split("=", 1)[1].strip()


def roots(directory):
    """Where the packages of a project are looked for, as its build backend is told; src where it is not told otherwise."""
    project, config = pyproject(directory), setup_cfg(directory)
    found = list(strings(at(project, "tool", "setuptools", "packages", "find", "where")))
    found += list(strings(at(project, "tool", "setuptools", "package-dir", "")))
    found += list(strings(at(project, "tool", "pdm", "build", "package-dir")))
    for package in at(project, "tool", "poetry", "packages") or []:
        found += list(strings(at(package, "from")))
    wheel = at(project, "tool", "hatch", "build", "targets", "wheel") or {}
    found += [os.path.dirname(p) for p in strings(at(wheel, "packages"))]
    found += list(strings(at(wheel, "sources")))
    found += config.get("options.packages.find", "where", fallback="").split()
    found += list(pairs(config.get("options", "package_dir", fallback="")))
    found += re.findall(r"""package_dir\s*=\s*\{\s*["']["']\s*:\s*["']([^"']+)["']""", text(os.path.join(directory, "setup.py")))
    if tomllib is None:
        found += re.findall(r"""(?m)^\s*(?:where\s*=\s*\[|""\s*=|from\s*=)\s*["']([^"']+)["']""", text(os.path.join(directory, "pyproject.toml")))
    found.append("src")
    for root in found:
        path = os.path.normpath(os.path.join(directory, root))
        if root not in ("", ".") and importable(path) and not os.path.isabs(root) and not path.startswith(".."):
            yield path


def importable(path):
    """Whether a directory holds packages or modules, and is none itself. With a module of the standard library's name it is not for the path,
    where it would come first; an installed project comes after."""
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "__init__.py")):
        return False
    names = sorted(os.listdir(path))
    if {name[:-3] if name.endswith(".py") else name for name in names} & set(getattr(sys, "stdlib_module_names", ())):
        return False
    for name in names:
        inner = os.path.join(path, name)
        if name.endswith(".py") or os.path.isdir(inner) and name.isidentifier() and glob.glob(os.path.join(glob.escape(inner), "*.py")):
            return True
        if os.path.isdir(inner) and name.isidentifier() and glob.glob(os.path.join(glob.escape(inner), "*", "*.py")):
            return True
    return False


def members():
    """The project here, and those of a workspace of uv."""
    yield "."
    for pattern in strings(at(pyproject(), "tool", "uv", "workspace", "members")):
        for directory in sorted(glob.glob(pattern)):
            if os.path.isfile(os.path.join(directory, "pyproject.toml")):
                yield directory


def show_path():
    seen = []
    for directory in members():
        found = list(roots(directory))
        if directory != "." and not found and importable(directory):
            found = [directory]
        for root in found:
            if root not in seen:
                seen.append(root)
    for root in seen:
        print(os.path.abspath(root))


REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def declared():
    """The distributions that the project asks for."""
    lines = []
    for directory in members():
        project, config = pyproject(directory), setup_cfg(directory)
        for keys in (("project", "dependencies"), ("project", "optional-dependencies"), ("dependency-groups",), ("tool", "uv", "dev-dependencies"), ("tool", "pdm", "dev-dependencies")):
            lines += strings(at(project, *keys))
        poetry = at(project, "tool", "poetry") or {}
        groups = [at(poetry, "dependencies"), at(poetry, "dev-dependencies")]
        groups += [at(group, "dependencies") for group in (at(poetry, "group") or {}).values()]
        for group in groups:
            lines += list(group or {})
        lines += config.get("options", "install_requires", fallback="").splitlines()
        lines += config.get("options", "tests_require", fallback="").splitlines()
        if config.has_section("options.extras_require"):
            for _, value in config.items("options.extras_require"):
                lines += value.splitlines()
        lines += re.findall(r"""["']([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:[<>=!~\[;][^"']*)?["']""", "".join(re.findall(r"(?s)(?:install|tests|extras)_require\s*=\s*[\[{](.*?)[\]}]", text(os.path.join(directory, "setup.py")))))
        if tomllib is None:
            lines += re.findall(r"""(?m)^\s*["']([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:[<>=!~\[;][^"']*)?["']\s*,?\s*$""", text(os.path.join(directory, "pyproject.toml")))
        for name in glob.glob(os.path.join(glob.escape(directory), "*requirements*.txt")) + glob.glob(os.path.join(glob.escape(directory), "requirements", "*.txt")):
            lines += text(name).splitlines()
    names = (REQUIREMENT.match(line) for line in lines)
    return {normal(m.group(1)) for m in names if m} - {"python"}


def uninstalled(names):
    from importlib import metadata

    for name in sorted(names):
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            yield name


def own(module):
    """Whether the tree has the module: what is missing then is the project's own."""
    for root in [".", *[r for d in members() for r in [d, *roots(d)]]]:
        path = os.path.join(root, module)
        if os.path.isdir(path) or os.path.isfile(path + ".py"):
            return True
    return False


def show_missing():
    wanted = {line.strip().split(".")[0] for line in sys.stdin if line.strip()}
    absent = set(uninstalled(declared()))
    for module in sorted(wanted):
        if own(module):
            continue
        # A distribution may hold modules of other names: where one is not installed, it may be the one.
        if normal(module) in absent or absent and normal(module) not in declared() or module == "pytest":
            print(module)


if __name__ == "__main__":
    sys.path.pop(0)
    {"path": show_path, "missing": show_missing}[sys.argv[1]]()
