/*
 * tools.js - what this page adds to page.js, whose state and functions it uses: corrections, attention, and other
 * translations of one sentence, the model, and offline use. A sentence is {source: [begin, end], target: [begin, end]}.
 * SPDX-License-Identifier: Apache-2.0
 */
"use strict";

const EXAMPLES = ["The file could not be found.", "Do you want to save the changes?",
  "The file was saved. Do you want to close the window?", "To change the settings, open the menu.",
  "You do not have permission to open this folder.", "The printer is out of paper."];
const CHECKED = [...EXAMPLES, "This program is free software.", "The connection was closed."];
const BEST = 4; /* other translations */
const MOST_CELLS = 6000; /* of the drawing of attention */
const STORE_AFTER = 1500; /* ms after the model was loaded: the first translation has precedence */

const tools = {
  sentence: null, /* of state.sentences */
  text: { source: "", target: "" }, /* of the sentence: what the tools show, also while the text changes */
  request: null, /* AbortController of the requests for the sentence */
  learning: null, /* AbortController */
  best: { key: "", list: [] },
  weights: null, /* the result of the call `attention` */
  model: null, /* the result of the call `about` */
};

const languages = () => ({ source: from.value, target: to.value });
const textOf = (side) => tools.text[side];
const percent = (number) => `${Math.round(100 * number)} %`;
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const translateAgain = () => change({ now: true });

/* --- The sentence --- */

/* page.js replaces the children of the output: words when a translation is complete, otherwise text. */
new MutationObserver(() => {
  const ready = state.sentences.length > 0 && output.querySelector(".word") !== null;
  byId("tools").classList.toggle("stale", !ready);
  byId("tools").ariaBusy = !ready;
  if (!source.value.trim()) byId("tools").hidden = true;
  if (ready) showSentences();
}).observe(output, { childList: true });

function showSentences() {
  const { sentences } = state;
  const index = Math.max(0, Math.min(sentences.length - 1, byId("sentence").selectedIndex));
  byId("sentence").replaceChildren(...sentences.map((one) => make("option", {}, source.value.slice(...one.source))));
  byId("sentence-field").hidden = sentences.length < 2;
  byId("tools").hidden = false;
  showSentence(tools.sentence && sentences.includes(tools.sentence) ? sentences.indexOf(tools.sentence) : index);
}

async function showSentence(index) {
  tools.request?.abort();
  tools.request = new AbortController();
  const { signal } = tools.request;
  tools.sentence = state.sentences[index];
  tools.text = { source: source.value.slice(...tools.sentence.source),
    target: state.translation.slice(...tools.sentence.target) };
  byId("sentence").selectedIndex = index;
  showCorrection();
  const shown = [[showAttention, "attention-note"], [showOthers, "others-note"]];
  for (const [show, note] of shown) {
    try {
      await show(signal);
    } catch (error) {
      if (signal.aborted) return;
      byId(note).textContent = error.message;
    }
  }
}

on(byId("sentence"), "change", () => showSentence(byId("sentence").selectedIndex));
on(output, "focusin click", ({ target: { word } }) => {
  if (!word) return;
  const index = state.sentences.findIndex((one) => one.target[0] <= word.begin && word.end <= one.target[1]);
  if (index >= 0 && state.sentences[index] !== tools.sentence) showSentence(index);
});

/* --- Other translations --- */

async function showOthers(signal) {
  const key = JSON.stringify([textOf("source"), languages(), tools.model]);
  if (tools.best.key !== key) {
    const list = await engine.call("best", { source: textOf("source"), count: BEST, languages: languages() },
      { signal });
    tools.best = { key, list };
  }
  const current = textOf("target");
  byId("others-note").textContent = "The best results of the beam search. Select one to use it.";
  byId("others").lang = to.value;
  byId("others").replaceChildren(...tools.best.list.map(({ text, score }) => {
    const button = make("button", { type: "button", "aria-pressed": text === current }, make("span", {}, text),
      make("small", { class: "muted number", title: "Score: log-probability with the length penalty" },
        score.toFixed(2).replace("-", "\u2212")));
    on(button, "click", () => {
      if (state.sentences.includes(tools.sentence)) choose(tools.sentence, text, tools.sentence.target[0]);
    });
    return make("li", {}, button);
  }));
}

