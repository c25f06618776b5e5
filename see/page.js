// What the page draws from the data of its sections. `make`, `figure`, `bars` and `curves` are the grader's.
// ---- the stack ------------------------------------------------------------------------------------------
function stack(section, data) {
  const play = { layers: 2, grid: 8, step: 6, open: -1, timer: 0 };
  const controls = make(section, "div", { class: "controls stack-controls", role: "group", "aria-label": "Steps of the stack" });
  const buttons = {};
  for (const name of ["Start", "Back", "Step", "Play"]) buttons[name] = make(controls, "button", { type: "button", id: name.toLowerCase() }, name);
  const choose = (text, id, options, chosen, act) => {
    const box = make(controls, "label", {}, text), select = make(box, "select", { id });
    options.forEach(option => make(select, "option", { value: option, selected: option === chosen ? "" : undefined }, option));
    select.addEventListener("change", () => act(Number(select.value)));
  };
  choose("layers N", "layers", [1, 2, 3, 4, 5, 6], 2, value => { const full = play.step === last(); play.layers = value; play.step = full ? last() : Math.min(play.step, last()); play.open = -1; draw(); });
  choose("grid", "grid", [2, 4, 8], 8, value => { play.grid = value; draw(); });
  const state = make(section, "p", { class: "state", id: "state", "aria-live": "polite" });
  const stage = make(section, "div", { class: "stage" });
  const picture = make(stage, "div"), detail = make(stage, "div", { id: "detail", "aria-live": "polite" });
  const last = () => 3 * play.layers;
  const at = () => small.matches || paper.matches ? last() : play.step;

  buttons.Start.addEventListener("click", () => move(0));
  buttons.Back.addEventListener("click", () => move(play.step - 1));
  buttons.Step.addEventListener("click", () => move(play.step + 1));
  buttons.Play.addEventListener("click", () => play.timer ? stop() : go());
  function move(step) { stop(); play.step = Math.max(0, Math.min(last(), step)); play.open = -1; draw(); }
  function go() {
    if (calm.matches) return;
    if (play.step === last()) play.step = 0;
    buttons.Play.textContent = "Pause";
    play.timer = setInterval(() => { play.step += 1; play.open = -1; if (play.step >= last()) stop(); draw(); }, 900);
  }
  function stop() { clearInterval(play.timer); play.timer = 0; buttons.Play.textContent = "Play"; }
  calm.addEventListener("change", () => { stop(); draw(); });
  small.addEventListener("change", draw);
  paper.addEventListener("change", draw);

  function draw() {
    const done = at(), plane = data.planes[done - 1];
    buttons.Start.disabled = buttons.Back.disabled = done === 0;
    buttons.Step.disabled = done === last();
    buttons.Play.disabled = calm.matches;
    buttons.Play.title = calm.matches ? "Your system asks for less motion." : "";
    state.textContent = done ? `Step ${done} of ${last()}: layer ${plane.layer}, ${plane.name}` : `Step 0 of ${last()}: the inputs, h₀ and the memory`;
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.plane : undefined;
    drawStack(clear(picture), done);
    if (focused !== undefined) picture.querySelector(`[data-plane="${focused}"]`)?.focus();
    showPlane(clear(detail), play.open >= 0 ? play.open : done);
  }

  // A plane is a parallelogram: tokens go back, features go right.
  function drawStack(parent, done) {
    const count = last(), gap = small.matches || count > 9 ? 32 : 46, tall = gap - 9, width = 222, slant = 58, left = 66;
    const height = (count + 1) * gap + tall + 30, memoryY = height / 2 - 18;
    const svg = make(parent, "svg", { viewBox: `0 0 440 ${height}`, width: 440, height, role: "group", "aria-label": `A stack of ${play.layers} decoder layers` });
    const pattern = make(make(svg, "defs"), "pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    make(pattern, "line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatchline" });
    const corners = (x, y, u0, u1, v0, v1, w = width) => [[u0, v0], [u1, v0], [u1, v1], [u0, v1]].map(([u, v]) => `${(x + slant * (1 - v) + w * u).toFixed(1)},${(y + tall * v).toFixed(1)}`).join(" ");
    const cells = (group, x, y, rows, w) => {
      const most = largest(rows), columns = w ? rows[0].length : play.grid, per = rows[0].length / columns;
      rows.forEach((row, r) => {
        for (let c = 0; c < columns; c++) {
          const part = row.slice(c * per, (c + 1) * per).filter(finite);
          const value = part.reduce((sum, one) => sum + one, 0) / Math.max(1, part.length);
          make(group, "polygon", { points: corners(x, y, c / columns, (c + 1) / columns, r / rows.length, (r + 1) / rows.length, w), class: value < 0 ? "minus" : "plus", "fill-opacity": (.85 * Math.abs(value) / most).toFixed(2) });
        }
      });
    };
    for (let n = 1; n <= count; n++) {  // below the planes, so that a line never covers one
      const plane = data.planes[n - 1];
      if (plane.name !== "cross-attention") continue;
      const y = height - 26 - tall - n * gap + tall / 2 + 8;
      make(svg, "path", { d: `M 372 ${memoryY + tall / 2} C 345 ${memoryY + tall / 2}, 372 ${y}, ${left + width + slant / 2 + 2} ${y}`, class: "wire" + (n === done ? " glow" : ""), "data-wire": n });
    }
    for (let n = 0; n <= count; n++) {
      const plane = n ? data.planes[n - 1] : { name: "h₀", hidden: data.x, source: "plain" };
      const y = height - 26 - tall - n * gap, label = n ? `layer ${plane.layer}, ${plane.name}` : "h₀, the embedded tokens";
      const seen = n <= done && plane.hidden;
      const touched = seen && n && plane.changed.length > 0;
      const group = make(svg, "g", { class: ["plane", n <= done ? "done" : "", n === done ? "now" : "", n === play.open ? "open" : "", touched ? "touched" : ""].join(" "), role: "button", tabindex: 0, "data-plane": n, "aria-label": `${label}${n && isHatched(plane) ? ", not yours yet" : ""}${touched ? ", changed" : ""}. Show its values.` });
      make(group, "polygon", { points: corners(left, y, 0, 1, 0, 1), class: "edge" });
      if (seen) cells(group, left, y, plane.hidden);
      if (n && isHatched(plane)) make(group, "polygon", { points: corners(left, y, 0, 1, 0, 1), class: "hatch" });
      const short = { "self-attention": "self", "cross-attention": "cross", "feed-forward": "FFN" };
      make(group, "text", { x: left - 10, y: y + tall - 3, "text-anchor": "end", class: n === 0 ? "strong" : "" }, n ? `${plane.layer} ${short[plane.name]}` : "h₀");
      const open = () => { play.open = n; draw(); };
      group.addEventListener("click", open);
      group.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } });
    }
    const box = make(svg, "g");
    make(box, "text", { x: 374, y: memoryY - 10 }, "memory");
    const most = largest(data.memory);
    data.memory.forEach((row, r) => row.forEach((value, c) => make(box, "rect", { x: 374 + 7.5 * c, y: memoryY + 9 * r, width: 6.9, height: 8.4, class: value < 0 ? "minus" : "plus", "fill-opacity": (.12 + .8 * Math.abs(value) / most).toFixed(2) })));
  }

  function showPlane(parent, n) {
    const features = Array.from({ length: data.memory[0].length }, (_, i) => String(i));
    if (!n) {
      make(parent, "h3", {}, "The inputs");
      figure(parent, { title: "h₀: the target", values: data.x, rows: data.tokens, columns: features, source: "plain" });
      figure(parent, { title: "the memory of the encoder", values: data.memory, rows: data.source, columns: features, source: "plain" });
      return;
    }
    const plane = data.planes[n - 1], complete = plane.name === "feed-forward";
    make(parent, "h3", {}, `Layer ${plane.layer}, ${plane.name}`);
    const columns = plane.name === "self-attention" ? data.tokens : data.source;
    if (plane.scores && plane.weights) {
      const heads = plane.weights.length, width = Math.sqrt(features.length / heads);
      const line = make(parent, "div", { class: "figures" });
      for (let h = 0; h < heads; h++) {
        const changed = plane.weights_changed.filter(cell => cell[0] === h).map(cell => cell.slice(1));
        const lights = [["hidden", "row"], [`adds-${h}`, "row"]];
        const part = { ...plane.inside, changed, lights, title: `head ${h + 1}: weights`, values: plane.weights[h], rows: data.tokens, columns };
        figure(line, part).id = `weights-${h + 1}`;
      }
      for (let h = 0; h < heads; h++) {
        const more = make(parent, "details");
        make(more, "summary", {}, `how head ${h + 1} gets there, and what it adds`);
        const inside = make(more, "div", { class: "figures" });
        const scaled = plane.scores[h].map(row => row.map(value => finite(value) ? value / width : value));
        const masked = plane.mask ? scaled.map((row, r) => row.map((value, c) => plane.mask[r][c] ? value : "-∞")) : null;
        for (const [title, values] of [["scores", plane.scores[h]], [`scaled by 1/√${width * width}`, scaled], ["masked", masked]])
          if (values) figure(inside, { title, values, rows: data.tokens, columns, source: "plain" });
        figure(inside, { name: `adds-${h}`, title: "what it adds", values: plane.adds[h], rows: data.tokens, columns: features, source: "plain" });
      }
    }
    const name = complete ? `h${"₀₁₂₃₄₅₆"[plane.layer]}: the hidden states behind layer ${plane.layer}` : "the hidden states behind it";
    figure(parent, { ...plane, name: "hidden", title: name, values: plane.hidden, rows: data.tokens, columns: features }).id = "hidden";
    if (plane.changed.length) make(parent, "p", { class: "badge" }, `${plane.changed.length} values differ from those of a right decoder.`);
  }

  draw();
  const list = make(make(section, "div"), "div");
  make(list, "h3", {}, "Your larger functions on the same numbers");
  const table = make(make(list, "figure"), "table", { class: "plain" });
  for (const found of data.comparisons) {
    const row = make(table, "tr");
    make(row, "th", { scope: "row" }, found.kata);
    make(row, "td", {}, found.what); make(row, "td", {}, found.told);
  }
}

