"""The rules of a flag."""

import re

from .bucket import bucket

OPERATORS = (">=", "<")


def parts(version):
    """Return the numbers of a version, without zeros at the end."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def matches(want, got):
    if got is None:
        return False
    if isinstance(want, list):
        return got in want
    if isinstance(want, str):
        for operator in OPERATORS:
            if want.startswith(operator):
                below = parts(str(got)) < parts(want[len(operator):])
                return below == (operator == "<")
    return want == got


def applies(rule, name, context):
    if not all(matches(want, context.get(key)) for key, want in rule.get("if", {}).items()):
        return False
    if "share" not in rule:
        return True
    return "user" in context and bucket(name, context["user"]) < rule["share"] * 100


def evaluate(flag, name, context):
    """Return what the flag is in the context."""
    if flag.get("on"):
        for rule in flag.get("rules", []):
            if applies(rule, name, context):
                return rule["then"]
    return flag["else"]


def evaluate_all(flags, context):
    return {name: evaluate(flag, name, context) for name, flag in sorted(flags.items())}
