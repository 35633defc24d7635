"use strict";
const { states, labels } = require("./states.gen.js");

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escape(text) {
  return String(text).replace(/[&<>"']/g, (c) => ENTITIES[c]);
}

function byState(tasks) {
  const columns = new Map(states.map((state) => [state, []]));
  for (const task of tasks) {
    if (!columns.has(task.state)) throw new RangeError(`task ${task.id}: unknown state ${task.state}`);
    columns.get(task.state).push(task);
  }
  for (const column of columns.values()) column.sort((a, b) => a.id - b.id);
  return columns;
}

function renderText(tasks) {
  const lines = [];
  for (const [state, column] of byState(tasks)) {
    lines.push(`${labels[state]} (${column.length})`);
    for (const task of column) lines.push(`  #${task.id} ${task.title}`);
  }
  return lines.join("\n") + "\n";
}

function renderHtml(tasks) {
  let out = "";
  for (const [state, column] of byState(tasks)) {
    const items = column.map((task) => `<li id="t${task.id}">${escape(task.title)}</li>`).join("");
    out += `<section><h2>${escape(labels[state])}</h2><ul>${items}</ul></section>\n`;
  }
  return out;
}

module.exports = { escape, byState, renderText, renderHtml };
