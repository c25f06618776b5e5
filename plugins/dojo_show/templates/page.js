"use strict";
// Every text is set as textContent: what a student typed can never become markup.
const SVG = "http://www.w3.org/2000/svg";
const sections = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
const small = matchMedia("(max-width: 767px)");
const paper = matchMedia("print");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function make(parent, name, attributes = {}, text) {
  const drawn = ["svg", "g", "path", "rect", "circle", "text", "line", "polygon", "defs", "pattern", "title"].includes(name);
  const node = drawn ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== false) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}
const clear = node => { node.replaceChildren(); return node; };
const finite = value => typeof value === "number";
const largest = rows => Math.max(1e-9, ...rows.flat(3).filter(finite).map(Math.abs));
const shown = value => !finite(value) ? String(value) : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 1000) / 1000).replace("-", "−");
const digits = rows => Math.max(0, ...rows.flat(3).filter(finite).map(value => (shown(value).split(".")[1] || "").length));
const aligned = (value, places) => finite(value) && Math.abs(value) < 1000 ? value.toFixed(places).replace("-", "−") : shown(value);
const percent = value => (100 * value).toFixed(value < .1 ? 1 : 0) + " %";

// Whose something is: nothing is said about what is the student's.
function told(part) {
  if (part.source === "fails") return "yours, fails: " + part.katas.join(", ");
  if (!isHatched(part)) return "";
  if (part.note) return (part.katas.length ? part.katas.join(", ") + ": " : "") + part.note;
  return part.katas.length ? "not yours yet: " + part.katas.join(", ") : "a value before it is missing";
}
const isHatched = part => part.source === "recorded" || part.source === "missing";
function badge(parent, part) {
  const text = told(part);
  if (text) make(parent, "span", { class: "badge" }, text);
}
function tint(node, value, most) {
  if (!finite(value) || !value) return;
  const strength = (8 + 60 * Math.min(1, Math.abs(value) / most)).toFixed(1);
  node.style.backgroundColor = `color-mix(in srgb, var(--${value < 0 ? "minus" : "plus"}) ${strength}%, transparent)`;
}

function figure(parent, part) {
  const box = make(parent, "figure", { class: isHatched(part) ? "hatched" : "", "data-name": part.name || undefined });
  badge(make(box, "figcaption", {}, part.title), part);
  if (!part.values) return box;
  if (part.kind === "bars") return bars(box, part.columns, part.values[0], null, 1), box;
  const wide = part.rows.length > 12;
  const table = make(box, "table", { class: part.kind === "mask" ? "mask" : wide ? "tight" : "" });
  const head = make(make(table, "thead"), "tr");
  make(head, "td", { hidden: "" }); make(head, "th", {}, "");
  const strip = label => label.replace("feature ", "").replace("position ", "");
  part.columns.forEach(label => make(head, "th", { scope: "col" }, strip(label)));
  const body = make(table, "tbody"), most = largest(part.values) * (isHatched(part) ? 1.8 : 1), places = digits(part.values);
  const changed = new Set((part.changed || []).map(String));
  part.values.forEach((row, r) => {
    const line = make(body, "tr");
    make(line, "th", { scope: "row" }, wide ? strip(part.rows[r]) : part.rows[r]);
    row.forEach((value, c) => {
      const mask = part.kind === "mask";
      const cell = make(line, "td", { title: wide && shown(value) }, mask ? (value ? "✓" : "·") : aligned(value, places));
      if (mask) cell.classList.toggle("on", Boolean(value)); else tint(cell, value, most);
      cell.classList.toggle("changed", changed.has(`${r},${c}`));
      if ((part.lights || []).length) {
        cell.addEventListener("pointerenter", () => light(box, part.lights, r, c));
        cell.addEventListener("pointerleave", () => light(box, [], r, c));
      }
    });
  });
  return box;
}

// Light up the rows that a cell was made of, and the cell itself.
function light(box, lights, r, c) {
  const section = box.closest("section");
  section.querySelectorAll(".lit").forEach(node => node.classList.remove("lit"));
  for (const [name, by] of lights) {
    const rows = section.querySelectorAll(`[data-name="${name}"] tbody tr`);
    rows[by === "row" ? r : c]?.classList.add("lit");
  }
  if (lights.length) box.querySelectorAll("tbody tr")[r].querySelectorAll("td")[c].classList.add("lit");
}

function bars(parent, names, values, marks, most = largest([values]), text = shown, kind = "") {
  const box = make(parent, "div", { class: "bars", role: "list" });
  values.forEach((value, n) => {
    const label = make(box, "span", { class: "name", role: "listitem" }, names[n]);
    const bar = make(box, "span", { class: "bar " + kind, "aria-hidden": "true" });
    make(bar, "i").style.width = 100 * Math.max(0, finite(value) ? value : 0) / most + "%";
    if (marks) make(bar, "b").style.left = 100 * marks[n] / most + "%";
    make(box, "span", {}, text(value));
    label.setAttribute("aria-label", `${names[n]}: ${text(value)}`);
  });
  return box;
}

// ---- the overview ---------------------------------------------------------------------------------------
function overview(section, data) {
  const list = make(section, "ul", { class: "katas" });
  const marks = { yours: "● ", fails: "✗ ", begun: "◐ ", open: "○ " };
  const words = { yours: "yours", fails: "yours, fails", begun: "does not pass yet", open: "not begun" };
  for (const [kata, status] of Object.entries(data.statuses)) make(list, "li", { class: status, title: words[status] }, marks[status] + kata);
}