/* --- Attention --- */

/* A piece as it is shown: special tokens by name, and with a hyphen if it continues a word. */
function pieceParts(piece) {
  if (/^<.+>$/.test(piece)) return [make("i", {}, piece === "</s>" ? "end" : piece)];
  if (/^[\u2581 ]/.test(piece)) return [piece.slice(1) || "\u00a0"];
  return /^\p{L}/u.test(piece) ? [make("i", {}, "-"), piece] : [piece];
}
const spokenPiece = (piece) => (piece === "</s>" ? "the end" : piece.replace(/^[\u2581 ]/, "").trim() || "a space");

async function showAttention(signal) {
  const layer = Math.max(0, byId("layer").selectedIndex);
  const pair = { source: textOf("source"), target: textOf("target") };
  tools.weights = await engine.call("attention", { ...pair, layer, languages: languages() }, { signal });
  drawAttention();
}

function drawAttention() {
  const { queries, keys, heads, weights } = tools.weights;
  const note = byId("attention-note");
  note.textContent = "Each row shows where the model looks in the source, in percent, when it writes one piece of " +
    "the translation.";
  if (queries.length * keys.length > MOST_CELLS) {
    byId("heat").replaceChildren();
    note.textContent = "This sentence is too long to draw its attention.";
    return;
  }
  const chosen = byId("head").selectedIndex - 1;
  const used = chosen < 0 ? [...Array(heads).keys()] : [chosen];
  const weight = (query, key) => used.reduce((sum, head) =>
    sum + weights[(head * queries.length + query) * keys.length + key], 0) / used.length;
  const columns = keys.map((piece) => make("th", { scope: "col" }, make("span", {}, ...pieceParts(piece))));
  const rows = queries.map((piece, query) => {
    const name = make("th", { scope: "row" }, ...pieceParts(piece));
    const cells = keys.map((key, index) => {
      const value = weight(query, index);
      const level = value >= 0.75 ? "most" : value >= 0.6 ? "much" : value >= 0.1 ? "some" : "none";
      const cell = make("td", { class: level }, String(Math.round(100 * value)));
      cell.style.setProperty("--weight", value.toFixed(3));
      on(cell, "mouseenter", () => {
        for (const lit of byId("heat").querySelectorAll(".lit")) lit.classList.remove("lit");
        for (const one of [name, columns[index]]) one.classList.add("lit");
        note.textContent = `“${spokenPiece(piece)}” looks at “${spokenPiece(key)}” with ${percent(value)}.`;
      });
      return cell;
    });
    return make("tr", {}, name, ...cells);
  });
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...columns)),
    make("tbody", {}, ...rows));
  table.style.setProperty("--columns", keys.length);
  byId("heat").replaceChildren(table);
}

on(byId("layer"), "change", () => {
  if (state.sentences.includes(tools.sentence)) showSentence(state.sentences.indexOf(tools.sentence));
});
on(byId("head"), "change", drawAttention);

/* --- Corrections --- */

function showCorrection() {
  const text = textOf("target");
  byId("learn-source").textContent = textOf("source");
  byId("learn-source").lang = source.lang;
  byId("correction").lang = to.value;
  if (tools.learning) return;
  byId("correction").value = text;
  byId("learn").disabled = true;
}

on(byId("correction"), "input", () => {
  const text = byId("correction").value.trim();
  byId("learn").disabled = !text || text === textOf("target");
});
on(byId("correction"), "keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault(); /* a sentence has one line */
  byId("learn").click();
});

function drawLoss(losses, steps) {
  const most = Math.max(...losses), width = Math.max(steps, 2) - 1;
  const points = losses.map((loss, index) =>
    `${(100 * index / width).toFixed(1)} ${(38 - 36 * loss / most).toFixed(1)}`);
  byId("loss").firstElementChild.setAttribute("d", `M${points.join("L")}`);
}

