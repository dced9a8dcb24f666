/*
 * attention.js - draws the attention weights of a sentence pair: queries on the left, keys on the right, and links
 * whose strength shows the weight. Each head has a color.
 *
 * data: model, heads, start ([piece]), sentences: text, answer, source and target (pieces), and the weights in
 * thousandths as encoder, decoder, cross: [layer][head][query][key]. Rows of the decoder end at the query's position.
 * SPDX-License-Identifier: Apache-2.0
 */
const KINDS = {
  encoder: {
    label: "Encoder", from: "Word", to: "Attends to",
    note: "Encoder self-attention: each word of the source attends to all source words.",
  },
  decoder: {
    label: "Decoder", from: "Next word", to: "Attends to, so far",
    note: "Decoder self-attention: to choose the next word, the decoder attends to the words written so far.",
  },
  cross: {
    label: "Encoder–decoder", from: "Next word", to: "Attends to in the source",
    note: "Encoder-decoder attention: to choose the next word, the decoder attends to the words of the source.",
  },
};
const ROW = 26; /* pixels, as in attention.css */
const FAINTEST = 20; /* thousandths; weaker links are not drawn */
const LEVELS = 40; /* links of the same head and strength level form one path, so that long sentences are drawn fast */

const state = {
  sentence: 0, kind: "cross", layer: Infinity, heads: new Set(Array(data.heads).keys()),
  word: null, /* {side: "queries" or "keys", index}: the word whose links are shown */
  kept: false, /* the word remains selected when the pointer leaves it */
};

const sentence = () => data.sentences[state.sentence];
const layers = () => sentence()[state.kind];
const pieces = () => ({
  queries: state.kind === "encoder" ? sentence().source : sentence().target,
  keys: state.kind === "decoder" ? [...data.start, ...sentence().target.slice(0, -1)] : sentence().source,
});
const weight = (head, query, key) => layers()[state.layer][head][query][key] ?? 0;
const heads = () => [...state.heads].sort((a, b) => a - b);
const headClass = (head) => `head-${head % 16}`;
const decimal = (thousandths) => (thousandths / 1000).toFixed(3);
const isSpecial = (piece) => piece === "<s>" || piece === "</s>" || /^<0x[0-9A-F]{2}>$/.test(piece);

/* Returns the mean over the selected heads, in thousandths. */
function mean(query, key) {
  const shown = heads();
  return shown.reduce((sum, head) => sum + weight(head, query, key), 0) / Math.max(1, shown.length);
}

/* Returns a piece for display, with a faint mark for its leading space. */
const shownPiece = (piece) =>
  piece.startsWith("\u2581") ? [make("span", { class: "space" }, "\u2581"), piece.slice(1)] : [piece];

/* Returns a piece as text for screen readers. */
function spokenPiece(piece) {
  if (piece === "<s>") return "start of sentence";
  if (piece === "</s>") return "end of sentence";
  const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
  if (byte) {
    const code = parseInt(byte[1], 16);
    return `byte ${byte[1]}${code > 0x20 && code < 0x7f ? `, ${String.fromCharCode(code)}` : ""}`;
  }
  return piece.replaceAll("\u2581", " ").trim() || "space";
}

/* Draws the links of the selected word, or of all words, as one path per head and strength level. */
function drawLinks() {
  const svg = byId("links");
  const { queries, keys } = pieces();
  const height = ROW * Math.max(queries.length, keys.length);
  const width = svg.clientWidth || 240;
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const word = state.word;
  if (word === null && !byId("all").checked) return;
  const shown = heads();
  const band = Math.min(4, 16 / Math.max(1, shown.length)); /* links of different heads are side by side */
  shown.forEach((head, place) => {
    const shift = (place - (shown.length - 1) / 2) * band;
    const levels = new Map();
    queries.forEach((_, query) => {
      if (word?.side === "queries" && word.index !== query) return;
      keys.forEach((_, key) => {
        if (word?.side === "keys" && word.index !== key) return;
        const value = weight(head, query, key);
        if (value < FAINTEST) return;
        const level = Math.ceil((value / 1000) * LEVELS);
        const from = ROW * (query + 0.5) + shift, to = ROW * (key + 0.5) + shift;
        const path = `M0 ${from.toFixed(1)}C${(0.4 * width).toFixed(1)} ${from.toFixed(1)} ` +
          `${(0.6 * width).toFixed(1)} ${to.toFixed(1)} ${width} ${to.toFixed(1)}`;
        levels.set(level, (levels.get(level) ?? "") + path);
      });
    });
    for (const [level, path] of [...levels].sort((a, b) => a[0] - b[0])) {
      const strength = level / LEVELS;
      svg.append(draw("path", {
        d: path, class: headClass(head), "data-head": head, "data-level": level,
        "stroke-width": (0.5 + band * strength).toFixed(2),
        "stroke-opacity": (word === null ? 0.06 + 0.8 * strength : 0.2 + 0.8 * strength).toFixed(2),
      }));
    }
  });
}

