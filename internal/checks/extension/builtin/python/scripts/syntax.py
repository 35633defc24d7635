"""Prints path:line:column: message for each file, given on standard input, that does not compile. It writes nothing."""

import sys
import warnings

warnings.simplefilter("ignore")
for path in sys.stdin.read().split("\n"):
    if not path:
        continue
    try:
        with open(path, "rb") as f:
            compile(f.read(), path, "exec", dont_inherit=True)
    except SyntaxError as e:
        print(f"{path}:{e.lineno or 1}:{e.offset or 0}: {e.msg}")
    except (OSError, ValueError, RecursionError, MemoryError) as e:
        print(f"{path}:1:0: {e}")
