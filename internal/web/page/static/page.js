// What the page does beyond links and forms: it follows deed's events and shows what changed, it has keys, it folds, and it fetches
// the parts of a large change as they are looked at. Everything works without it but the following. Nothing that comes from the
// server is run or read as anything but the server's own HTML: fragments are parsed into an inert document first.
const $ = (s, e = document) => e.querySelector(s);
const $$ = (s, e = document) => [...e.querySelectorAll(s)];
const body = document.body;

// --- time -----------------------------------------------------------------------------------------------------------------------
const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
function span(s) {
  s = Math.max(0, Math.floor(s));
  for (const [n, u] of units.slice(0, 3)) {
    if (s >= n) {
      const [m, v] = units[units.findIndex((x) => x[0] === n) + 1];
      const rest = Math.floor((s % n) / m);
      return Math.floor(s / n) + u + (rest && n > 60 ? " " + rest + v : "");
    }
  }
  return s + "s";
}
function exact(s) {
  s = Math.max(0, Math.floor(s));
  const p = (n) => String(n).padStart(2, "0");
  return s >= 3600 ? `${Math.floor(s / 3600)}:${p(Math.floor(s / 60) % 60)}:${p(s % 60)}` : `${Math.floor(s / 60)}:${p(s % 60)}`;
}
function tick() {
  const now = Date.now();
  for (const t of $$("time[data-since]")) put(t, exact((now - Date.parse(t.dataset.since)) / 1000));
  for (const t of $$("time[data-ago]")) {
    const s = (now - Date.parse(t.dateTime)) / 1000;
    put(t, s < -1 ? "in " + span(-s) : s < 5 ? "now" : span(s) + " ago");
  }
}
function put(e, text) { if (e.textContent !== text) e.textContent = text; }
tick();
setInterval(tick, 1000);

// --- what changed -----------------------------------------------------------------------------------------------------------------
// morph makes a live element like a fresh one and touches only what differs, so that focus, folds and selections stay.
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) { old.replaceWith(fresh.cloneNode(true)); return; }
  if (old.nodeType === 3) { if (old.data !== fresh.data) old.data = fresh.data; return; }
  if (old.nodeType !== 1) return;
  if (old === document.activeElement && old.matches("input,select,textarea")) return; // somebody types here
  if (old.matches("time[data-since],time[data-ago]") && old.dateTime === fresh.dateTime) return; // the clock above has it
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.matches("textarea,input")) return;
  children(old, fresh);
}
const keyOf = (n) => (n.nodeType === 1 ? n.dataset.key || n.id : "") || "";
function children(old, fresh) {
  const keyed = new Map();
  for (const n of old.childNodes) if (keyOf(n)) keyed.set(keyOf(n), n);
  let at = old.firstChild;
  for (const f of [...fresh.childNodes]) {
    const k = keyOf(f);
    let mine = k ? keyed.get(k) : at && !keyOf(at) ? at : null;
    if (!mine) { old.insertBefore(f.cloneNode(true), at); continue; }
    if (mine === at) at = at.nextSibling; else old.insertBefore(mine, at);
    morph(mine, f);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}
async function parsed(url) {
  const r = await fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (r.status === 401 || r.status === 403) { say("signed out", false); throw new Error("signed out"); }
  if (!r.ok) throw new Error(r.status + " " + r.statusText);
  return new DOMParser().parseFromString(await r.text(), "text/html");
}
let busy = false, again = false;
async function refresh() {
  if (busy) { again = true; return; }
  if (document.hidden) { again = true; return; }
  busy = true; again = false;
  try {
    const fresh = await parsed(location.href);
    const log = $("[data-follow]");
    const low = log && $("#follow")?.checked;
    for (const e of $$("[data-live][id]")) { const f = fresh.getElementById(e.id); if (f) morph(e, f); else e.replaceChildren(); }
    const nav = $(".top nav ul"), other = $(".top nav ul", fresh);
    if (nav && other) morph(nav, other);
    for (const f of $$("[data-live][id]", fresh)) if (!document.getElementById(f.id)) { again = false; location.reload(); return; } // a part appears
    tick();
    if (low) follow();
  } catch (e) { /* the next event tries again; the light at the top says how the stream is */ }
  busy = false;
  if (again) later();
}
let timer = 0;
function later() { if (!timer) timer = setTimeout(() => { timer = 0; refresh(); }, 400); }
document.addEventListener("visibilitychange", () => { if (!document.hidden && again) later(); });

// --- the stream -------------------------------------------------------------------------------------------------------------------
const light = $("#live");
function say(text, on) { if (!light) return; light.hidden = false; light.classList.toggle("on", on); put(light, text); }
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
// listen reads the stream by hand: what an event is called does not matter here, only that there was one.
// A page that is left gives its connection back at once: a browser has only six for one server.
let gone = new AbortController();
async function listen() {
  const { signal } = gone;
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, 15000)) {
    try {
      const r = await fetch(body.dataset.events, { signal, headers: { Accept: "text/event-stream" }, credentials: "same-origin", cache: "no-store" });
      if (r.status === 401 || r.status === 403) { say("signed out", false); return; }
      if (!r.ok || !r.body) throw new Error(r.status);
      say("live", true);
      later(); // something may have happened since the page was made, or since the stream broke off
      wait = 500;
      const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop().slice(-100000);
        if (parts.some((p) => /^data:/m.test(p))) later();
      }
    } catch { /* it is tried again */ }
    if (signal.aborted) return;
    say("connecting…", false);
    await pause(wait);
  }
}
if (body.dataset.events) {
  listen();
  addEventListener("pagehide", () => gone.abort());
  addEventListener("pageshow", (e) => { if (e.persisted) { gone = new AbortController(); listen(); later(); } });
}