/* Shows two texts with the words that differ: those of the longest common subsequence do not. */
function showDifference(before, after) {
  const [a, b] = [before, after].map((text) => text.split(/(?<=\s)/));
  const same = (i, j) => i < a.length && j < b.length && a[i].trim() === b[j].trim();
  const common = Array.from({ length: a.length + 1 }, () => Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--)
    common[i][j] = same(i, j) ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const marked = [[], []];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (same(i, j)) {
      marked[0].push(a[i++]);
      marked[1].push(b[j++]);
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      marked[0].push(make("del", {}, a[i].trimEnd()), a[i++].slice(a[i - 1].trimEnd().length));
    } else {
      marked[1].push(make("ins", {}, b[j].trimEnd()), b[j++].slice(b[j - 1].trimEnd().length));
    }
  }
  byId("compare").replaceChildren(make("dt", {}, "Before"), make("dd", { lang: to.value }, ...marked[0]),
    make("dt", {}, "After"), make("dd", { lang: to.value }, ...marked[1]));
}

async function learn() {
  const values = { source: textOf("source"), target: byId("correction").value.trim(), others: CHECKED };
  const status = byId("learn-status"), losses = [];
  tools.learning = new AbortController();
  byId("learn").disabled = byId("correction").readOnly = true;
  byId("learn-stop").hidden = false;
  byId("lesson").hidden = true;
  status.textContent = "Preparing …";
  try {
    const onEvent = (_, { step, steps, loss }) => {
      losses.push(loss);
      status.textContent = `Step ${step} of at most ${steps}, loss ${loss.toFixed(2)}`;
      byId("lesson").hidden = false;
      drawLoss(losses, steps);
    };
    byId("compare").replaceChildren();
    byId("lesson-note").textContent = "";
    byId("undo").hidden = true;
    const found = await engine.call("learn", { ...values, languages: languages() },
      { signal: tools.learning.signal, onEvent, wait: true });
    const [first, last] = [losses[0], losses.at(-1)].map((loss) => loss.toFixed(2));
    drawLoss(losses, losses.length);
    byId("loss").setAttribute("aria-label", `The loss fell from ${first} to ${last}`);
    byId("lesson").querySelector("figcaption").textContent =
      `Loss ${first} → ${last} in ${losses.length} steps, ${found.seconds.toFixed(1)} s`;
    showDifference(found.before, found.after);
    byId("lesson-note").textContent = `${found.same} of ${found.checked} other sentences are translated as before.`;
    byId("undo").hidden = false;
    status.textContent = found.after === values.target ? "Learned." : "Trained; the translation is not yet the same.";
    showModel(found.model);
  } catch (error) {
    byId("lesson").hidden = true;
    status.textContent = tools.learning.signal.aborted ? "Stopped. The model has not changed." : error.message;
  }
  tools.learning = null;
  byId("correction").readOnly = false;
  byId("learn-stop").hidden = true;
  translateAgain();
}

on(byId("learn"), "click", learn);
on(byId("learn-stop"), "click", () => tools.learning.abort());

/* --- The model --- */

function showModel(model) {
  tools.model = model;
  const { name, bytes, learned, kept, own, layers, heads } = model;
  const count = learned.length;
  const facts = [name, `${megabytes(bytes)}, int8 in memory`];
  if (own) facts.push("your file");
  if (count > 0) facts.push(count === 1 ? "with 1 correction" : `with ${count} corrections`);
  byId("model-about").textContent = facts.join(" · ");
  byId("model-restore").hidden = count === 0;
  byId("keep-model").checked = kept;
  for (const id of ["model-open", "model-save", "model-restore", "keep-model"]) byId(id).disabled = false;
  byId("keep-model").disabled = !globalThis.caches;
  const fill = (id, texts) => {
    if (byId(id).children.length === texts.length) return;
    byId(id).replaceChildren(...texts.map((text) => make("option", {}, text)));
  };
  fill("layer", Array.from({ length: layers }, (_, layer) => `${layer + 1}`));
  fill("head", ["all", ...Array.from({ length: heads }, (_, head) => `${head + 1}`)]);
  byId("layer").selectedIndex = layers - 1;
  for (const select of [from, to]) select.disabled = state.languages.length < 3;
  byId("swap").hidden = state.languages.length < 3;
}

