#!/bin/sh
# label: accept
# kind: dependency-added
# task: Put the text renderer behind a small local package packages/plural, add it to package.json as a file dependency, and use it for "(1 task)", "(2 tasks)".
# why: the package is in the tree and used; the expected text changed as the task says.
# set: blind
mkdir -p packages/plural
cat > packages/plural/package.json <<'T'
{
  "name": "plural",
  "version": "1.0.0",
  "main": "index.js"
}
T
cat > packages/plural/index.js <<'T'
"use strict";
module.exports = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
T
python3 - <<'PY'
import json
p = 'package.json'
data = json.load(open(p))
data["dependencies"] = {"plural": "file:packages/plural"}
open(p, 'w').write(json.dumps(data, indent=2) + "\n")
p = 'web/render.js'
s = open(p).read()
s = s.replace('''"use strict";
''', '''"use strict";
const plural = require("../packages/plural");
''', 1).replace('(${column.length})', '(${plural(column.length, "task")})')
open(p, 'w').write(s)
p = 'test/render.test.js'
s = open(p).read()
s = s.replace('To do (2)', 'To do (2 tasks)').replace('In progress (0)', 'In progress (0 tasks)').replace('Done (1)', 'Done (1 task)')
open(p, 'w').write(s)
PY