/* Shows how strongly each word of the other side is linked to the selected word. */
function markTokens() {
  const word = state.word;
  for (const side of ["queries", "keys"]) {
    const other = word !== null && word.side !== side;
    byId(side).classList.toggle("faint", other);
    [...byId(side).children].forEach((item, index) => {
      const button = item.querySelector("button");
      const active = word !== null && !other && word.index === index;
      button.classList.toggle("active", active);
      button.classList.toggle("kept", active && state.kept);
      button.setAttribute("aria-pressed", String(active && state.kept));
      const pair = side === "keys" ? [word?.index, index] : [index, word?.index];
      const strongest = other ? Math.max(0, ...heads().map((head) => weight(head, ...pair))) : 0;
      item.style.setProperty("--seen", Math.min(1, strongest / 300));
      const cells = item.querySelector(".cells");
      cells.replaceChildren(...(other ? heads() : []).map((head) => {
        const cell = make("span", { class: headClass(head) });
        cell.style.setProperty("--weight", weight(head, ...pair) / 1000);
        return cell;
      }));
    });
  }
}

/* Fills the side panel with the strongest links of the selected word. */
function showWord() {
  const word = state.word;
  const { queries, keys } = pieces();
  const list = byId("strongest");
  list.replaceChildren();
  if (word === null || state.heads.size === 0) {
    byId("word").textContent = state.heads.size === 0 ? "No head is selected" : "No word is selected";
    byId("word-note").textContent = state.heads.size === 0 ? "Select a head above." : "";
    byId("spoken").textContent = "";
    return;
  }
  const looks = word.side === "queries";
  const others = (looks ? keys : queries).map((piece, index) => {
    const pair = looks ? [word.index, index] : [index, word.index];
    return { piece, pair, value: mean(...pair) };
  }).sort((a, b) => b.value - a.value).slice(0, 8).filter((other) => other.value >= 1);
  const shown = heads();
  const of = shown.length === 1 ? `head ${shown[0] + 1}` : `mean of ${shown.length} heads`;
  byId("word").replaceChildren(...shownPiece((looks ? queries : keys)[word.index]));
  byId("word-note").textContent = `${looks ? "looks at" : "is looked at by"} · ${of}`;
  for (const { piece, pair, value } of others) {
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, ...shown.map((head) => {
      const part = make("span", { class: headClass(head) });
      part.style.setProperty("--weight", weight(head, ...pair) / 1000 / shown.length);
      return part;
    }));
    list.append(make("li", {}, make("span", { class: "name" }, ...shownPiece(piece)),
      make("span", { class: "number" }, decimal(value)), bar));
  }
  byId("spoken").textContent = `${looks ? "looks at" : "is looked at by"} ` +
    others.slice(0, 3).map(({ piece, value }) => `${spokenPiece(piece)} ${(value / 1000).toFixed(2)}`).join(", ");
}

function fillTable() {
  if (!byId("table").open) return;
  const { queries, keys } = pieces();
  const shown = heads().map((head) => head + 1);
  const head = make("tr", {}, make("td", {}, "looks at →"),
    ...keys.map((piece) => make("th", { scope: "col" }, piece)));
  const rows = queries.map((piece, query) => make("tr", {}, make("th", { scope: "row" }, piece),
    ...keys.map((_, key) => {
      const value = mean(query, key);
      const cell = make("td", { class: value < 10 ? "weight small" : "weight" }, decimal(value));
      cell.style.setProperty("--weight", value / 1000);
      return cell;
    })));
  const caption = `${KINDS[state.kind].label}, layer ${state.layer + 1} of ${layers().length}, ` +
    `${shown.length === 1 ? "head" : "mean of heads"} ${shown.join(", ") || "none"}: how much the word of a row ` +
    "looks at the word of a column.";
  byId("table").querySelector(".scroll").replaceChildren(
    make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows)));
}

function showLinks() {
  drawLinks();
  markTokens();
  showWord();
}

function choose(word, kept = false) {
  state.word = word;
  state.kept = kept && word !== null;
  showLinks();
}