/* Calls a function that changes the model; a failure is shown below the model. */
async function changeModel(name, values, done = () => {}) {
  byId("model-error").hidden = true;
  const controls = [...byId("model").querySelectorAll("button, input")].filter((one) => !one.disabled);
  for (const one of controls) one.disabled = true;
  try {
    const model = await engine.call(name, values);
    await start(); /* of page.js: the languages may be others */
    showModel(model);
    done();
  } catch (error) {
    byId("model-error").textContent = error.message;
    byId("model-error").hidden = false;
  }
  for (const one of controls) one.disabled = false;
}

const forgetLesson = () => {
  byId("lesson").hidden = true;
  byId("learn-status").textContent = "The original model is restored.";
  source.focus();
};
on(byId("undo"), "click", () => changeModel("restore", {}, forgetLesson));
on(byId("model-restore"), "click", () => changeModel("restore", {}, forgetLesson));
on(byId("keep-model"), "change", () => changeModel("keep", { on: byId("keep-model").checked }));
on(byId("model-open"), "click", () => byId("model-file").click());
on(byId("model-file"), "change", () => {
  const [file] = byId("model-file").files;
  byId("model-file").value = "";
  if (file) changeModel("open", { file }, () => { byId("lesson").hidden = true; });
});
on(byId("model-save"), "click", async () => {
  const bytes = await engine.call("save");
  const link = make("a", { href: URL.createObjectURL(new Blob([bytes])), download: `${tools.model.name}.xf` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
});

/* --- Start, and offline use --- */

engine.notice = (event, { done, total }) => {
  showStatus(`Loading the model, ${percent(done / total)}`);
  Object.assign(byId("progress"), { hidden: false, max: total, value: done });
};

/* The service worker is installed after the model was loaded, so that the first visit loads it once. */
async function storePage() {
  const say = (text) => { byId("offline").textContent = text; };
  if (!navigator.serviceWorker) {
    say("This address does not allow the browser to store the page. It needs a connection.");
    return;
  }
  try {
    const registration = await navigator.serviceWorker.register("sw.js");
    const stored = () => say("Works without a connection: the page and the model are stored in this browser.");
    const follow = (worker) => on(worker, "statechange", () => {
      if (worker.state === "activated") stored();
      else if (worker.state === "installed" && registration.active) offer(worker);
      else if (worker.state === "redundant" && !registration.active) say("The page was not stored: a file is missing.");
    });
    const offer = (worker) => {
      byId("update").hidden = false;
      byId("update").onclick = () => {
        on(navigator.serviceWorker, "controllerchange", () => location.reload());
        worker.postMessage("activate");
      };
    };
    on(registration, "updatefound", () => follow(registration.installing));
    if (registration.installing) follow(registration.installing);
    if (registration.active) stored();
    else say("Storing the page, so that it works without a connection …");
    if (registration.waiting) offer(registration.waiting);
  } catch (error) {
    say(`The page was not stored: ${error.message}`);
  }
}

from.options[0].disabled = from.options[0].hidden = true; /* the language is not detected */
byId("try").append(make("span", { class: "muted" }, "Try"), ...EXAMPLES.map((text) => {
  const button = make("button", { class: "plain", type: "button", lang: "en" }, text);
  on(button, "click", () => {
    source.value = text;
    change({ now: true });
    source.focus({ preventScroll: true });
  });
  return button;
}));
engine.call("about").then((model) => {
  showStatus("");
  showModel(model);
  setTimeout(storePage, STORE_AFTER);
}).catch((error) => { byId("model-about").textContent = error.message; });
