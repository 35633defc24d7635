import subprocess
import sys

WANT = [
    (("100", "C", "K"), 0, "373.15 K"),
    (("212", "F", "C"), 0, "100 C"),
    (("310.15", "K", "F"), 0, "98.6 F"),
    (("-460", "F", "C"), 2, ""),
    (("-274", "C", "K"), 2, ""),
    (("-273.15", "C", "K"), 0, "0 K"),
    (("3", "ft", "in"), 0, "36 in"),
    (("1", "lb", "g"), 0, "453.592 g"),
    (("7", "cm", "m"), 0, "0.07 m"),
    (("1", "m", "C"), 2, ""),
]
bad = 0
for argv, code, text in WANT:
    done = subprocess.run([sys.executable, "unitconv.py", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    if (done.returncode, done.stdout.strip()) != (code, text):
        print("unitconv %s: %d %r %s" % (" ".join(argv), done.returncode, done.stdout, done.stderr))
        bad += 1
sys.exit(1 if bad else 0)