// ---- experiments on depth -----------------------------------------------------------------------------------
function experiments(section, data) {
  const pair = make(section, "div", { class: "pair" });
  if (data.depth && data.depth.every(finite)) curves(pair, "h[0, 0] of the first token, N = 4", [{ name: "h[0, 0]", values: data.depth }], data.depth.map((_, n) => "h" + "₀₁₂₃₄"[n]), told(data));
  const kinds = { "pre-norm, without the final norm": "second", "pre-norm, with the final norm": "second dashed", "post-norm, without the final norm": "", "post-norm, with the final norm": "dashed" };
  const lines = Object.entries(data.norms).map(([name, values]) => ({ name, values, kind: kinds[name] }));
  if (lines.length) curves(pair, "the norm of h_N over the steps of training", lines, lines[0].values.map((_, n) => String(n * data.every)), "recorded: a small model, trained when the course was made");
}

// ---- choosing, searching, caching -------------------------------------------------------------------------
function choice(section, data) {
  const note = told(data);
  if (note) make(section, "p", { class: "badge" }, note);
  if (!data.grid) return;
  const names = ["temperature", "top-k", "top-p", "min-p"], start = [2, 3, 3, 0], sliders = make(section, "div", { class: "sliders" });
  const inputs = names.map((name, n) => {
    const label = make(sliders, "label", {}, name), input = make(label, "input", { type: "range", min: 0, max: data.positions[n].length - 1, step: 1, value: start[n], id: name }), out = make(label, "output");
    const say = () => { const value = data.positions[n][input.value]; out.textContent = value; input.setAttribute("aria-valuetext", value); };
    input.addEventListener("input", () => { say(); draw(); });
    say();
    return input;
  });
  const box = make(section, "div", { class: isHatched(data) ? "hatched" : "", id: "distribution" }), text = make(section, "p", { class: "quiet small" });
  function draw() {
    const [t, k, p, m] = inputs.map(input => Number(input.value));
    const values = data.grid[m][p][k][t].map(value => value / 1000), off = k === 3 && p === 3 && m === 0;
    const total = data.draws && data.draws[t].reduce((sum, one) => sum + one, 0);
    bars(clear(box), data.vocab, values, off && data.draws ? data.draws[t].map(count => count / total) : null, 1, value => value ? percent(value) : "out");
    text.textContent = data.draws ? (off ? `The orange marks are the shares of ${total.toLocaleString("en")} draws of your own sample().` : "The marks of the draws show where no filter is on.") : "";
  }
  draw();
}

