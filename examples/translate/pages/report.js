/*
 * report.js - draws the charts of a training run: loss, BLEU, perplexity, learning rate, and speed by step. All charts
 * have the same x axis and show the values of the same step.
 *
 * data: model, state, corpus, device, step, last_step (0: no limit), elapsed, epoch, pairs, parameters, settings
 * ([key, value]), steps ([step, epoch, elapsed, loss, learning rate, tokens/s]: means over the steps up to that one)
 * and evaluations ([step, epoch, elapsed, loss, perplexity, BLEU, kind]; kind is "dev", "averaged" or "best").
 * SPDX-License-Identifier: Apache-2.0
 */
const STEP = 0, EPOCH = 1, ELAPSED = 2, KIND = 6;
const whole = (value) => Math.round(value).toLocaleString("en-US");
const fixed = (digits) => (value) => value.toFixed(digits);
const small = (value) => (value === 0 ? "0" : value.toExponential(2).replace("e-", "e−"));

const dev = data.evaluations.filter((row) => row[KIND] === "dev");
const others = data.evaluations.filter((row) => row[KIND] !== "dev");

/*
 * A series has a name, a style class, a column, and rows. A noisy series also has a smoothed line through its moving
 * average.
 */
const TRAIN = (column, noisy = false) => ({ name: "training", style: "train", column, rows: data.steps, noisy });
const DEV = (column) => ({ name: "dev", style: "dev", column, rows: dev, others });
const CHARTS = [
  { title: "Loss", text: fixed(3), series: [TRAIN(3, true), DEV(3)], wide: true },
  { title: "BLEU", text: fixed(2), series: [DEV(5)], zero: true, wide: true },
  { title: "Perplexity", text: (value) => (value < 100 ? fixed(2) : whole)(value), series: [DEV(4)], log: true },
  { title: "Learning rate", text: small, series: [TRAIN(4)], zero: true },
  { title: "Tokens per second", text: whole, series: [TRAIN(5, true)], zero: true, cut: true },
];
const MARGIN = { left: 54, right: 14, top: 8, bottom: 24 };
const known = (series) => series.rows.filter((row) => row[series.column] !== null);
const lastStep = Math.max(1, data.step, ...data.steps.map((row) => row[STEP]));
const allSteps = [...new Set([...data.steps, ...data.evaluations].map((row) => row[STEP]))].sort((a, b) => a - b);

/* Returns the moving average over a window of a fiftieth of the values. */
function smooth(values) {
  const reach = Math.floor(values.length / 100), sums = [0];
  for (const value of values) sums.push(sums[sums.length - 1] + value);
  return values.map((_, at) => {
    const from = Math.max(0, at - reach), to = Math.min(values.length, at + reach + 1);
    return (sums[to] - sums[from]) / (to - from);
  });
}