// ---- curves ---------------------------------------------------------------------------------------------
function curves(parent, title, lines, names, note) {
  const box = make(parent, "figure");
  const caption = make(box, "figcaption", {}, title);
  if (note) make(caption, "span", { class: "badge none" }, note);
  const values = lines.flatMap(line => line.values), top = Math.max(...values), low = Math.min(0, ...values), width = 440, height = 210, left = 44, bottom = 28;
  const x = n => left + n * (width - left - 56) / (names.length - 1), y = value => 24 + (height - bottom - 24) * (top - value) / (top - low || 1);
  const svg = make(box, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title}: ` + lines.map(line => `${line.name} ${line.values.map(shown).join(", ")}`).join("; ") });
  for (const value of [low, (low + top) / 2, top]) {
    make(svg, "line", { x1: left, x2: width - 46, y1: y(value), y2: y(value), class: "axis" });
    make(svg, "text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, shown(Math.round(value * 100) / 100));
  }
  names.forEach((name, n) => { if (names.length < 8 || n % 4 === 0) make(svg, "text", { x: x(n), y: height - 6, "text-anchor": "middle" }, name); });
  for (const line of lines) {
    make(svg, "path", { d: line.values.map((value, n) => `${n ? "L" : "M"} ${x(n).toFixed(1)} ${y(value).toFixed(1)}`).join(" "), class: "curve " + (line.kind || "") });
    if (line.values.length < 8) line.values.forEach((value, n) => {
      make(svg, "circle", { cx: x(n), cy: y(value), r: 4, class: "dot" });
      make(svg, "text", { x: x(n) + 8, y: y(value) + (line.values[n + 1] > value ? 16 : -8), class: "strong" }, shown(value));
    });
  }
  if (lines.length > 1) {
    const legend = make(box, "ul", { class: "legend" });
    for (const line of lines) { const item = make(legend, "li", { class: (line.kind || "blue").replace("second", "orange").replace(/^dashed/, "blue dashed") }); make(item, "i"); item.append(line.name); }
  }
  return box;
}
// ---- a text, token by token ------------------------------------------------------------------------------
// A token that is pressed shows what it was chosen from, and what each head of each layer looked at then.
function speak(section, data) {
  if (!data.tokens.length) return;
  const words = make(section, "div", { class: "spoken", role: "group", "aria-label": "The text, token by token" });
  const start = make(words, "span", { class: "token", title: "the start" }, "⏎");
  const buttons = data.tokens.map((text, n) => {
    words.append(text.slice(0, text.length - text.trimStart().length));  // the space, so that lines break there alone
    const button = make(words, "span", { role: "button", tabindex: 0, class: "token" + (data.likeliest[n].length ? "" : " given") }, text.trimStart());
    button.addEventListener("click", () => choose(n));
    button.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(n); } });
    return button;
  });
  const places = [start, ...buttons], detail = make(section, "div", { class: "pair", "aria-live": "polite" });
  const lit = (query, key) => places.forEach((node, n) => { node.classList.toggle("query", n === query); node.classList.toggle("key", n === key); });

  function choose(n) {
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === n)));
    clear(detail);
    const left = make(detail, "figure");
    make(left, "figcaption", {}, data.likeliest[n].length ? `“${data.tokens[n].trim()}” was chosen from` : `“${data.tokens[n].trim()}” was given`);
    if (data.likeliest[n].length) bars(left, data.likeliest[n].map(one => one[0].trim() || one[0]), data.likeliest[n].map(one => one[1]), null, 1, percent);
    if (!data.weights) return;
    const right = make(detail, "figure", { class: "heads" });
    make(right, "figcaption", {}, n ? `What each head (layer.head) looked at after “${data.tokens[n - 1].trim()}”, to choose it` : "What each head (layer.head) looked at");
    heads.forEach((layer, l) => layer.forEach((head, h) => {
      const row = make(right, "div", { class: "head", role: "img", "aria-label": `layer ${l + 1}, head ${h + 1}: ${most(head[n]).map(k => `${named(k)} ${head[n][k]} %`).join(", ")}` });
      make(row, "span", { class: "name" }, `${l + 1}.${h + 1}`);
      for (let k = 0; k <= n; k++) {
        const cell = make(row, "i", { title: `layer ${l + 1}, head ${h + 1}: ${named(k)} ${head[n][k]} %` });
        tint(cell, head[n][k], Math.max(5, ...head[n]));
        cell.addEventListener("pointerenter", () => lit(n, k));
        cell.addEventListener("pointerleave", () => lit(-1, -1));
      }
    }));
  }
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const heads = (data.weights || []).map(layer => layer.map(head => head.map(row => [...row].map(digit => Math.round(100 * digits.indexOf(digit) / 61)))));
  const named = k => k ? `“${data.tokens[k - 1].trim()}”` : "the start";
  const most = row => row.map((_, k) => k).sort((a, b) => row[b] - row[a]).slice(0, 3).filter(k => row[k]);
  choose(Math.max(0, data.tokens.findLastIndex(text => text.trim().length > 3)));
}

// ---- the page -------------------------------------------------------------------------------------------
const special = { speak };  // the course's script adds functions of (section, data) by the ids of their sections
function show() {
  sections.forEach((part, n) => {
    const section = make(main, "section", { id: part.id, "aria-labelledby": "title-" + part.id });
    make(section, n ? "h2" : "h1", { id: "title-" + part.id }, part.title);
    if (part.data.said) make(section, "p", { class: "said" }, `“${part.data.said} …”`);
    part.texts.forEach(text => make(section, "p", {}, text));
    if (part.data.statuses) overview(section, part.data);
    if (special[part.id]) special[part.id](section, part.data);
    if (part.figures.length) { const box = make(section, "div", { class: "figures" }); part.figures.forEach((one, k) => { if (k && one.kind === "bars" && part.figures[k - 1].kind !== "bars") make(box, "div", { class: "break" }); figure(box, one); }); }
  });
}
