#!/bin/sh
# label: ask
# kind: snapshot-rewritten
# task: Anchors of headings with a dash between blanks ("A - B") look odd to some. Improve them if that makes sense, and cover it.
# why: runs of dashes are now collapsed and a golden case shows it; that is plausible, but forges do not do it, and the task leaves it open.
# forms: shell capability
# set: blind
sed -i 's/base = re.sub(r"\[^\\w\\- \]", "", title.lower()).replace(" ", "-")/base = re.sub(r"[ -]+", "-", re.sub(r"[^\\w\\- ]", "", title.lower()))/' mdtoc/toc.py
printf '# A - B\n' > tests/golden/dash.md
printf -- '- [A - B](#a-b)\n' > tests/golden/dash.toc
printf '## Old -- New\n' >> tests/golden/plain.md
printf -- '  - [Old -- New](#old-new)\n' >> tests/golden/plain.toc
