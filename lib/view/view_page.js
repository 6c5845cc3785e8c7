"use strict";
/* Draws the trees of the document's data. A place is a node's number, or ~leaf; only places whose parents are all open
 * are in the picture. One place is current: it has the tab stop, and the panel tells about it. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_SHOWN = 3000, STEP = 20, GAP = 12, COLUMN = 54, CARD = 238;
  const byId = (id) => document.getElementById(id);
  const scroll = byId("scroll"), panel = byId("detail"), picker = byId("tree"), status = byId("status");
  const shades = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#7a6fbe", "#8f8f2e", "#b0413e", "#4d7c8a"];
  const colour = (k) => k < shades.length ? shades[k] : `hsl(${(k * 137.508) % 360} 45% 52%)`;
  const className = (k) => data.classes ? data.classes[k] ?? `class ${k}` : `output ${k}`;
  const count = (n) => n.toLocaleString("en-US");
  const rowsOf = (n) => `${count(n)} row${n === 1 ? "" : "s"}`;
  const nameOf = (j) => (tree.names ?? data.names)[j];
  const short = (x) => String(Number(x.toPrecision(4))).replace("-", "−");
  const percent = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "";

  let tree, open, current = 0, zoom = 1, outline = matchMedia("(max-width: 40rem)").matches, parent, range;

  /* ---- elements ---- */

  function make(name, attributes, ...children) {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (key === "style") Object.assign(e.style, value); /* the policy forbids the attribute, not this */
      else e.setAttribute(key, value);
    }
    e.append(...children);
    return e;
  }
  function draw(name, attributes, ...children) {
    const e = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  }
  const brush = document.createElement("canvas").getContext("2d");
  function cut(text, width, font) {
    brush.font = font;
    if (brush.measureText(text).width <= width) return text;
    let low = 0, high = Math.min(text.length, 400);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (brush.measureText(text.slice(0, middle) + "…").width <= width) low = middle; else high = middle - 1;
    }
    return text.slice(0, low) + "…";
  }
  const family = "system-ui, sans-serif";

  /* ---- the tree ---- */

  const at = (place) => place < 0 ? tree.leaves[~place] : tree.nodes[place];
  const children = (place) => place < 0 ? [] : [tree.nodes[place].l, tree.nodes[place].r];
  const level = (place) => { let n = 1; for (let p = place; parent.has(p); p = parent.get(p)) n++; return n; };
  const side = (place) => !parent.has(place) ? "" : children(parent.get(place))[1] === place ? "yes" : "no";

  function choose(i) {
    tree = data.trees[i];
    parent = new Map();
    tree.nodes.forEach((node, t) => { parent.set(node.l, t); parent.set(node.r, t); });
    range = [Infinity, -Infinity];
    for (const p of [...tree.nodes, ...tree.leaves])
      if (p.s) range = [Math.min(range[0], p.s[0] - p.s[1]), Math.max(range[1], p.s[0] + p.s[1])];
    open = new Set();
    current = tree.nodes.length > 0 ? 0 : ~0;
    opened(outline ? 2 : Math.min(4, Math.max(2, Math.floor((scroll.clientWidth - 24 + COLUMN) / (CARD + COLUMN)) - 1)));
    zoom = 1;
    show(false);
    centre();
  }
  /* The root at the left, half way down. */
  function centre() {
    const root = boxes(shown()).box.get(tree.nodes.length > 0 ? 0 : ~0);
    scroll.scrollTo(0, outline ? 0 : (root.y + root.height / 2) * zoom - scroll.clientHeight / 2);
  }
  function opened(levels) {
    let row = tree.nodes.length > 0 ? [0] : [];
    for (let n = 0; n < levels && row.length > 0; n++) {
      row.forEach((place) => open.add(place));
      row = row.flatMap(children).filter((place) => place >= 0);
    }
  }
  /* Everything below `from`, as far as it may all be shown at once. */
  function openBelow(from) {
    let row = [from], whole = true;
    while (row.length > 0) {
      const next = [];
      for (const place of row) {
        if (place < 0) continue;
        if (!open.has(place) && 2 * open.size >= MOST_SHOWN) { whole = false; continue; }
        open.add(place);
        next.push(...children(place));
      }
      row = next;
    }
    if (!whole) tell(`Only so many are opened at once: ${count(MOST_SHOWN)}.`);
  }
  function tell(text) { status.textContent = text; }
  /* The places in the picture, from the top. */
  function shown() {
    const list = [], stack = [tree.nodes.length > 0 ? 0 : ~0];
    while (stack.length > 0) {
      const place = stack.pop();
      list.push(place);
      if (open.has(place)) stack.push(...children(place).reverse());
    }
    return list;
  }

  /* ---- words ---- */

  const sumOf = (node) => `sum of ${count(node.m + node.w.length)} features`, bound = (node) => short(node.b === 0 ? 0 : -node.b);
  const testOf = (node) => node.y ?? `${sumOf(node)} ≥ ${bound(node)}`;
  const oppositeOf = (node) => node.n ?? `${sumOf(node)} < ${bound(node)}`;
  function mixWords(p) {
    if (p.rows === undefined) return "";
    const mix = (p.c ?? []).slice(0, 3).map(([k, n]) => `${className(k)} ${percent(n, p.rows)}`).join(", ");
    return `, ${rowsOf(p.rows)}${mix ? ": " + mix : p.s ? `, mean ${short(p.s[0])}` : ""}`;
  }
  const usual = (leaf) => leaf.c && leaf.c.length > 0 ? `, mostly ${className(leaf.c[0][0])}` : leaf.s ? `, about ${short(leaf.s[0])}` : "";
  const leafTitle = (leaf) => leaf.k !== undefined ? className(leaf.k) : leaf.v ?? "linear" + usual(leaf);
  function label(place) {
    const p = at(place), branch = side(place), how = branch ? branch + ": " : "";
    return place < 0 ? `${how}leaf ${~place}, predicts ${leafTitle(p)}${mixWords(p)}` : `${how}node ${place}, ${testOf(p)}?${mixWords(p)}`;
  }

  /* ---- cards ---- */

  const heightOf = (place) => (place >= 0 && at(place).w ? 34 + 17 * at(place).w.length : 32) + (at(place).rows === undefined ? 0 : 22);

  function drawMix(p, x, y, width) {
    const g = draw("g", {});
    g.append(draw("rect", { class: "track", x, y, width, height: 7, rx: 2 }));
    if (p.s && range[1] > range[0]) {
      const to = (v) => x + width * Math.min(1, Math.max(0, (v - range[0]) / (range[1] - range[0])));
      const low = to(p.s[0] - p.s[1]), high = to(p.s[0] + p.s[1]);
      g.append(draw("rect", { class: "spread", x: low, y, width: Math.max(high - low, 1), height: 7 }));
      g.append(draw("rect", { class: "mean", x: to(p.s[0]) - 1.5, y: y - 2, width: 3, height: 11 }));
    }
    let from = x;
    for (const [k, n] of [...p.c ?? []].sort(([a], [b]) => a - b)) { /* the same order on every card */
      const part = width * n / p.rows;
      g.append(draw("rect", { x: from, y, width: part, height: 7, fill: colour(k) }));
      from += part;
    }
    return g;
  }
  function drawWeights(node, width) {
    const g = draw("g", {}), most = Math.max(...node.w.map(([, w]) => Math.abs(w))), half = (width - 24) * .22, zero = width - 12 - half;
    node.w.forEach(([j, w], i) => {
      const y = 30 + 17 * i, length = half * Math.abs(w) / most;
      g.append(draw("text", { x: 12, y: y + 11, class: "dim" }, cut(nameOf(j), zero - half - 20, `11.5px ${family}`)));
      g.append(draw("rect", { class: w > 0 ? "plus" : "minus", x: w > 0 ? zero : zero - length, y: y + 3, width: length, height: 9 }));
    });
    g.append(draw("line", { class: "zero", x1: zero, x2: zero, y1: 31, y2: 29 + 17 * node.w.length }));
    return g;
  }
  function drawTitle(place, p, width) {
    const g = draw("g", {}), branch = side(place), room = width - (place < 0 ? 24 : 52);
    let x = 12;
    if (branch) {
      g.append(draw("text", { x, y: 21, class: "side" }, branch));
      x += branch === "yes" ? 26 : 21;
    }
    const probability = place < 0 && p.q !== undefined ? short(p.q) : "", tail = probability ? 44 : 0;
    const title = place < 0 ? (p.k !== undefined || p.v ? "→ " : "") + leafTitle(p) : p.y ?? testOf(p).replace(" features", "");
    g.append(draw("text", { x, y: 21, class: "strong" }, cut(title, room - x + 12 - tail, `600 13px ${family}`)));
    if (probability) g.append(draw("text", { x: width - 12, y: 21, "text-anchor": "end", class: "dim" }, probability));
    return g;
  }
  function drawCard(place, box, i, n) {
    const p = at(place), { x, y, width, height } = box;
    const g = draw("g", { class: place < 0 ? "item leaf" : "item", role: "treeitem", tabindex: place === current ? 0 : -1,
      "aria-level": level(place), "aria-posinset": i, "aria-setsize": n, "aria-selected": place === current,
      "aria-label": label(place), "data-place": place, transform: `translate(${x} ${y})` });
    if (place >= 0) g.setAttribute("aria-expanded", open.has(place));
    const inside = draw("g", { "aria-hidden": true });
    inside.append(draw("rect", { class: "card", width, height, rx: 8 }), drawTitle(place, p, width));
    if (place >= 0 && p.w) inside.append(drawWeights(p, width));
    if (p.rows !== undefined) {
      const said = count(p.rows);
      brush.font = `11.5px ${family}`;
      const taken = brush.measureText(said).width;
      inside.append(drawMix(p, 12, height - 18, width - 32 - taken));
      inside.append(draw("text", { x: width - 12, y: height - 11, "text-anchor": "end", class: "dim" }, said));
    }
    if (place >= 0) {
      const sign = draw("g", { class: "toggle", transform: `translate(${width - 19} 17)` });
      sign.append(draw("rect", { x: -21, y: -17, width: 40, height: 36, fill: "transparent" }), draw("circle", { r: 9 }),
        draw("path", { d: open.has(place) ? "M-4 0H4" : "M-4 0H4M0 -4V4" }));
      inside.append(sign);
    }
    g.append(inside);
    return g;
  }

  /* ---- layout ---- */

  function boxes(list) {
    const box = new Map();
    if (outline) {
      const room = scroll.clientWidth - 16, deepest = Math.max(...list.map(level)) - 1;
      const right = Math.max(Math.min(room, 720), deepest * STEP + 210);
      let y = 8;
      for (const place of list) {
        const x = 8 + STEP * (level(place) - 1), height = heightOf(place);
        box.set(place, { x, y, width: right - x + 8, height });
        y += height + 8;
      }
      return { box, width: right + 16, height: y };
    }
    let next = 12, wide = 0;
    const stack = [[list[0], 0, false]]; /* children before parents */
    while (stack.length > 0) {
      const [place, depth, done] = stack.pop(), height = heightOf(place), x = 12 + depth * (CARD + COLUMN);
      wide = Math.max(wide, x + CARD);
      if (!open.has(place)) {
        box.set(place, { x, y: next, width: CARD, height });
        next += height + GAP;
      } else if (!done) {
        const [l, r] = children(place);
        stack.push([place, depth, true], [r, depth + 1, false], [l, depth + 1, false]);
      } else {
        const [l, r] = children(place).map((c) => box.get(c));
        const y = (l.y + l.height / 2 + r.y + r.height / 2) / 2 - height / 2;
        box.set(place, { x, y, width: CARD, height });
      }
    }
    let top = Infinity, bottom = 0; /* a tall card may stand above its first leaf */
    for (const b of box.values()) { top = Math.min(top, b.y); bottom = Math.max(bottom, b.y + b.height); }
    for (const b of box.values()) b.y += 12 - top;
    return { box, width: wide + 12, height: bottom - top + 24 };
  }
  function edge(from, to) {
    if (outline) return `M${from.x + 9} ${from.y + from.height}V${to.y + 17}H${to.x}`;
    const x1 = from.x + from.width, y1 = from.y + from.height / 2, x2 = to.x, y2 = to.y + to.height / 2, m = (x1 + x2) / 2;
    return `M${x1} ${y1}C${m} ${y1} ${m} ${y2} ${x2} ${y2}`;
  }

  function show(focus) {
    const list = shown();
    if (!list.includes(current)) {
      while (!list.includes(current)) current = parent.get(current);
    }
    const { box, width, height } = boxes(list);
    const way = new Set();
    for (let p = current; parent.has(p); p = parent.get(p)) way.add(p);
    const svg = draw("svg", { role: "tree", "aria-label": data.trees.length > 1 ? tree.name ?? `tree ${tree.i}` : "tree", viewBox: `0 0 ${width} ${height}`,
      width: width * zoom, height: height * zoom });
    const edges = draw("g", { "aria-hidden": true });
    svg.append(edges);
    const late = [];
    for (const place of list) {
      const up = parent.get(place);
      if (up !== undefined) {
        const line = draw("path", { class: way.has(place) ? "edge path" : "edge", d: edge(box.get(up), box.get(place)) });
        if (way.has(place)) late.push(line); else edges.append(line);
      }
      svg.append(drawCard(place, box.get(place), side(place) === "yes" ? 2 : 1, up === undefined ? 1 : 2));
    }
    edges.append(...late);
    const { scrollLeft, scrollTop } = scroll;
    scroll.replaceChildren(svg);
    scroll.scrollTo(scrollLeft, scrollTop);
    byId("zoom").textContent = `${Math.round(100 * zoom)} %`;
    byId("layout").textContent = outline ? "As diagram" : "As outline";
    for (const id of ["zoom", "in", "out", "fit"]) byId(id).hidden = outline; /* it fits as it is */
    describe();
    const item = scroll.querySelector(`[data-place="${current}"]`);
    if (focus) {
      item.focus({ preventScroll: true });
      reveal(box.get(current));
    }
  }
  /* Scrolls the picture, not the page, so that a box and a little around it are seen. */
  function reveal(b) {
    const margin = 16, left = b.x * zoom - margin, top = b.y * zoom - margin;
    const right = (b.x + b.width) * zoom + margin, bottom = (b.y + b.height) * zoom + margin;
    if (left < scroll.scrollLeft || right - left > scroll.clientWidth) scroll.scrollLeft = left;
    else if (right > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = right - scroll.clientWidth;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (bottom > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = bottom - scroll.clientHeight;
    const seen = scroll.getBoundingClientRect();
    if (seen.bottom < 40 || seen.top > innerHeight - 40) scroll.scrollIntoView({ block: "nearest" });
  }

  function showCurrent() {
    show(false);
    reveal(boxes(shown()).box.get(current));
  }

  /* ---- the panel ---- */

  const meter = (share, fill) => make("span", { class: "meter" }, make("b", { style: { left: 0, width: `${100 * share}%`, background: fill } }));
  function signed(w, most) {
    const half = 50 * Math.abs(w) / most;
    return make("span", { class: "meter" }, make("b", { style: { left: `${w > 0 ? 50 : 50 - half}%`, width: `${half}%`,
      background: w > 0 ? "var(--plus)" : "var(--minus)" } }));
  }
  function classTable(heading, list, whole, say) {
    const table = make("table", {}, make("tbody", {}, ...list.map(([k, n]) => make("tr", {},
      make("td", {}, make("i", { style: { background: colour(k) } }), className(k)), make("td", { class: "b" }, meter(n / whole, colour(k))),
      make("td", { class: "n" }, say(n))))));
    return [make("h3", {}, heading), table];
  }
  function weightTable(node) {
    const most = Math.max(...node.w.map(([, w]) => Math.abs(w)));
    const rows = node.w.map(([j, w]) => make("tr", {}, make("td", {}, nameOf(j)), make("td", { class: "b" }, signed(w, most)),
      make("td", { class: "n" }, short(w))));
    const table = make("table", {}, make("tbody", {}, ...rows));
    const rest = node.m > 0 ? [make("p", { class: "soft" }, `and ${count(node.m)} lighter ones`)] : [];
    const said = node.r !== undefined ? "" : " Yes where the sum and the bias are at least 0.";
    return [make("h3", {}, "Heaviest prepared features"), table, ...rest, make("p", { class: "soft" }, `Bias ${short(node.b)}.${said}`)];
  }
  function facetTables(node) {
    const parts = node.f.flatMap((facet) => [make("h3", {}, `Facet of weight ${short(facet.r)}`), ...weightTable(facet)]);
    if (node.g > 0) parts.push(make("p", { class: "soft" }, `and ${count(node.g)} lighter facets`));
    parts.push(make("p", { class: "soft" }, `Inside where the facets' weights times ln(1 + e^(sum + bias)) add up to less than ${short(node.a)}: a convex region.`));
    return parts;
  }
  function way(place) {
    const steps = [];
    for (let p = place; parent.has(p); p = parent.get(p)) {
      const node = at(parent.get(p));
      steps.unshift(make("li", {}, side(p) === "yes" ? testOf(node) : oppositeOf(node)));
    }
    return steps.length === 0 ? [] : [make("h3", {}, "How rows get here"), make("ol", {}, ...steps)];
  }
  function describe() {
    const p = at(current), parts = [];
    if (current < 0) {
      parts.push(make("h2", {}, `Leaf ${~current}`));
      if (p.t) parts.push(make("p", {}, make("strong", {}, "Linear")), ...p.t.split("; ").map((row) => make("p", {}, row)));
      else parts.push(make("p", {}, "Predicts ", make("strong", {}, leafTitle(p)), data.part ? ", to be added" : ""));
      if (p.d) parts.push(...classTable("Predicted probabilities", p.d, 1, short));
    } else {
      parts.push(make("h2", {}, `Node ${current}`), make("p", {}, make("strong", {}, testOf(p)), " ?"));
      if (p.w) parts.push(...weightTable(p));
      if (p.f) parts.push(...facetTables(p));
    }
    if (p.rows !== undefined) {
      const root = at(tree.nodes.length > 0 ? 0 : ~0);
      parts.push(make("h3", {}, "Training rows"), make("p", {}, `${rowsOf(p.rows)}, ${percent(p.rows, root.rows)} of all`));
      if (p.s && p.rows > 0) parts.push(make("p", {}, `mean ${short(p.s[0])}, standard deviation ${short(p.s[1])}`));
      if (p.c && p.c.length > 0) {
        const others = p.rows - p.c.reduce((sum, [, n]) => sum + n, 0);
        parts.push(...classTable("Their classes", p.c, p.rows, count));
        if (others > 0) parts.push(make("p", { class: "soft" }, `and ${rowsOf(others)} of other classes`));
      }
    }
    parts.push(...way(current));
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
  }

  /* ---- what is done to it ---- */

  function go(place) { current = place; show(true); }
  function toggle(place) {
    if (place < 0) return;
    if (open.has(place)) open.delete(place); else open.add(place);
    current = place;
    show(true);
  }
  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const list = shown(), i = list.indexOf(current);
    const actions = {
      ArrowDown: () => i + 1 < list.length && go(list[i + 1]),
      ArrowUp: () => i > 0 && go(list[i - 1]),
      ArrowRight: () => current >= 0 && (open.has(current) ? go(children(current)[0]) : toggle(current)),
      ArrowLeft: () => open.has(current) ? toggle(current) : parent.has(current) && go(parent.get(current)),
      Home: () => go(list[0]),
      End: () => go(list[list.length - 1]),
      Enter: () => toggle(current),
      " ": () => toggle(current),
      "*": () => { openBelow(current); show(true); },
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    tell("");
    actions[event.key]();
  }
  function magnify(factor) {
    const middle = [scroll.scrollLeft + scroll.clientWidth / 2, scroll.scrollTop + scroll.clientHeight / 2], before = zoom;
    zoom = Math.min(3, Math.max(.1, zoom * factor));
    show(false);
    scroll.scrollTo(middle[0] * zoom / before - scroll.clientWidth / 2, middle[1] * zoom / before - scroll.clientHeight / 2);
  }
  function fit() {
    const { width, height } = boxes(shown());
    zoom = Math.min(1, Math.max(.1, Math.min((scroll.clientWidth - 4) / width, (scroll.clientHeight - 4) / height)));
    show(false);
    scroll.scrollTo(0, 0);
  }
  let drag = null, dragged = false;
  scroll.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.pointerType === "mouse" && event.button === 0 && event.target.closest("svg")) /* touch scrolls by itself */
      drag = { x: event.clientX + scroll.scrollLeft, y: event.clientY + scroll.scrollTop };
  });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    const left = drag.x - event.clientX, top = drag.y - event.clientY;
    if (!dragged && Math.hypot(left - scroll.scrollLeft, top - scroll.scrollTop) < 5) return;
    dragged = true;
    scroll.classList.add("drag");
    scroll.scrollTo(left, top);
  });
  addEventListener("pointerup", () => { drag = null; scroll.classList.remove("drag"); });
  scroll.addEventListener("click", (event) => {
    const item = event.target.closest("[data-place]");
    if (!item || dragged) return;
    const place = Number(item.dataset.place);
    if (event.target.closest(".toggle") || (place === current && place >= 0 && event.detail === 2)) toggle(place); else go(place);
  });
  scroll.addEventListener("focusin", (event) => {
    const item = event.target.closest("[data-place]");
    if (item && Number(item.dataset.place) !== current) go(Number(item.dataset.place));
  });
  scroll.addEventListener("keydown", key);
  byId("open").addEventListener("click", () => { tell(""); openBelow(tree.nodes.length > 0 ? 0 : ~0); showCurrent(); });
  byId("close").addEventListener("click", () => { tell(""); open.clear(); opened(1); showCurrent(); });
  byId("in").addEventListener("click", () => magnify(1.25));
  byId("out").addEventListener("click", () => magnify(.8));
  byId("fit").addEventListener("click", fit);
  byId("layout").addEventListener("click", () => { outline = !outline; zoom = 1; show(false); centre(); });
  picker.addEventListener("change", () => choose(Number(picker.value)));
  let width = scroll.clientWidth;
  addEventListener("resize", () => { if (outline && scroll.clientWidth !== width) { width = scroll.clientWidth; show(false); } });

  /* ---- the rest of the page ---- */

  function legend() {
    if (!data.classes) return;
    const most = 30, items = data.classes.slice(0, most).map((name, k) => make("li", {}, make("i", { style: { background: colour(k) } }), name));
    if (data.outputs > most) items.push(make("li", { class: "soft" }, `and ${count(data.outputs - most)} more`));
    byId("legend").append(...items);
  }
  function importance() {
    if (!data.importance || data.importance.length === 0) return;
    const most = data.importance[0][1];
    byId("importance").append(make("h3", {}, "Importance of features"), make("table", {}, make("tbody", {}, ...data.importance.map(([j, share]) =>
      make("tr", {}, make("td", {}, data.names[j]), make("td", { class: "b" }, meter(share / most, "var(--accent)")),
        make("td", { class: "n" }, percent(share, 1)))))));
  }
  data.trees.forEach((t, i) => picker.append(make("option", { value: i }, `${t.name ?? `tree ${t.i}`}: ${count(t.leaves.length)} leaves, depth ${t.depth}` +
    (data.trees.length > 1 && !t.name ? `, weight ${short(t.weight)}` : ""))));
  byId("pick").hidden = data.trees.length === 1;
  legend();
  importance();
  choose(0);
})();
