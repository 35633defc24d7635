import subprocess
import sys

WANT = [
    (["52.2", "0.13"], 0, "JO02be"),
    (["-90", "0"], 0, "JA00aa"),
    (["90", "-180"], 0, "AR09ax"),
    (["12", "180"], 0, "RK92xa"),
    (["10", "20"], 0, "KK00aa"),
    (["-90.01", "0"], 2, ""),
    (["0", "180.5"], 2, ""),
    (["-d", "AA00aa"], 0, "-90.0000 -180.0000"),
    (["-d", "io91wm"], 0, "51.5000 -0.1667"),
    (["-d", "IO91ym"], 2, ""),
    (["-d", "IO9:wm"], 2, ""),
    (["-d", "S091wm"], 2, ""),
]
bad = 0
for args, code, text in WANT:
    done = subprocess.run(["build/geogrid"] + args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="ascii")
    if (done.returncode, done.stdout.strip()) != (code, text):
        print(args, done.returncode, done.stdout)
        bad += 1
sys.exit(1 if bad else 0)