function makeToken(side, piece, index, count) {
  const button = make("button", {
    type: "button", class: isSpecial(piece) ? "token special" : "token", tabindex: index === 0 ? 0 : -1,
    "aria-label": `${spokenPiece(piece)}, ${index + 1} of ${count}`, "aria-pressed": "false",
  }, ...shownPiece(piece));
  const word = { side, index };
  const isKept = () => state.kept && state.word.side === side && state.word.index === index;
  button.addEventListener("pointerenter", () => { if (!state.kept) choose(word); });
  button.addEventListener("pointerleave", () => { if (!state.kept) choose(null); });
  button.addEventListener("focus", () => {
    for (const item of byId(side).children) item.querySelector("button").tabIndex = -1;
    button.tabIndex = 0;
    if (!state.kept && button.matches(":focus-visible")) choose(word);
  });
  button.addEventListener("blur", () => { if (!state.kept) choose(null); });
  button.addEventListener("click", () => choose(word, !isKept()));
  button.append(make("span", { class: "cells", "aria-hidden": "true" }));
  return make("li", {}, button);
}

/* Arrow keys move within a column and between the columns. */
function moveFocus(event) {
  const side = event.currentTarget.id;
  const items = [...byId(side).children];
  const at = items.findIndex((item) => item.contains(document.activeElement));
  const across = side === "queries" ? "ArrowRight" : "ArrowLeft";
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  let target = items[steps[event.key]];
  if (event.key === across) {
    const other = [...byId(side === "queries" ? "keys" : "queries").children];
    target = other[Math.min(at, other.length - 1)];
  }
  if (!target) return;
  event.preventDefault();
  target.querySelector("button").focus();
}

/* Builds the parts that depend on the sentence, the kind, and the layer. */
function show() {
  const kind = KINDS[state.kind];
  state.layer = Math.min(state.layer, layers().length - 1);
  byId("source-text").textContent = data.sentences.length === 1 ? sentence().text : "";
  byId("answer-text").textContent = `→ ${sentence().answer}`;
  byId("note").textContent = kind.note;
  byId("from").textContent = kind.from;
  byId("to").textContent = kind.to;
  byId("layers").replaceChildren(...layers().map((_, layer) =>
    segment("layer", layer, String(layer + 1), layer === state.layer)));
  for (const [side, list] of Object.entries(pieces()))
    byId(side).replaceChildren(...list.map((piece, index) => makeToken(side, piece, index, list.length)));
  choose(null);
  fillTable();
}

const segment = (name, value, label, checked) => make("label", {},
  make("input", { type: "radio", name, value, checked: checked ? "" : null }), make("span", {}, label));

function setHeads(chosen) {
  state.heads = new Set(chosen);
  for (const box of byId("heads").querySelectorAll("input")) box.checked = state.heads.has(Number(box.value));
  showLinks();
  fillTable();
}

function begin() {
  byId("model").textContent = data.model;
  byId("sentence").replaceChildren(...data.sentences.map((one, index) => make("option", { value: index }, one.text)));
  byId("sentence-control").hidden = data.sentences.length === 1;
  byId("kinds").replaceChildren(...Object.keys(KINDS).map((kind) =>
    segment("kind", kind, KINDS[kind].label, kind === state.kind)));
  byId("heads").replaceChildren(...Array.from({ length: data.heads }, (_, head) =>
    make("label", { class: headClass(head) },
      make("input", { type: "checkbox", value: head, checked: "", "aria-label": `Head ${head + 1}` }),
      make("span", {}, String(head + 1)))));

  byId("sentence").addEventListener("change", (event) => { state.sentence = Number(event.target.value); show(); });
  byId("kinds").addEventListener("change", (event) => { state.kind = event.target.value; show(); });
  byId("layers").addEventListener("change", (event) => {
    state.layer = Number(event.target.value);
    showLinks();
    fillTable();
  });
  byId("heads").addEventListener("change", (event) => {
    const head = Number(event.target.value);
    setHeads(event.target.checked ? [...state.heads, head] : heads().filter((other) => other !== head));
  });
  byId("every").addEventListener("click", () => setHeads(Array(data.heads).keys()));
  byId("none").addEventListener("click", () => setHeads([]));
  byId("all").addEventListener("change", showLinks);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("queries").addEventListener("keydown", moveFocus);
  byId("keys").addEventListener("keydown", moveFocus);
  byId("table").addEventListener("toggle", fillTable);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });
  new ResizeObserver(drawLinks).observe(byId("figure"));
  new ResizeObserver(([entry]) => document.documentElement.style.setProperty("--controls",
    `${Math.round(entry.target.offsetHeight) + 14}px`)).observe(byId("controls"));
  show();
}
begin();
