"use strict";
// Everything shown is asked for every few seconds and drawn anew; what has the focus stays where it is.

const PERIOD = 2000;        // milliseconds between looks
const SLOW_PERIOD = 10000;  // where there are many models
const MANY = 50;
const SHOWN_ARMS = 8;       // of a picture, the most played; the others are one
const SHOWN_FEATURES = 8;   // of an explanation's expert
const WIDTH = 360, HEIGHT = 130, LEFT = 44, BOTTOM = 18;

const find = (id) => document.getElementById(id);
const state = { session: null, models: [], status: null, history: null, chosen: null, loss: "", paused: false, timer: 0, alerts: "" };

// ---- small pieces ----

function make(name, content, attributes) {
  const element = document.createElement(name);
  put(element, content);
  for (const key in attributes || {}) element.setAttribute(key, attributes[key]);
  return element;
}

function put(element, content) {
  const list = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content];
  element.replaceChildren(...list.map((one) => (one instanceof Node ? one : document.createTextNode(String(one)))));
}

function draw(name, attributes, children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes || {}) element.setAttribute(key, attributes[key]);
  element.append(...(children || []));
  return element;
}

const known = (value) => typeof value === "number" && isFinite(value);

function number(value, digits) {
  if (!known(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(2) : String(Number(value.toPrecision(digits || 4)));
}

const percent = (value) => (known(value) ? number(100 * value, 3) + " %" : "–");

function span(seconds) {
  if (!known(seconds)) return "–";
  if (seconds < 1e-3) return number(1e6 * seconds, 3) + " µs";
  if (seconds < 1) return number(1e3 * seconds, 3) + " ms";
  if (seconds < 120) return number(seconds, 3) + " s";
  if (seconds < 7200) return number(seconds / 60, 2) + " min";
  return seconds < 172800 ? number(seconds / 3600, 3) + " h" : number(seconds / 86400, 3) + " days";
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; value >= 1024 && i + 1 < units.length; i++) value /= 1024;
  return number(value, 3) + " " + units[i];
}

const clock = (unix) => new Date(1000 * unix).toLocaleString("en-GB");

function list(pairs) {
  return make("dl", pairs.filter(Boolean).flatMap(([key, value, kind]) => [make("dt", key), make("dd", value, kind ? { class: kind } : {})]));
}

// rows: the first of each names it.
function table(caption, heads, rows) {
  return make("table", [
    make("caption", caption),
    make("thead", make("tr", heads.map((head) => make("th", head, { scope: "col" })))),
    make("tbody", rows.map((row) => make("tr", row.map((cell, i) => (i === 0 ? make("th", cell, { scope: "row" }) : make("td", cell)))))),
  ]);
}

const soft = (text) => make("p", text, { class: "soft" });

// ---- pictures ----

function picture(label, children) {
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label }, children);
}

const across = (i, count) => LEFT + ((WIDTH - LEFT - 4) * i) / Math.max(count, 1);
const up = (share) => 6 + (HEIGHT - BOTTOM - 6) * (1 - share);

function text(x, y, words, anchor) {
  const element = draw("text", { x, y, "text-anchor": anchor || "start" });
  element.textContent = words;
  return element;
}

function frame(low, high, history) {
  const length = history.decisions.length * history.interval;
  return [
    draw("path", { class: "axis", d: `M${LEFT} 6V${up(0)}H${WIDTH - 4}` }),
    text(LEFT - 4, 14, high, "end"),
    text(LEFT - 4, up(0), low, "end"),
    text(LEFT, HEIGHT - 4, span(length) + " ago"),
    text(WIDTH - 4, HEIGHT - 4, "now", "end"),
  ];
}