function search(section, data) {
  const note = told(data);
  if (note) make(section, "p", { class: "badge" }, note);
  const root = { path: [], children: new Map(), kinds: new Set() };
  const add = (path, kind) => {
    let node = root;
    path.forEach((token, n) => {
      if (!node.children.has(token)) node.children.set(token, { path: path.slice(0, n + 1), children: new Map(), kinds: new Set() });
      node = node.children.get(token);
      node.kinds.add(kind);
    });
  };
  (data.rounds || []).flat().forEach(path => add(path, "round"));
  (data.samples || []).forEach(path => add(path, "sample"));
  if (data.greedy) add(data.greedy, "greedy");
  if (data.best) add(data.best, "beam");
  let row = 0, deepest = 0;
  const place = node => {
    deepest = Math.max(deepest, node.path.length);
    const kids = [...node.children.values()];
    kids.forEach(place);
    node.y = kids.length ? (kids[0].y + kids[kids.length - 1].y) / 2 : row++;
  };
  place(root);
  if (!root.children.size) return;
  const say = (name, paths) => paths.length ? `${name}: ${paths.map(path => path.map(token => data.words[token]).join(" ")).join(", ")}` : "";
  const spoken = [say("greedy decoding", data.greedy ? [data.greedy] : []), say("beam search", data.best ? [data.best] : []), say("sampled", data.samples), say("looked at", data.rounds.flat())].filter(Boolean).join("; ");
  const wide = 170, tall = 44, height = row * tall + 12, width = (deepest + 1) * wide;
  const box = make(section, "figure"), svg = make(box, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": spoken });
  const at = node => [node.path.length * wide + 8, node.y * tall + 26];
  const drawNode = (node, parent) => {
    const [x, y] = at(node), token = node.path[node.path.length - 1];
    if (parent) {
      const [px, py] = at(parent), from = px + 12 + 8 * data.words[parent.path.length ? parent.path[parent.path.length - 1] : 7].length;
      const kinds = node.kinds, kind = kinds.has("beam") ? "beam" : kinds.has("greedy") ? "greedy" : kinds.has("sample") ? "sample" : "";
      make(svg, "path", { d: `M ${from} ${py - 4} C ${from + 40} ${py - 4}, ${x - 50} ${y - 4}, ${x - 6} ${y - 4}`, class: "branch " + kind });
      const before = parent.path.length ? parent.path[parent.path.length - 1] : 7;
      make(svg, "text", { x: x - 10, y: y - 12, "text-anchor": "end" }, percent(data.probabilities[before][token]));
    }
    const word = data.words[parent ? token : 7];
    make(svg, "text", { x, y, class: "strong" }, word);
    if (word === ".") make(svg, "text", { x: x + 10, y }, "end");
    node.children.forEach(child => drawNode(child, node));
  };
  drawNode(root);
  const legend = make(box, "ul", { class: "legend" });
  for (const [name, kind] of [["beam search", "blue"], ["greedy decoding", "orange"], ["sampled", "dashed"], ["looked at", ""]]) { const item = make(legend, "li", { class: kind }); make(item, "i"); item.append(name); }
}

function cache(section, data) {
  const note = told(data);
  if (note) make(section, "p", { class: "badge" }, note);
  if (!data.keys || !data.cached) return;
  const tokens = data.keys.length, most = largest(data.keys), top = Math.max(...data.whole);
  const label = make(make(section, "div", { class: "controls" }), "label", {}, "tokens"), input = make(label, "input", { type: "range", id: "cached", min: 1, max: tokens, value: tokens, step: 1 });
  const out = make(label, "output"), pair = make(section, "div", { class: "pair" }), left = make(pair, "div", { class: isHatched(data) ? "hatched" : "" }), right = make(pair, "div");
  make(left, "h3", {}, "The keys of head 1: a column for each token");
  const grid = make(left, "div", { class: "grid", role: "img" });
  make(right, "h3", {}, "Operations (FLOPs) of the step");
  const work = make(right, "div");
  function draw() {
    const held = Number(input.value);
    out.textContent = held;
    clear(grid).style.gridTemplateColumns = `repeat(${tokens}, 2.4rem)`;
    grid.setAttribute("aria-label", `${held} of ${tokens} columns are held`);
    data.keys[0].forEach((_, r) => data.keys.forEach((key, c) => { const cell = make(grid, "div", { class: "cell", "data-column": c, title: c < held ? shown(key[r]) : "" }); if (c < held) tint(cell, key[r], most); }));
    bars(clear(work), ["with the cache", "all again"], [data.cached[held - 1], data.whole[held - 1]], null, top);
  }
  grid.addEventListener("pointerover", event => grid.querySelectorAll(".cell").forEach(cell => cell.classList.toggle("lit", cell.dataset.column === event.target.dataset.column)));
  input.addEventListener("input", draw);
  draw();
}

// ---- training ---------------------------------------------------------------------------------------------
function training(section, data) {
  const kinds = { softmax_cross_entropy_backward: "second", layer_norm_backward: "second dashed", attention_backward: "" };
  const lines = Object.entries(data.losses).map(([name, values]) => ({ name, values, kind: kinds[name] })).filter(line => line.values.every(finite));
  const note = told(data);
  if (lines.length) curves(section, "the loss over the steps", lines, lines[0].values.map((_, n) => n % 10 ? "" : String(n)), note);
  else if (note) make(section, "p", { class: "badge" }, note);
}

Object.assign(special, { stack, experiments, choice, search, cache, training });