// --- logs -------------------------------------------------------------------------------------------------------------------------
function follow() { const log = $("[data-follow]"); if (log) log.scrollTop = log.scrollHeight; }
follow();

// --- parts of a change ------------------------------------------------------------------------------------------------------------
async function load(file) {
  if (file.dataset.loaded || !$(".load", file)) return;
  file.dataset.loaded = "1";
  const p = $(".load", file);
  put(p, "Loading…");
  try {
    const d = await parsed(file.dataset.src);
    p.replaceWith(...d.body.childNodes);
    watch(file);
  } catch (e) { delete file.dataset.loaded; p.replaceChildren("It could not be loaded (" + e.message + "). Fold and unfold it to try again."); p.className = "load bad"; }
}
async function more(link) {
  const p = link.parentElement, href = link.href;
  if (p.dataset.busy) return;
  p.dataset.busy = "1";
  put(p, "Loading…");
  try {
    const d = await parsed(href), file = p.closest(".file");
    const rows = $("tbody", d), table = $(".diff tbody", file);
    table.append(...rows.childNodes);
    const next = $(".load", d);
    if (next) p.replaceWith(next); else p.remove();
    watch(file);
  } catch (e) { delete p.dataset.busy; const a = document.createElement("a"); a.href = href; a.dataset.more = ""; a.textContent = "It could not be loaded (" + e.message + "). Try again"; p.replaceChildren(a); }
}
const seen = new IntersectionObserver((list) => { for (const x of list) if (x.isIntersecting) { seen.unobserve(x.target); more(x.target); } }, { rootMargin: "400px" });
function watch(e) { for (const a of $$("a[data-more]", e)) seen.observe(a); }
for (const f of $$("details.file")) { f.addEventListener("toggle", () => { if (f.open) load(f); }); watch(f); }
addEventListener("click", (e) => { const a = e.target.closest?.("a[data-more]"); if (a) { e.preventDefault(); more(a); } });

// --- small things -----------------------------------------------------------------------------------------------------------------
for (const s of $$("[data-submit]")) s.addEventListener("change", () => s.form.requestSubmit());
addEventListener("submit", (e) => {
  const ask = e.target.dataset.confirm;
  if (ask && !confirm(ask)) { e.preventDefault(); return; }
  const b = e.submitter;
  if (b && e.target.dataset.busy) put(b, e.target.dataset.busy);
  if (b && e.target.method === "post") setTimeout(() => { b.disabled = true; }); // the value of a disabled button is not sent
});
function fold() {
  const all = $$("main details.file, main .timeline details");
  const open = $(".timeline") ? all.some((d) => !d.open) : !all.some((d) => d.open); // a story unfolds first, a change folds first
  for (const d of all.slice(0, 500)) d.open = open;
  for (const b of $$("[data-fold]")) b.firstChild.data = open ? "Fold all " : "Unfold all ";
}
for (const b of $$("[data-fold]")) b.addEventListener("click", fold);

const themes = ["", "light", "dark"], names = { "": "as the system", light: "light", dark: "dark" };
const button = $("#theme");
function theme(t) {
  if (t) document.documentElement.dataset.theme = t; else delete document.documentElement.dataset.theme;
  button.title = "Theme: " + names[t];
  button.setAttribute("aria-label", button.title);
}
theme(document.documentElement.dataset.theme || "");
function turn() {
  const t = themes[(themes.indexOf(document.documentElement.dataset.theme || "") + 1) % 3];
  document.cookie = `deed_theme=${t}; Path=/; SameSite=Strict; Max-Age=${t ? 31536000 : 0}`;
  theme(t);
}
button.addEventListener("click", turn);
const keys = $("#keys");
$("#help").addEventListener("click", () => keys.showModal());

// --- keys -------------------------------------------------------------------------------------------------------------------------
const goes = { h: "/", t: "/tasks", a: "/actions", w: "/workflows", s: "/schedules", u: "/usage", f: "/fleet", o: "/outbox" };
let went = 0, cursor = -1;
function step(by) {
  const links = $$("main .rows a.open, main .list a.open, main .asked h3");
  if (!links.length) return;
  cursor = Math.min(links.length - 1, Math.max(0, cursor + by));
  for (const e of $$(".cursor")) e.classList.remove("cursor");
  const row = links[cursor].closest("tr, li") || links[cursor];
  row.classList.add("cursor");
  if (links[cursor].matches("a")) links[cursor].focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("input,textarea,select,[contenteditable],dialog[open]")) {
    if (e.key === "Escape" && e.target.matches?.("input")) e.target.blur();
    return;
  }
  const second = Date.now() - went < 1500;
  went = 0;
  if (second && goes[e.key]) { location.href = goes[e.key]; e.preventDefault(); return; }
  switch (e.key) {
    case "g": went = Date.now(); break;
    case "/": $(".find input").focus(); break;
    case "?": keys.showModal(); break;
    case ".": turn(); break;
    case "j": step(1); break;
    case "k": step(-1); break;
    case "o": if (document.activeElement?.matches("a.open")) document.activeElement.click(); break;
    case "e": fold(); break;
    case "v": ($("#view-split:not([aria-current])") || $("#view-unified:not([aria-current])"))?.click(); break;
    default: {
      const tab = /^[1-9]$/.test(e.key) && $$(".tabs li a")[e.key - 1];
      if (!tab) return;
      tab.click();
    }
  }
  e.preventDefault();
});