// That of the loss which was chosen: what is learned, or one by its name.
function curve(history) {
  const named = (history.named_losses || []).find((one) => one.name === state.loss);
  const values = named ? named.mean_loss : history.mean_loss, count = values.length, there = values.filter(known);
  const what = named ? "Mean of " + named.name : "Mean loss";
  if (there.length === 0) return soft(named ? "None of " + named.name + " came yet." : "Nothing was learned yet.");
  let low = Math.min(...there), high = Math.max(...there);
  if (high === low) { low -= 0.5 * Math.abs(low) || 0.5; high += 0.5 * Math.abs(high) || 0.5; }
  let path = "";
  values.forEach((value, i) => {
    if (!known(value)) return;
    path += (path ? "L" : "M") + across(i + 0.5, count).toFixed(1) + " " + up((value - low) / (high - low)).toFixed(1);
  });
  if (there.length === 1) path += "h2";
  const last = there[there.length - 1];
  return [
    picture(`${what} over the last ${span(count * history.interval)}: from ${number(there[0])} to ${number(last)}`,
      [...frame(number(low, 3), number(high, 3), history), draw("path", { class: "line", d: path })]),
    soft(`${what} in each ${span(history.interval)}; of the last: ${number(last)}.`),
  ];
}

function rate(history) {
  const count = history.decisions.length;
  if (count === 0) return soft("No second is over yet.");
  const rates = history.decisions.map((n) => n / history.interval), high = Math.max(...rates, 1e-9);
  let path = "";
  rates.forEach((value, i) => {
    const x = across(i, count), width = Math.max(across(i + 1, count) - x - 0.4, 0.6), y = up(value / high);
    if (value > 0) path += `M${x.toFixed(1)} ${up(0)}V${y.toFixed(1)}h${width.toFixed(1)}V${up(0)}Z`;
  });
  const total = history.decisions.reduce((a, b) => a + b, 0);
  return [
    picture(`Decisions a second over the last ${span(count * history.interval)}: at most ${number(high, 3)}`,
      [...frame("0", number(high, 3), history), draw("path", { class: "bars", d: path || "M0 0" })]),
    soft(`${number(total)} in this time; ${number(rates[count - 1], 3)} a second in the last ${span(history.interval)}.`),
  ];
}

const arm_name = (arm, k) => (arm.arm !== undefined ? arm.arm : "arm " + k);