function clock(seconds) {
  const s = Math.round(seconds), two = (value) => String(value).padStart(2, "0");
  return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}`
    : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/* Returns about `count` round numbers from low to high. */
function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const list = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; ++at) list.push(at * step);
  return list;
}

/* Ticks of a logarithmic axis: 1, 2, and 5 times powers of ten, or linear ticks for a narrow range. */
function logTicks(low, high) {
  const list = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
    for (const factor of [1, 2, 5]) list.push(factor * 10 ** power);
  const inside = list.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  if (inside.length < 3) return ticks(low, high, 6);
  const decades = inside.filter((value) => Number.isInteger(Math.log10(value)));
  return inside.length > 7 && decades.length > 2 ? decades : inside;
}

/* Returns the y axis of a chart: {ticks, place(value)}, where place is 0 at the bottom and 1 at the top. */
function scaleOf(chart) {
  const values = chart.series.flatMap((series) =>
    [...known(series), ...(series.others ?? []).filter((row) => row[series.column] !== null)]
      .map((row) => row[series.column]));
  if (values.length === 0) return null;
  let low = Math.min(...values), high = Math.max(...values);
  if (chart.cut) /* clip a few outliers, which are drawn at the edge, so that the other values remain readable */
    high = Math.max(...smooth(values), values.toSorted((a, b) => a - b)[Math.floor(0.99 * (values.length - 1))]);
  if (chart.log) {
    low = Math.max(low, 1e-9) / 1.1;
    high = Math.max(high * 1.1, low * 1.5);
    const place = (value) => Math.log(value / low) / Math.log(high / low);
    return { ticks: logTicks(low, high), place };
  }
  if (chart.zero) low = 0;
  if (high === low) high = low + (Math.abs(low) || 1);
  const room = 0.04 * (high - low);
  high += room;
  if (!chart.zero) low -= room;
  return { ticks: ticks(low, high, 5), place: (value) => (value - low) / (high - low) };
}

/* Returns a short label for a tick. */
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  if (size > 0 && size < 1e-3) return value.toExponential(1).replace(".0", "").replace("e-", "e−");
  return String(Number(value.toPrecision(3)));
}

function drawChart(chart) {
  const svg = chart.svg;
  const width = svg.clientWidth || 400, height = svg.clientHeight || 220;
  const scale = scaleOf(chart);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  chart.x = (step) => MARGIN.left + ((right - MARGIN.left) * step) / lastStep;
  chart.y = (value) => bottom - (bottom - MARGIN.top) * Math.min(1, scale.place(value));
  chart.bottom = bottom;
  if (scale === null) {
    svg.append(draw("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing measured yet"));
    return;
  }
  for (const value of scale.ticks) {
    const y = chart.y(value).toFixed(1);
    svg.append(draw("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y, y2: y }),
      draw("text", { x: MARGIN.left - 7, y, "text-anchor": "end", "dominant-baseline": "middle" }, tickText(value)));
  }
  svg.append(draw("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }));
  for (const step of ticks(0, lastStep, Math.max(2, Math.min(6, width / 90)))) {
    const x = chart.x(step).toFixed(1);
    svg.append(draw("line", { class: "axis", x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
      draw("text", { x, y: bottom + 17, "text-anchor": "middle" }, step === 0 ? "step 0" : tickText(step)));
  }
  for (const series of chart.series) {
    const rows = known(series);
    const line = (values, style) => {
      const path = rows.map((row, at) => `${chart.x(row[STEP]).toFixed(1)} ${chart.y(values[at]).toFixed(1)}`);
      if (path.length > 0) svg.append(draw("path", { class: `${style} ${series.style}`, d: `M${path.join("L")}` }));
    };
    const values = rows.map((row) => row[series.column]);
    if (series.noisy) line(values, "series noise");
    line(series.noisy ? smooth(values) : values, "series");
    const dots = rows.length <= 60 && series.style === "dev" ? rows : [];
    for (const row of [...dots, ...(series.others ?? []).filter((one) => one[series.column] !== null)])
      svg.append(draw("circle", {
        class: `point ${series.style}${row[KIND] === "dev" ? "" : " other"}`, r: row[KIND] === "dev" ? 2.6 : 4,
        cx: chart.x(row[STEP]).toFixed(1), cy: chart.y(row[series.column]).toFixed(1),
      }, draw("title", {}, `${row[KIND]}, step ${whole(row[STEP])}`)));
  }
  svg.append(chart.cursor = draw("g", {}));
}

/* Returns the row of a series that contains a step: the first row that ends at or after it. */
function rowAt(series, step) {
  const rows = known(series);
  return rows.find((row) => row[STEP] >= step) ?? rows[rows.length - 1];
}

/* Returns the values of a chart at a step, as text. */
const valuesAt = (chart, step) => chart.series.map((series) => ({ series, row: rowAt(series, step) }))
  .filter(({ row }) => row !== undefined);

let cursor = null; /* the step whose values are shown, or null */

function readOut(step) {
  cursor = step;
  for (const chart of CHARTS) {
    chart.cursor?.replaceChildren();
    chart.read.textContent = "";
    if (step === null || !chart.cursor) continue;
    const found = valuesAt(chart, step);
    const first = found[0]?.row[STEP];
    chart.read.textContent = found.length === 0 ? "" : `step ${whole(first)}: ` +
      found.map(({ series, row }) => `${found.length > 1 ? `${series.name} ` : ""}${chart.text(row[series.column])}` +
        (row[STEP] === first ? "" : ` at ${whole(row[STEP])}`)).join(", ");
    const x = chart.x(step).toFixed(1);
    chart.cursor.append(draw("line", { class: "cursor", x1: x, x2: x, y1: MARGIN.top, y2: chart.bottom }),
      ...found.map(({ series, row }) => draw("circle", {
        class: `mark ${series.style}`, r: 4, cx: chart.x(row[STEP]).toFixed(1),
        cy: chart.y(row[series.column]).toFixed(1),
      })));
  }
}

/* Returns the step nearest to a position in a chart. */
function stepAt(chart, event) {
  const box = chart.svg.getBoundingClientRect();
  const step = ((event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right)) * lastStep;
  return allSteps.reduce((best, one) => (Math.abs(one - step) < Math.abs(best - step) ? one : best), allSteps[0]);
}

function moveCursor(chart, event) {
  if (event.key === "Escape") readOut(null);
  const at = cursor === null ? -1 : allSteps.indexOf(cursor), page = Math.ceil(allSteps.length / 10);
  const last = allSteps.length - 1;
  const places = { ArrowRight: at + 1, ArrowLeft: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last };
  if (!(event.key in places) || allSteps.length === 0) return;
  event.preventDefault();
  readOut(allSteps[Math.max(0, Math.min(last, places[event.key]))]);
  byId("spoken").textContent = `${chart.title}, ${chart.read.textContent}`;
}

function addChart(chart) {
  chart.read = make("span", { class: "read" });
  chart.svg = draw("svg", { class: "chart", tabindex: 0, role: "img", "aria-label": describe(chart) });
  const keys = chart.series.length > 1 || chart.series[0].others?.length > 0
    ? chart.series.map((series) => make("span", { class: `key ${series.style}` }, series.name)) : [];
  const kinds = chart.series.some((series) => series.others) ? new Set(others.map((row) => row[KIND])) : [];
  for (const kind of kinds) keys.push(make("span", { class: "key dev other" }, kind));
  byId("charts").append(make("figure", { class: chart.wide ? "panel wide" : "panel" },
    make("figcaption", {}, make("h2", {}, chart.title), ...keys, chart.read), chart.svg));
  chart.svg.addEventListener("pointermove", (event) => { if (allSteps.length > 0) readOut(stepAt(chart, event)); });
  chart.svg.addEventListener("pointerleave", () => readOut(null));
  chart.svg.addEventListener("blur", () => readOut(null));
  chart.svg.addEventListener("keydown", (event) => moveCursor(chart, event));
  new ResizeObserver(() => { drawChart(chart); readOut(cursor); }).observe(chart.svg);
}

function describe(chart) {
  const parts = chart.series.map((series) => {
    const rows = known(series);
    if (rows.length === 0) return `${series.name}: nothing yet`;
    const first = rows[0], last = rows[rows.length - 1];
    return `${series.name} from ${chart.text(first[series.column])} at step ${whole(first[STEP])} ` +
      `to ${chart.text(last[series.column])} at step ${whole(last[STEP])}`;
  });
  return `${chart.title} against step. ${parts.join("; ")}. Arrow keys read out single steps.`;
}

/* Fills a section with a table of text cells. The table is created when the section is first opened. */
function addTable(id, heads, rows) {
  const section = byId(id);
  const build = () => {
    if (!section.open || section.querySelector("table")) return;
    const cells = (row) => row.map((text, column) => make(column === 0 ? "th" : "td",
      { scope: column === 0 ? "row" : null, class: column === heads.length - 1 ? "last" : null }, text));
    section.querySelector(".scroll").append(make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((text, column) =>
        make("th", { scope: "col", class: column === heads.length - 1 ? "last" : null }, text)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row))))));
  };
  section.addEventListener("toggle", build);
  build();
}

function addFacts() {
  const last = dev[dev.length - 1], final = others[others.length - 1] ?? last;
  const best = (column, pick) => {
    const values = data.evaluations.map((row) => row[column]).filter((value) => value !== null);
    return values.length > 0 ? pick(...values) : null;
  };
  const bleu = best(5, Math.max), perplexity = best(4, Math.min);
  const facts = [
    ["Step", data.last_step > 0 ? `${whole(data.step)} of ${whole(data.last_step)}` : whole(data.step)],
    ["Epoch", data.epoch.toFixed(2)], ["Time", clock(data.elapsed)], ["Parameters", whole(data.parameters)],
    ["Best BLEU", bleu?.toFixed(2)], ["Lowest perplexity", perplexity?.toFixed(2)],
    ["Last loss", final?.[3]?.toFixed(3)],
  ];
  for (const [name, value] of facts)
    if (value !== undefined) byId("facts").append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
}

function begin() {
  const states = {
    running: "is running", finished: "is finished", stopped: "was interrupted and can go on from its checkpoint",
    failed: "ended with an error",
  };
  document.title = `Training of ${data.model}`;
  byId("model").textContent = data.model;
  byId("about").textContent = `The run ${states[data.state] ?? data.state}. ${whole(data.pairs)} pairs of ` +
    `${data.corpus}, on ${data.device}.`;
  addFacts();
  CHARTS.forEach(addChart);
  const cell = (value, text) => (value === null || value === undefined ? "–" : text(value));
  addTable("evaluations", ["Step", "Epoch", "Time", "Dev loss", "Perplexity", "BLEU", "Model"],
    data.evaluations.map((row) => [whole(row[STEP]), row[EPOCH].toFixed(2), clock(row[ELAPSED]), cell(row[3], fixed(4)),
      cell(row[4], fixed(2)), cell(row[5], fixed(2)), row[KIND] === "dev" ? "of that step" : row[KIND]]));
  addTable("steps", ["Up to step", "Epoch", "Time", "Loss", "Learning rate", "Tokens/s"],
    data.steps.map((row) => [whole(row[STEP]), row[EPOCH].toFixed(2), clock(row[ELAPSED]), cell(row[3], fixed(4)),
      cell(row[4], small), cell(row[5], whole)]));
  addTable("settings", ["Option", "Value"], data.settings);
}
begin();
