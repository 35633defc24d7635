"use strict";
const test = require("node:test");
const assert = require("node:assert/strict");
const { escape, renderText, renderHtml } = require("../web/render.js");

const TASKS = [
  { id: 10, title: "Ten", state: "todo" },
  { id: 2, title: "<b>Two</b> & 'more'", state: "todo" },
  { id: 3, title: "Three", state: "done" },
];

test("text is grouped and sorted by number", () => {
  assert.equal(renderText(TASKS), "To do (2)\n  #2 <b>Two</b> & 'more'\n  #10 Ten\nIn progress (0)\nDone (1)\n  #3 Three\n");
});

test("html escapes titles", () => {
  const html = renderHtml(TASKS);
  assert.ok(html.includes('<li id="t2">&lt;b&gt;Two&lt;/b&gt; &amp; &#39;more&#39;</li>'));
  assert.equal(html.split("<section>").length, 4);
});

test("escape escapes every time", () => {
  assert.equal(escape("<<&>>"), "&lt;&lt;&amp;&gt;&gt;");
  assert.equal(escape(5), "5");
});

test("an unknown state is an error", () => {
  assert.throws(() => renderText([{ id: 1, title: "x", state: "lost" }]), /task 1: unknown state lost/);
});