function shares(history) {
  const arms = history.arms || [];
  if (arms.length === 0) return soft("Shares are drawn for models of at most 32 arms.");
  const count = history.decisions.length;
  const sums = arms.map((arm) => arm.decisions.reduce((a, b) => a + b, 0)), total = sums.reduce((a, b) => a + b, 0);
  if (total === 0) return soft("Nothing was decided yet.");
  const order = arms.map((arm, k) => k);
  if (arms.length > SHOWN_ARMS) order.sort((a, b) => sums[b] - sums[a] || a - b); // else an arm keeps its colour
  const layers = order.slice(0, SHOWN_ARMS - 1).map((k) => ({ name: arm_name(arms[k], k), sum: sums[k], at: arms[k].decisions }));
  const rest = order.slice(SHOWN_ARMS - 1);
  if (rest.length === 1) layers.push({ name: arm_name(arms[rest[0]], rest[0]), sum: sums[rest[0]], at: arms[rest[0]].decisions });
  else if (rest.length > 1) layers.push({ name: rest.length + " others", sum: rest.reduce((a, k) => a + sums[k], 0),
    at: history.decisions.map((n, i) => rest.reduce((a, k) => a + arms[k].decisions[i], 0)) });
  const paths = layers.map(() => "");
  for (let i = 0; i < count; i++) {
    const all = layers.reduce((a, layer) => a + layer.at[i], 0);
    let below = 0;
    layers.forEach((layer, k) => {
      if (layer.at[i] === 0) return;
      const x = across(i, count).toFixed(1), right = across(i + 1, count).toFixed(1);
      const low = up(below / all).toFixed(1);
      below += layer.at[i];
      paths[k] += `M${x} ${low}V${up(below / all).toFixed(1)}H${right}V${low}Z`;
    });
  }
  const words = layers.map((layer) => `${layer.name} ${percent(layer.sum / total)}`);
  const baseline = arms.map((arm) => arm.baseline || 0), held = baseline.reduce((a, b) => a + b, 0);
  return [
    picture("Shares of the arms over time; in all: " + words.join(", "),
      [...frame("0", "100 %", history), ...paths.map((d, k) => draw("path", { class: "f" + k, d: d || "M0 0" }))]),
    make("ul", layers.map((layer, k) => make("li", [
      draw("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, [draw("rect", { width: 10, height: 10, class: "f" + k })]), words[k]])), { class: "key" }),
    held > 0 && soft(`Of the policy. The baseline decided ${number(held)} beside it: ` +
      order.filter((k) => baseline[k] > 0).map((k) => `${arm_name(arms[k], k)} ${percent(baseline[k] / held)}`).join(", ") + "."),
  ].filter(Boolean);
}

// An interval and 0 on one line; sure: its colour says which side it is on.
function interval(label, gain, low, high, sure, reach) {
  const at = (value) => 8 + ((WIDTH - 16) * (Math.max(-reach, Math.min(reach, value)) + reach)) / (2 * reach);
  const kind = !sure ? "" : low > 0 ? " good" : high < 0 ? " bad" : "";
  return draw("svg", { viewBox: `0 0 ${WIDTH} 34`, role: "img", "aria-label": label }, [
    draw("path", { class: "zero", d: `M${at(0)} 2V20` }), text(at(0), 32, "0", "middle"),
    text(2, 32, number(-reach, 2)), text(WIDTH - 2, 32, number(reach, 2), "end"),
    draw("path", { class: "whole" + kind, d: `M${at(low)} 11H${at(high)}` }),
    draw("circle", { class: "mid", cx: at(gain), cy: 11, r: 4 }),
  ]);
}

function named_losses(model) {
  const losses = model.losses || [], compared = losses.filter((loss) => loss.policy);
  const parts = losses.length > 0 ? [table("Named losses: their means, with intervals of 95 %", ["loss", "mean", "from", "to"],
    losses.map((loss) => [loss.name, number(loss.mean_loss, 4), number(loss.low, 4), number(loss.high, 4)]))] : [];
  if (compared.length > 0) parts.push(table("Gain in each named loss, with its interval", ["loss", "gain", "from", "to"],
    compared.map((loss) => [loss.name, number(loss.gain, 3), number(loss.gain_low, 3), number(loss.gain_high, 3)])));
  return parts;
}

function arm_gains(model) {
  const arms = model.arm_gains || (model.holdout && model.holdout.arms);
  return arms ? [table("Gain over always playing one arm, with its interval", ["arm", "gain", "from", "to", "worth"],
    arms.map((arm, k) => [arm_name(arm, k), number(arm.gain, 3), number(arm.low, 3), number(arm.high, 3),
      number(arm.effective_sample_size, 3)])), soft("Worth: how many losses of the arm those that are known are worth.")] : [];
}

function gain(model) {
  const held = model.holdout;
  if (!held) return [soft("There is no control group: the option holdout keeps one, and shows here what the model gains."),
    ...arm_gains(model), ...named_losses(model)];
  const parts = [];
  if (known(held.gain) && known(held.low) && known(held.high)) {
    const sure = !held.suspicious;
    const verdict = !sure ? "No verdict, since units are not split as promised" : held.low > 0 ? "The policy is better than the control group" : held.high < 0
      ? "The policy is worse than the control group" : "It is not sure yet which is better";
    const words = `${verdict}: gain ${number(held.gain)}, between ${number(held.low)} and ${number(held.high)}`;
    parts.push(interval(words, held.gain, held.low, held.high, sure, Math.max(Math.abs(held.low), Math.abs(held.high), 1e-9)));
    parts.push(make("p", words + " (95 %, at all times at once).", { class: !sure || held.high < 0 ? "bad" : held.low > 0 ? "good" : "soft" }));
  } else parts.push(soft("Both groups need losses before the gain is known."));
  parts.push(table("Mean losses", ["", "losses", "mean", "told"], ["policy", "control"].map((name) =>
    [name, number(held[name].losses), number(held[name].mean_loss), percent(held[name].told)])));
  parts.push(list([["units, in the control group", `${number(held.units)}, ${number(held.units_held)} (${percent(held.share)} promised)`],
    known(held.conservative) && ["kept back by conservative", number(held.kept)]]));
  return parts.concat(arm_gains(model), named_losses(model));
}

function propensities(history) {
  const is = history.propensities;
  if (!is) return soft("None yet; values have none.");
  return [
    list([["least that was played", number(is.least, 3)], ["mean of 1 / p", number(is.mean_weight, 3)],
      ["effective share", percent(is.effective_share)]]),
    soft("Of what the policy decided. Where propensities are right, the mean of 1 / p is near the number of eligible arms. The effective share is how much of the log " +
      "counts when a policy of equal probabilities is judged by it."),
  ];
}

function refit_words(one) {
  const words = [`${clock(one.time)}: ${one.outcome}${one.reason ? " (" + one.reason + ")" : ""}`];
  if (one.n) words.push("challenger " + one.n);
  if (one.state) words.push(one.state + (one.state === "shadow" ? "" : " " + clock(one.changed)));
  if (one.verdict) words.push(one.verdict + (known(one.gain) ? `: gain ${number(one.gain, 3)}, between ${number(one.low, 3)} and ${number(one.high, 3)}` : ""));
  return words.join(", ");
}

function refits(model) {
  const refit = model.refit || {}, challenger = model.challenger || {};
  return [
    list([
      ["state", refit.state || "–"],
      refit.why && ["because", refit.why],
      known(refit.progress) && ["progress", percent(refit.progress)],
      ["ended, failed", `${number(refit.ended || 0)}, ${number(refit.failed || 0)}`],
      refit.last && ["last", `${refit.last}${refit.last_reason ? " (" + refit.last_reason + ")" : ""}`],
      refit.last && ["at", clock(refit.last_time)],
      refit.last && ["took", span(refit.last_seconds)],
      ["challenger", challenger.state ? challenger.state + (challenger.n !== undefined ? " " + challenger.n : "") : "none"],
      known(challenger.gain) && ["its gain", `${number(challenger.gain)}, between ${number(challenger.low)} and ${number(challenger.high)}`],
      challenger.verdict && ["verdict", challenger.verdict],
      challenger.frozen && ["frozen", "yes"],
      (refit.kept || []).length > 0 && ["kept challengers", refit.kept.join(", ")],
    ]),
    (refit.history || []).length > 0 && soft("The last refits, the newest first:"),
    (refit.history || []).length > 0 && make("ol", refit.history.map((one) => make("li", refit_words(one))), { "aria-label": "The last refits" }),
  ].filter(Boolean);
}

// ---- one model and all ----

function alarms_of(model) {
  const found = [], held = model.holdout;
  if (held && !held.suspicious && known(held.high) && held.high < 0) found.push("The policy is worse than the control group.");
  if (held && held.suspicious) found.push("Units are not split as promised between policy and control group.");
  if (held && held.uneven) found.push("Losses come less often for one of policy and control group, so their means mislead.");
  if (model.refused > 0) found.push(`${number(model.refused)} updates were refused, since they would have diverged.`);
  if (model.refit && model.refit.drift) found.push("The losses drift.");
  if (model.evicted > 0) found.push(`${number(model.evicted)} waiting decisions were pushed out by newer ones.`);
  return found;
}

function model_alarms_text(model) {
  const held = model.holdout, found = alarms_of(model);
  if (found.length > 0) return [found.length + (found.length === 1 ? " alarm" : " alarms"), "bad"];
  return held && known(held.low) && held.low > 0 ? ["gain " + number(held.gain, 3), "good"] : null;
}

// Links stay the same elements, so that the focus stays.
function show_models() {
  const place = find("models"), names = state.models.map((model) => model.name);
  if (place.dataset.names !== JSON.stringify(names)) {
    place.dataset.names = JSON.stringify(names);
    put(place, names.map((name) => make("li", make("a", [], { href: "#m/" + encodeURIComponent(name) }))));
  }
  state.models.forEach((model, i) => {
    const link = place.children[i].firstChild, note = model_alarms_text(model);
    put(link, [
      make("strong", model.name),
      make("span", `${model.learner}, ${number(model.decisions)} decisions`),
      make("span", "mean loss " + number(model.mean_loss)),
      note ? make("span", note[0], { class: note[1] }) : make("span", `${number(model.pending)} waiting`, { class: "soft" }),
    ]);
    if (model.name === state.chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}

function show_model(model) {
  put(find("model-title"), model.name);
  find("view").href = `/v1/models/${encodeURIComponent(model.name)}/view`;
  put(find("alarms"), alarms_of(model).map((one) => make("li", one)));
  const feedback = model.feedback || {};
  find("facts").replaceChildren(...list([
    ["learner", model.learner + (model.policy ? ", policy " + model.policy : "")],
    model.arms && ["arms", number(model.arms)],
    ["decisions", `${number(model.decisions)}, ${number(model.pending)} of them wait for their feedback`],
    ["feedback", `${number(feedback.applied || 0)} applied, ${number(feedback.late || 0)} late, ${number(feedback.duplicate || 0)} twice, ${number(feedback.unknown || 0)} unknown`],
    ["learned", `${number(model.learned)}, mean loss ${number(model.mean_loss)} since the model began`],
  ]).childNodes);
  put(find("gain"), gain(model));
  put(find("refit"), refits(model));
}

// The choice stays as it is, open perhaps, as long as the names do. One that is gone is none.
function offer_losses(history) {
  const names = (history.named_losses || []).map((one) => one.name), select = find("curve-loss");
  const offered = [...select.options].slice(1).map((one) => one.value);
  find("curve-choice").hidden = names.length === 0;
  if (!names.includes(state.loss)) state.loss = "";
  if (names.join("\n") !== offered.join("\n") || select.length === 0)
    put(select, [make("option", "what is learned", { value: "" }), ...names.map((name) => make("option", name, { value: name }))]);
  if (select.value !== state.loss) select.value = state.loss;
}

function choose_loss() {
  state.loss = find("curve-loss").value;
  put(find("curve"), curve(state.history));
}

function show_history(history) {
  state.history = history;
  offer_losses(history);
  put(find("curve"), curve(history));
  put(find("rate"), rate(history));
  put(find("arms"), shares(history));
  put(find("propensities"), propensities(history));
  show_durations(history.durations);
}

function show_durations(is) {
  const row = (name, of) => of && [name, number(of.count), span(of.p50), span(of.p99)];
  put(find("times"), table("What it took, of all models", ["", "count", "p50", "p99"],
    [row("decision", is.decide), row("sync of the journal", is.journal_sync), row("checkpoint", is.checkpoint)].filter(Boolean)));
}

function show_daemon(status) {
  const journal = status.journal || {}, checkpoint = status.checkpoint || {};
  put(find("journal"), list([
    ["state", journal.state, journal.state === "broken" ? "bad" : ""],
    journal.reason && ["because", journal.reason, "bad"],
    journal.next !== undefined && ["records", number(journal.next)],
    journal.lag_bytes !== undefined && ["not yet synced", bytes(journal.lag_bytes)],
    journal.failures !== undefined && ["failures", number(journal.failures)],
  ]));
  put(find("checkpoint"), list([
    ["written", number(checkpoint.written)], ["failed", number(checkpoint.failed), checkpoint.failed > 0 ? "bad" : ""],
    ["newest", known(checkpoint.age) ? span(checkpoint.age) + " ago" : "none yet"], ["size", bytes(checkpoint.bytes || 0)],
  ]));
  const requests = status.requests || {}, streams = status.streams || {}, api = status.api || {};
  put(find("requests"), list([
    ["requests", `${number(requests.received)}, ${number(requests.errors)} of them errors`],
    ["over HTTP", `${number(api.requests)}, ${number(api.refused)} of them refused`],
    ["of streams", `${number(streams.received)}, ${number(streams.dropped)} of them dropped`],
    ["subscribers", number(streams.subscribers)],
  ]));
  put(find("about"), `${status.version}, up ${span(status.uptime)}`);
}

// ---- explanations ----

function meter(share) {
  const half = 50 * Math.min(Math.abs(share), 1);
  return draw("svg", { class: "meter", viewBox: "0 0 100 8", "aria-hidden": "true", preserveAspectRatio: "none" }, [
    draw("rect", { class: "track", width: 100, height: 8 }),
    draw("rect", { class: share < 0 ? "minus" : "plus", x: share < 0 ? 50 - half : 50, width: half, height: 8 }),
  ]);
}

function explanation(is) {
  const experts = (is.experts || []).filter((one) => !one.resting && one.contribution !== 0)
    .sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const most = Math.max(...experts.map((one) => Math.abs(one.contribution)), 1e-9);
  const parts = [
    list([
      ["played", played(is)],
      is.p !== undefined && ["propensity", number(is.p)],
      is.eligible && ["eligible arms", String(is.eligible)],
      is.by && ["decided by", MAKERS[is.by] || is.by],
      is.greedy !== undefined && ["the best predicted", is.greedy ? "yes" : "no, it explored"],
      is.agrees !== undefined && ["the policy's best predicted", is.agrees ? "the same" : "another one"],
      is.limit && ["its probability decided by", LIMITS[is.limit] || is.limit],
      is.own_p !== undefined && ["the policy's probability of it", number(is.own_p)],
      is.prediction !== undefined && ["prediction", number(is.prediction)],
      is.t !== undefined && ["decided", clock(is.t)],
      ["outcome", outcome(is)],
      ["explained", is.state === "record" ? "not any more: " + is.why : is.state === "decision" ? "as it was when the decision was made" + (is.names ? ", but for some names" : "") : "by the model as it is now"],
    ]),
  ];
  if ((is.feedback || []).length > 1) parts.push(table("Feedback that came", ["at", "loss", "result"],
    is.feedback.map((one) => [clock(one.t), losses(one.loss) + named(one), one.result])));
  if (is.state === "record") return parts;
  parts.push(
    table("What each expert adds to the prediction: less is better", ["expert", "weight", "adds", ""],
      experts.map((one) => [one.name, number(one.weight, 3), number(one.contribution, 3), meter(one.contribution / most)])));
  for (const one of experts.filter((expert) => (expert.features || []).length > 0).slice(0, 2)) {
    const heavy = one.features.slice(0, SHOWN_FEATURES), top = Math.max(...heavy.map((f) => Math.abs(f.contribution)), 1e-9);
    parts.push(table(`Heaviest features of ${one.name}`, ["feature", "value", "adds", ""],
      heavy.map((f) => [f.feature, number(f.value, 3), number(f.contribution, 3), meter(f.contribution / top)])));
  }
  return parts;
}

// ---- decisions by their id ----

const ENDS = { feedback: "loss", recorded: "loss at its window's end", default: "default loss", unanswered: "no loss came in its window",
  pushed_out: "pushed out by newer ones", pushed_out_recorded: "pushed out by newer ones, loss", another_action: "another action was reported, loss" };
const LIMITS = { share_min: "the arm's least share", share_max: "the largest share of an arm", least_propensity: "the least propensity" };
const MAKERS = { holdout: "the control group", conservative: "the baseline, since the policy was kept back", observed: "the existing system" };
const search = { text: "", more: 0, shown: [], abort: null };

const played = (is) => (is.y !== undefined ? `value ${number(is.y)}` : is.arm !== undefined ? is.arm : "arm " + is.a);
const losses = (loss) => (Array.isArray(loss) ? loss.map((one) => number(one)).join(", ") : number(loss));

const named = (is) => (is.losses ? ` (${Object.entries(is.losses).map(([name, loss]) => name + " " + number(loss)).join(", ")})` : "");

function outcome(is) {
  if (is.waits) return "waits for its feedback";
  if (!is.ended) return "not known: the journal was not read that far";
  return ENDS[is.ended.how] + (is.ended.loss === undefined ? "" : " " + losses(is.ended.loss)) + named(is.ended);
}

// Whole numbers beyond what a script can hold stay texts.
const read = (text) => JSON.parse(text.replace(/"id":(-?\d{16,})/g, '"id":"$1","number":true'));

async function ask(path) {
  const answer = await fetch(`/v1/models/${encodeURIComponent(state.chosen)}/${path}`,
    { credentials: "same-origin", cache: "no-store", signal: search.abort.signal });
  const body = read(await answer.text());
  if (!answer.ok) throw new Error(answer.status === 429 ? "too many searches wait; try again in a moment" : body.detail);
  return body;
}

// The one before is given up.
function begin() {
  if (search.abort) search.abort.abort();
  search.abort = new AbortController();
}

function close_row() {
  const why = find("why"), row = why.closest("li");
  if (row) row.firstChild.setAttribute("aria-expanded", "false");
  why.replaceChildren();
  find("past").append(why);
}

function query_of(row) {
  if (row.record && !row.waits) return "record=" + row.record;
  const kind = row.binary ? "binary" : row.number || typeof row.id === "number" ? "number" : "id";
  return kind + "=" + encodeURIComponent(row.id);
}

async function explain(row, button) {
  const open = button.getAttribute("aria-expanded") === "true";
  close_row();
  if (open) return;
  begin();
  button.setAttribute("aria-expanded", "true");
  button.after(find("why"));
  put(find("why"), soft("Looking …"));
  try {
    put(find("why"), explanation({ t: row.t, ...await ask("decision?" + query_of(row)) }));
  } catch (error) {
    if (error.name !== "AbortError") put(find("why"), make("p", error.message, { class: "bad" }));
  }
}

function show_rows(rows) {
  for (const row of rows) {
    const button = make("button", [make("strong", row.id), make("span", clock(row.t), { class: "soft" }),
      make("span", played(row) + (row.p === undefined ? "" : ", p " + number(row.p, 3)) + (row.by ? ", by " + (MAKERS[row.by] || row.by) : "")), make("span", outcome(row), { class: "soft" })],
    { type: "button", "aria-expanded": "false" });
    button.addEventListener("click", () => explain(row, button));
    find("past-found").append(make("li", button));
  }
  search.shown = search.shown.concat(rows);
}

function told(looked) {
  const found = search.shown.length, count = found === 0 ? "Nothing found" : found === 1 ? "1 decision" : number(found) + " decisions";
  if (looked.of !== undefined) return `${count}. ${number(looked.waiting)} of ${number(looked.of)} waiting decisions were looked through; there is no journal of others.`;
  return `${count}. Looked through ${number(looked.records)} records of the journal` + (looked.since ? `, back to ${clock(looked.since)}.` : ".");
}

async function look_back(before) {
  const got = await ask(`decisions?prefix=${encodeURIComponent(search.text)}` + (before ? "&before=" + before : ""));
  if (!before) clear_rows(); // what waits is among them
  show_rows(got.decisions);
  search.more = got.more || 0;
  find("past-more").hidden = !search.more;
  put(find("past-told"), told(got.looked));
}

function clear_rows() {
  close_row();
  find("past-found").replaceChildren();
  search.shown = [];
}

function complain(error) {
  if (error.name !== "AbortError") put(find("past-told"), "No answer: " + error.message);
}

async function find_decisions(event) {
  event.preventDefault();
  begin();
  clear_rows();
  search.text = find("past-id").value;
  find("past-more").hidden = true;
  put(find("past-told"), "Looking …");
  try {
    show_rows((await ask(`decisions?prefix=${encodeURIComponent(search.text)}&waiting=true`)).decisions);
    if (search.shown.length > 0) put(find("past-told"), "These wait. Looking through the journal …");
    await look_back(0);
    const [first] = search.shown;
    if (search.shown.length === 1 && String(first.id) === search.text) find("past-found").firstChild.firstChild.click();
  } catch (error) {
    complain(error);
  }
}

async function find_more() {
  begin();
  close_row();
  put(find("past-told"), "Looking …");
  const count = search.shown.length;
  try {
    await look_back(search.more);
    const first = find("past-found").children[count];
    if (first) first.firstChild.focus();
  } catch (error) {
    complain(error);
  }
}

function forget_search() {
  begin();
  clear_rows();
  find("past-more").hidden = true;
  put(find("past-told"), "Waiting ones are found at once, older ones in the journal, the newest first.");
}

// ---- the way of the figures ----

async function get(path) {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  if (!answer.ok) throw new Error(answer.status === 401 ? "logged out" : `${path}: ${answer.status}`);
  return answer.json();
}

function show_login(needed) {
  find("login").hidden = !needed;
  find("content").hidden = needed;
  find("logout").hidden = needed || !state.session.tokens;
  find("pause").hidden = needed;
  if (needed && find("live").textContent !== "Not logged in") {
    put(find("live"), "Not logged in");
    find("token").focus();
  }
}

async function look_models(session) {
  if (session.models) {
    state.status = null;
    return Promise.all(session.models.map((name) => get("/v1/models/" + encodeURIComponent(name))));
  }
  state.status = await get("/v1/status");
  return state.status.models;
}

function choose() {
  const asked = location.hash.startsWith("#m/") ? decodeURIComponent(location.hash.slice(3)) : null;
  const names = state.models.map((model) => model.name);
  const chosen = names.includes(asked) ? asked : names[0];
  if (chosen !== state.chosen) {
    state.chosen = chosen;
    forget_search();
  }
}

async function look() {
  state.session = await get("/v1/session");
  const readable = !state.session.tokens || (state.session.rights || []).includes("read");
  if (state.session.name && !readable) put(find("login-error"), `${state.session.name} has no right to read.`);
  show_login(!readable);
  if (!readable) return;
  state.models = await look_models(state.session);
  choose();
  const model = state.models.find((one) => one.name === state.chosen);
  const history = model ? await get(`/v1/models/${encodeURIComponent(model.name)}/history`) : null;
  show_models();
  find("model").hidden = !model;
  if (model) {
    show_model(model);
    show_history(history);
  }
  find("daemon").hidden = !state.status;
  if (state.status) show_daemon(state.status);
  put(find("live"), state.paused ? "Paused" : "Live");
}

async function turn() {
  clearTimeout(state.timer);
  try {
    if (!document.hidden && !state.paused) await look();
  } catch (error) {
    put(find("live"), "No answer: " + error.message);
  }
  clearTimeout(state.timer);
  state.timer = setTimeout(turn, state.models.length > MANY ? SLOW_PERIOD : PERIOD);
}

async function post(path, body) {
  return fetch(path, { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

async function login(event) {
  event.preventDefault();
  const answer = await post("/login", { token: find("token").value });
  find("token").value = "";
  put(find("login-error"), answer.ok ? "" : answer.status === 401 ? "No such token." : "It did not work: " + answer.status);
  if (answer.ok) turn();
}

async function logout() {
  await post("/logout", {});
  state.models = [];
  turn();
}

function pause() {
  state.paused = !state.paused;
  find("pause").setAttribute("aria-pressed", String(state.paused));
  put(find("live"), state.paused ? "Paused" : "Live");
  turn();
}

find("login-form").addEventListener("submit", login);
find("curve-loss").addEventListener("change", choose_loss);
find("past-form").addEventListener("submit", find_decisions);
find("past-more").addEventListener("click", find_more);
find("logout").addEventListener("click", logout);
find("pause").addEventListener("click", pause);
addEventListener("hashchange", () => {
  turn().then(() => find("model-title").focus());
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) turn();
});
turn();
