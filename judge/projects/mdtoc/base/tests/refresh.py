"""Write the golden files again from what the program prints now."""

import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).parent / "golden"

for source in sorted(GOLDEN.glob("*.md")):
    out = subprocess.run([sys.executable, "-m", "mdtoc", str(source)], check=True, stdout=subprocess.PIPE, cwd=GOLDEN.parent.parent)
    source.with_suffix(".toc").write_bytes(out.stdout)
    print("wrote", source.with_suffix(".toc").name)
