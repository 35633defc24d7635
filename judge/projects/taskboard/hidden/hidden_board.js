const assert = require("node:assert/strict");
const { escape, renderText, renderHtml } = require("./web/render.js");

assert.equal(escape(`"a" 'b' "c"`), "&quot;a&quot; &#39;b&#39; &quot;c&quot;");
assert.deepEqual(require("./web/states.gen.js").labels, require("./schema/board.json").labels);
const tasks = [9, 100, 20, 3].map((id) => ({ id, title: `n<${id}><`, state: "doing" }));
assert.deepEqual(renderText(tasks).match(/#\d+/g), ["#3", "#9", "#20", "#100"]);
assert.ok(renderHtml(tasks).includes("n&lt;100&gt;&lt;"));
assert.ok(renderHtml([]).includes("<h2>In progress</h2>"));
