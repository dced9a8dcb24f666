/*
 * page.js - the page of `serve`. Text is translated while the user types: first a streamed draft by greedy search;
 * after a pause, the final translation with the server's default beam and an alignment, which makes the words
 * interactive.
 * Text is added to the document only as text nodes, never as markup. Offsets in `state` are in UTF-16 code units; those
 * of the server are in code points.
 * SPDX-License-Identifier: Apache-2.0
 */
"use strict";

const PAUSE = 1000; /* ms without input before the final translation */
const HISTORY = 50;
const byId = (id) => document.getElementById(id);
const source = byId("source"), output = byId("output"), mirror = byId("mirror"), from = byId("from"), to = byId("to");
const menu = byId("menu"), options = byId("options");
const on = (target, kinds, handler) => kinds.split(" ").forEach((kind) => target.addEventListener(kind, handler));

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/* Local storage that may be missing, full, or disabled. */
const store = {
  works: true,
  get(key, fallback) {
    try {
      return JSON.parse(localStorage.getItem(`serve.${key}`)) ?? fallback;
    } catch {
      return fallback;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`serve.${key}`, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  },
};
store.works = store.set("test", 1);

const state = {
  settings: {}, languages: [], ready: false,
  translation: "", /* what the output shows */
  pair: "", /* the languages of the translation */
  done: null, /* the source text whose translation is complete */
  source: "auto", /* the selected source language */
  detected: null, /* the language code that the server detected */
  sentences: [], /* {source: [begin, end], target: [begin, end], words: [[source begin, end, target begin, end]]} */
  words: { source: [], target: [] }, /* {side, begin, end, element, links: Set of words of the other side} */
  lit: null, /* the word whose alignment is highlighted */
  running: null, /* the AbortController of the current requests */
  changed: 0, /* time of the last input */
};

/* --- Requests --- */

/* Sends a request. Throws an Error with a sentence for the user. A page without a server, examples/browser, defines
   respond(), which replaces fetch(). */
async function call(path, options = {}) {
  let response;
  try {
    response = await (globalThis.respond ?? fetch)(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Check the connection and try again.");
  }
  if (response.ok) return response;
  const said = await response.json().then((body) => body.error, () => "");
  if (response.status === 429) {
    const seconds = Number(response.headers.get("Retry-After"));
    throw new Error(`The server received too many requests. Try again ${seconds ? `in ${seconds} s` : "later"}.`);
  }
  throw new Error(said || `The server reported the status ${response.status}. Try again.`);
}

/* Yields [event, data] for each server-sent event. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, "")).join("\n");
      if (field("data")) yield [field("event"), JSON.parse(field("data"))];
    }
  }
}

/* Translates one text. With `onProgress`, the response is streamed. */
async function translate(text, parameters, signal, onPartial, onProgress) {
  const key = byId("key").value;
  const body = { q: text, source: from.value, target: to.value, format: "text", ...(key && { api_key: key }),
    ...parameters };
  const response = await call("translate", { method: "POST", signal, body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", Accept: onProgress ? "text/event-stream" : "application/json" } });
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  try {
    for await (const [event, data] of events(response.body)) {
      if (signal.aborted) break;
      if (event === "partial") onPartial?.(data.translatedText);
      else if (event === "progress") onProgress(data.done, data.total);
      else if (event === "error") throw new Error(data.error);
      else if (event === "result") return data;
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  signal.throwIfAborted();
  throw new Error("The connection ended before the translation was complete. Try again.");
}

/* --- Translation --- */

const count = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
const languageName = (code) => state.languages.find((one) => one.code === code)?.name ?? code;
const sourceCode = () => (from.value === "auto" ? state.detected : from.value);

/* Shows the status and, if there are several sentences, how many of them are translated. */
function showStatus(text, done = 0, total = 0) {
  byId("status").textContent = text;
  Object.assign(byId("progress"), { hidden: total < 2, max: total || 1, value: done });
}
const showProgress = (done, total) => { if (total > 1) showStatus(`${done} of ${total} sentences`, done, total); };
function showError(error, retry) {
  byId("error").hidden = !error;
  byId("error").firstElementChild.textContent = error?.message ?? "";
  byId("error").lastElementChild.onclick = retry ?? null;
}
function speak(text, lang = "en") {
  byId("spoken").lang = lang;
  byId("spoken").textContent = text;
}
function endRequests() {
  state.running?.abort();
  state.running = null;
  showStatus("");
  showError(null);
}

/* Returns whether there is text of a valid length, and updates everything that depends on the text. */
function checkText() {
  const length = count(source.value), limit = state.settings.charLimit ?? -1;
  const over = limit >= 0 && length > limit, number = (value) => value.toLocaleString("en");
  byId("count").textContent = limit < 0 ? `${number(length)} characters` : `${number(length)} / ${number(limit)}`;
  byId("count").classList.toggle("over", over);
  byId("limit").hidden = !over;
  byId("limit").textContent = over ? `The text has ${number(length)} characters; the limit is ${number(limit)}. ` +
    "Shorten the text or translate it as a file." : "";
  byId("clear").hidden = !source.value;
  byId("translator").classList.toggle("long", length > 240);
  return !over && source.value.trim() !== "";
}

/* Aborts the current requests and translates after a delay, unless more input follows. `keep`: makes the words of an
   earlier translation interactive and does not replace its text. */
function change({ now = false, keep = false } = {}) {
  const valid = checkText(), pair = from.value + to.value;
  if (state.ready) endRequests();
  plain(valid && state.pair === pair ? output.textContent : "");
  Object.assign(state, { pair, done: null });
  if (!valid || !state.ready) return;
  state.changed = performance.now();
  const { signal } = state.running = new AbortController();
  run(signal, now, keep).catch((error) => {
    if (signal.aborted) return;
    endRequests();
    if (state.done !== source.value) plain("", output.textContent);
    showError(error, () => change({ now: true }));
  });
}

const wait = (ms, signal) => new Promise((done, failed) => {
  const timer = setTimeout(done, ms);
  on(signal, "abort", () => { clearTimeout(timer); failed(signal.reason); });
});

async function run(signal, now, keep) {
  const text = source.value, old = state.translation;
  /* The end of the old translation remains visible until it is replaced, so that the text does not flicker. */
  const show = (partial) => plain(partial, old.slice(partial.length));
  if (!keep) {
    await wait(now ? 0 : state.settings.frontendTimeout ?? 300, signal);
    showStatus("Translating …");
    const draft = await translate(text, { beam: 1 }, signal, show, showProgress);
    plain(draft.translatedText);
    state.done = text;
    showDetected(draft.detectedLanguage);
    showStatus("");
    await wait(now ? 0 : PAUSE - (performance.now() - state.changed), signal);
  }
  const result = await translate(text, { alignment: true }, signal, null, showProgress);
  state.running = null;
  endRequests();
  if (keep && result.translatedText !== old) return; /* The user had chosen alternatives. */
  state.translation = result.translatedText;
  showDetected(result.detectedLanguage);
  const at = [text, state.translation].map(offsets);
  state.sentences = (result.alignment ?? []).map((one) => ({
    source: one.source.map(at[0]), target: one.target.map(at[1]),
    words: one.words.map(([a, b, c, d]) => [at[0](a), at[0](b), at[1](c), at[1](d)]),
  }));
  interactive();
  if (keep) return;
  if (state.translation.length < 500) speak(state.translation, to.value);
  else speak("The translation is complete.");
  remember();
}

/* Returns a function from code points to UTF-16 code units. */
function offsets(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => offset;
  const units = [0];
  for (const point of text) units.push(units.at(-1) + point.length);
  return (offset) => units[offset] ?? text.length;
}

function showDetected(detected) {
  if (detected) state.detected = detected.language;
  if (from.value !== "auto") state.detected = null;
  from.options[0].textContent = state.detected ? `${languageName(state.detected)} (detected)` : "Detect language";
  const back = state.languages.find((one) => one.code === to.value)?.targets ?? [];
  byId("swap").disabled = !back.length || Boolean(sourceCode() && !back.includes(sourceCode()));
  source.lang = mirror.lang = sourceCode() ?? "";
  output.lang = to.value;
}

/* --- Words, alignment, and highlights --- */

/* Shows a translation without interactive words, and the end of an old translation in another color. */
function plain(translation, stale = "") {
  closeMenu();
  highlight();
  Object.assign(state, { translation, sentences: [], words: { source: [], target: [] } });
  const text = source.value + "\u200b"; /* With the last character, an empty last line has a height. */
  if (mirror.textContent !== text) mirror.textContent = text;
  output.replaceChildren(...(translation ? [translation] : []));
  if (stale) output.append(make("span", { class: "stale" }, stale));
  byId("copy").disabled = !translation;
}

/* Splits text into words and shows each as an element. */
function split(side, element, text, lang) {
  const words = state.words[side] = [];
  const nodes = [];
  for (const part of new Intl.Segmenter(lang || undefined, { granularity: "word" }).segment(text)) {
    if (!part.isWordLike) {
      nodes.push(part.segment);
      continue;
    }
    const word = { side, begin: part.index, end: part.index + part.segment.length, links: new Set(),
      element: make("span", { class: "word" }, part.segment) };
    word.element.word = word;
    words.push(word);
    nodes.push(word.element);
  }
  element.replaceChildren(...nodes);
  return words;
}

/* Makes the words of both texts interactive. */
function interactive() {
  if (!state.sentences.length) {
    plain(state.translation);
    return;
  }
  closeMenu();
  highlight();
  const words = [split("source", mirror, source.value, source.lang),
    split("target", output, state.translation, to.value)];
  mirror.append("\u200b");
  byId("copy").disabled = false;
  const owners = words.map((side) => { /* the word at each offset */
    const owner = [];
    for (const word of side) for (let at = word.begin; at < word.end; at++) owner[at] = word;
    return owner;
  });
  const within = (owner, begin, end) => new Set(owner.slice(begin, end).filter(Boolean));
  for (const sentence of state.sentences) {
    for (const [a, b, c, d] of sentence.words) {
      for (const one of within(owners[0], a, b)) {
        for (const other of within(owners[1], c, d)) {
          one.links.add(other);
          other.links.add(one);
        }
      }
    }
  }
  if (words[1].length) rove(words[1][0]);
}

/* Highlights a word and those aligned with it. While the menu is open, only its word is highlighted. */
function highlight(word = null) {
  if (word === state.lit || (!menu.hidden && word !== menuWord)) return;
  state.lit = word;
  for (const one of document.querySelectorAll(".word.linked, .word.chosen")) one.className = "word";
  if (!word) return;
  word.element.classList.add("chosen");
  for (const other of word.links) other.element.classList.add("linked");
  const box = byId("source-box"), [first] = word.links; /* On phones, the box of the source text scrolls. */
  if (word.side === "target" && first && box.scrollHeight > box.clientHeight)
    box.scrollTop = first.element.offsetTop - box.clientHeight / 2;
}

/* One word of the translation is in the tab order, and only that word is a button, so that screen readers read the
   translation as text. */
function rove(word) {
  const old = output.querySelector("[tabindex]");
  for (const name of ["tabindex", "role", "aria-haspopup", "aria-describedby"]) old?.removeAttribute(name);
  const attributes = { tabindex: 0, role: "button", "aria-haspopup": "listbox", "aria-describedby": "word-hint" };
  for (const [name, value] of Object.entries(attributes)) word.element.setAttribute(name, value);
}
function focusWord(word) {
  rove(word);
  word.element.focus();
}

on(output, "mouseover focusin", (event) => highlight(event.target.word));
on(output, "mouseleave", () => highlight(document.activeElement.word));
on(output, "focusout", () => highlight());
on(output, "click", (event) => {
  if (event.target.word && getSelection().isCollapsed) openMenu(event.target.word);
});
on(output, "keydown", (event) => {
  const words = state.words.target, index = words.indexOf(event.target.word);
  if (index < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
  const forward = getComputedStyle(output).direction === "rtl" ? -1 : 1;
  const next = { ArrowRight: index + forward, ArrowLeft: index - forward, ArrowDown: index + 1, ArrowUp: index - 1,
    Home: 0, End: words.length - 1 }[event.key];
  if (event.key === "Enter" || event.key === " ") openMenu(words[index]);
  else if (event.key === "Escape") source.focus();
  else if (next !== undefined) focusWord(words[Math.max(0, Math.min(words.length - 1, next))]);
  else return;
  event.preventDefault();
});

/* The source text field is above the mirror, so the word below the pointer is found by its boxes. */
on(source, "mousemove", ({ clientX: x, clientY: y }) => {
  highlight(state.words.source.find((word) => [...word.element.getClientRects()].some((box) =>
    x >= box.left && x <= box.right && y >= box.top && y <= box.bottom)));
});
on(source, "mouseleave blur", () => highlight());
on(document, "selectionchange", () => {
  if (document.activeElement !== source) return;
  const at = source.selectionStart;
  highlight(source.selectionEnd === at ? state.words.source.find((word) => word.begin <= at && at <= word.end) : null);
});

/* --- Alternatives --- */

let menuWord = null, menuRequest = null;

function closeMenu(back = false) {
  if (menu.hidden) return;
  menuRequest?.abort();
  menu.hidden = true;
  menuWord.element.removeAttribute("aria-expanded");
  highlight();
  if (back) menuWord.element.focus();
}

/* Places the menu below the word, inside the pane. */
function placeMenu() {
  const pane = byId("target").getBoundingClientRect(), box = menuWord.element.getClientRects()[0];
  menu.style.left = `${Math.max(8, Math.min(box.left - pane.left - 8, pane.width - menu.offsetWidth - 8))}px`;
  menu.style.top = `${box.bottom - pane.top + 6}px`;
  menu.scrollIntoView({ block: "nearest" });
}

async function openMenu(word) {
  const sentence = state.sentences.find((one) => one.target[0] <= word.begin && word.end <= one.target[1]);
  if (!sentence) return;
  closeMenu();
  rove(word);
  menuWord = word;
  menuRequest = new AbortController();
  const { signal } = menuRequest;
  highlight(word);
  word.element.setAttribute("aria-expanded", "true");
  options.replaceChildren();
  options.removeAttribute("aria-activedescendant");
  options.setAttribute("aria-label", `Alternatives to ${word.element.textContent}`);
  options.lang = to.value;
  byId("menu-note").textContent = "Looking for alternatives …";
  menu.hidden = false;
  options.focus({ preventScroll: true });
  placeMenu();
  const prefix = state.translation.slice(sentence.target[0], word.begin);
  const old = state.translation.slice(...sentence.target);
  try {
    const found = await translate(source.value.slice(...sentence.source),
      { source: sourceCode() ?? "auto", prefix: prefix.trimEnd(), alternatives: 5, beam: 1 }, signal);
    if (signal.aborted) return;
    const texts = [...new Set([found.translatedText, ...found.alternatives ?? []])]
      .filter((text) => text.trim() !== old.trim());
    byId("menu-note").textContent = texts.length ? "" : "No alternatives were found.";
    texts.forEach((text, index) => {
      /* The prefix is not repeated, except the beginning of a word that the alternative continues. */
      const begin = text.startsWith(prefix) ? prefix.length : text.lastIndexOf(" ", prefix.trimEnd().length - 1) + 1;
      const [first = "", rest = ""] = text.slice(begin).match(/^\s*(\S+)([^]*)/)?.slice(1) ?? [];
      const option = make("li", { role: "option", id: `option-${index}` },
        make("b", {}, first || "(end of the sentence)"), rest);
      on(option, "click", () => choose(sentence, text, word.begin));
      options.append(option);
    });
    if (texts.length) select(0);
  } catch (error) {
    if (signal.aborted) return;
    byId("menu-note").textContent = error.message;
  }
  placeMenu();
}

function select(index) {
  [...options.children].forEach((option, at) => option.setAttribute("aria-selected", at === index));
  options.setAttribute("aria-activedescendant", `option-${index}`);
}
on(options, "keydown", (event) => {
  const last = options.children.length - 1;
  const now = [...options.children].findIndex((option) => option.getAttribute("aria-selected") === "true");
  const next = { ArrowDown: (now + 1) % (last + 1), ArrowUp: now <= 0 ? last : now - 1, Home: 0, End: last }[event.key];
  if (event.key === "Escape") closeMenu(true);
  else if (event.ctrlKey || event.altKey || event.metaKey) return;
  else if ((event.key === "Enter" || event.key === " ") && now >= 0) options.children[now].click();
  else if (next !== undefined && last >= 0) select(next);
  else return;
  event.preventDefault();
});
on(menu, "focusout", (event) => { if (!menu.contains(event.relatedTarget)) closeMenu(); });

/* Replaces a sentence of the translation, then requests the alignment of its new text. */
async function choose(sentence, text, begin) {
  const { sentences, translation } = state;
  const added = text.length - (sentence.target[1] - sentence.target[0]);
  state.translation = translation.slice(0, sentence.target[0]) + text + translation.slice(sentence.target[1]);
  for (const one of sentences.slice(sentences.indexOf(sentence) + 1)) {
    one.target = one.target.map((at) => at + added);
    one.words = one.words.map(([a, b, c, d]) => [a, b, c + added, d + added]);
  }
  sentence.target[1] += added;
  sentence.words = [];
  const show = () => {
    interactive();
    const word = state.words.target.findLast((one) => one.begin <= begin) ?? state.words.target[0];
    if (word) focusWord(word);
  };
  show();
  speak(text, to.value);
  remember();
  const own = state.running = new AbortController();
  try {
    const original = source.value.slice(...sentence.source);
    const found = await translate(original,
      { source: sourceCode() ?? "auto", prefix: text, alignment: true, beam: 1 }, own.signal);
    if (own === state.running) state.running = null;
    if (own.signal.aborted || state.sentences !== sentences || !found.translatedText.startsWith(text)) return;
    const at = [original, found.translatedText].map(offsets), [s, t] = [sentence.source[0], sentence.target[0]];
    sentence.words = (found.alignment ?? []).flatMap((one) => one.words).map(([a, b, c, d]) =>
      [s + at[0](a), s + at[0](b), t + at[1](c), t + Math.min(at[1](d), text.length)]);
    if (menu.hidden && output.contains(document.activeElement)) {
      begin = document.activeElement.word.begin;
      show();
    } else if (menu.hidden) interactive();
  } catch (error) {
    if (!own.signal.aborted) showError(error, () => { showError(null); choose(sentence, text, begin); });
  }
}

/* --- History --- */

let entries = store.get("history", []);

/* Adds the current translation. It replaces the newest entry if the user only continued that text. */
function remember() {
  if (!byId("keep").checked) return;
  const entry = { text: source.value, translation: state.translation, from: from.value, detected: state.detected,
    to: to.value, time: Date.now() };
  const last = entries[0], { text } = entry;
  const continued = last && last.to === entry.to && (text.startsWith(last.text) || last.text.startsWith(text));
  entries = [entry, ...entries.slice(continued ? 1 : 0).filter((one) => one.text !== text || one.to !== entry.to)]
    .slice(0, HISTORY);
  saveHistory();
}

function saveHistory() {
  /* If the storage is full, the older half of the entries is deleted. */
  while (!store.set("history", entries) && store.works && entries.length > 1) entries.length >>= 1;
  byId("history-count").textContent = entries.length ? `(${entries.length})` : "";
  byId("forget").hidden = !entries.length;
  byId("history-note").textContent = !byId("keep").checked ? "The history is off." : store.works ?
    `The last ${HISTORY} translations are stored only in this browser. Turning the history off deletes them.` :
    "This browser does not store data for this page. The history ends when the page is closed.";
  byId("entries").replaceChildren(...entries.map((one) => {
    const codes = one.from === "auto" ? one.detected : one.from;
    const entry = make("button", { class: "entry", type: "button" },
      make("span", { class: "muted" }, `${languageName(codes ?? "auto")} → ${languageName(one.to)}`),
      make("span", { lang: codes ?? "" }, one.text.slice(0, 200)),
      make("span", { lang: one.to, class: "muted" }, one.translation.slice(0, 200)));
    const remove = crossButton(`Delete ${one.text.slice(0, 60)}`, "Delete");
    on(entry, "click", () => restore(one));
    on(remove, "click", () => {
      entries = entries.filter((other) => other !== one);
      saveHistory();
      (byId("entries").querySelector(".icon") ?? byId("keep")).focus();
    });
    return make("li", {}, entry, remove);
  }));
}

const crossButton = (label, title) => make("button", { class: "icon", type: "button", "aria-label": label, title },
  byId("clear").firstElementChild.cloneNode(true));

function restore(entry) {
  chooseLanguages(entry.from, entry.to);
  source.value = entry.text;
  output.textContent = entry.translation;
  state.pair = from.value + to.value;
  showDetected(entry.detected && { language: entry.detected });
  change({ now: true, keep: true });
  source.focus();
  scrollTo(0, 0);
}

function clearHistory() {
  entries = [];
  saveHistory();
  byId("keep").focus();
}
on(byId("forget"), "click", clearHistory);
on(byId("keep"), "change", () => {
  store.set("keep", byId("keep").checked);
  clearHistory();
});

/* --- Languages --- */

/* Selects two languages, if the server has them, and disables the targets that the source does not have. */
function chooseLanguages(source, target) {
  const has = (select, code) => [...select.options].some((one) => one.value === code && !one.disabled);
  if (has(from, source)) from.value = source;
  const targets = state.languages.find((one) => one.code === from.value)?.targets;
  if (to.value === from.value && state.source !== "auto") target = state.source;
  state.source = from.value;
  for (const one of to.options)
    one.disabled = Boolean(targets) && (!targets.includes(one.value) || one.value === from.value);
  if (has(to, target)) to.value = target;
  if (!has(to, to.value)) to.value = [...to.options].find((one) => !one.disabled)?.value ?? to.value;
  if (from.value !== "auto") state.detected = null;
  showDetected(null);
  store.set("languages", [from.value, to.value]);
}

function swap() {
  if (byId("swap").disabled) return;
  const [old, target] = [sourceCode() ?? state.settings.language?.source?.code, to.value];
  if (state.translation) source.value = state.translation;
  chooseLanguages(target, old);
  change({ now: true });
}

on(byId("translator").firstElementChild, "change", () => {
  chooseLanguages(from.value, to.value);
  change({ now: true });
});
on(byId("swap"), "click", swap);

/* --- Files --- */

function translateFile(file) {
  const said = make("span", { role: "status" }), end = crossButton(`Remove ${file.name}`, "Remove");
  const row = make("li", {}, make("b", {}, file.name), said, end);
  const controller = new AbortController();
  on(end, "click", () => {
    controller.abort();
    row.remove();
    byId("files").hidden = !byId("files").children.length;
    byId("file-open").focus();
  });
  byId("files").append(row);
  byId("files").hidden = false;
  const fail = (...children) => {
    row.className = "failed";
    said.replaceChildren(...children);
  };
  const formats = state.settings.supportedFilesFormat ?? [];
  if (!formats.some((ending) => file.name.toLowerCase().endsWith(ending))) {
    fail(`The server does not translate files of this type. Choose a file with ${formats.join(", ")}.`);
    return;
  }
  const attempt = async () => {
    row.className = "";
    said.textContent = "Translating …";
    const form = new FormData(), key = byId("key").value;
    const fields = { file, source: from.value, target: to.value, ...(key && { api_key: key }) };
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    try {
      const response = await call("translate_file", { method: "POST", body: form, signal: controller.signal });
      /* Only the path is used: behind a proxy, the server may have another name. */
      const { pathname } = new URL((await response.json()).translatedFileUrl, location.href);
      const download = file.name.replace(/\.[^.]*$/, `.${form.get("target")}$&`);
      said.replaceChildren(make("a", { href: pathname, download }, "Download the translation"));
    } catch (error) {
      if (controller.signal.aborted) return;
      const again = make("button", { class: "plain", type: "button" }, "Retry");
      on(again, "click", attempt);
      fail(error.message, again);
    }
  };
  attempt();
}

on(byId("file-open"), "click", () => byId("file").click());
on(byId("file"), "change", () => {
  for (const file of byId("file").files) translateFile(file);
  byId("file").value = "";
});
on(window, "dragover dragleave drop", (event) => {
  if (!state.settings.filesTranslation || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  const inside = event.type === "dragover" || (event.type === "dragleave" && event.relatedTarget !== null);
  document.body.classList.toggle("dropping", inside);
  if (event.type === "drop") for (const file of event.dataTransfer.files) translateFile(file);
});

/* --- Controls --- */

async function copy() {
  if (byId("copy").disabled) return;
  const label = byId("copy").lastElementChild;
  try {
    await navigator.clipboard.writeText(state.translation);
  } catch { /* Without a secure context, browsers have no clipboard object. */
    getSelection().selectAllChildren(output);
    document.execCommand("copy");
    getSelection().removeAllRanges();
  }
  label.textContent = "Copied";
  speak("Copied");
  setTimeout(() => { label.textContent = "Copy"; }, 1500);
}

function otherTheme() {
  const isDark = (document.documentElement.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";
  byId("theme").textContent = isDark ? "Light" : "Dark";
  return isDark ? "light" : "dark";
}
const systemDark = matchMedia("(prefers-color-scheme: dark)");
if (store.get("theme", "")) document.documentElement.dataset.theme = store.get("theme", "");
otherTheme();
on(systemDark, "change", otherTheme);
on(byId("theme"), "click", () => {
  store.set("theme", document.documentElement.dataset.theme = otherTheme());
  otherTheme();
});

on(source, "input", () => change());
on(byId("clear"), "click", () => {
  source.value = "";
  state.detected = null;
  showDetected(null);
  change();
  source.focus();
});
on(byId("copy"), "click", copy);
on(byId("key-field"), "submit", (event) => event.preventDefault());
on(byId("key"), "change", () => {
  store.set("key", byId("key").value);
  change({ now: true });
});
on(byId("help-open"), "click", () => byId("help").showModal());
on(byId("help-close"), "click", () => byId("help").close());
on(window, "keydown", (event) => {
  const command = event.ctrlKey || event.metaKey;
  if (byId("help").open) return;
  if (event.key === "Enter" && command && event.shiftKey) copy();
  else if (event.key === "Enter" && command) change({ now: true });
  else if (event.key === "Enter" && event.altKey) swap();
  else if (event.key === "/" && command) byId("help").showModal();
  else return;
  event.preventDefault();
});
on(window, "online", () => { if (!byId("error").hidden) byId("error").lastElementChild.click(); });

async function start() {
  showError(null);
  const [settings, languages] = await Promise.all(["frontend/settings", "languages"].map((path) =>
    call(path).then((response) => response.json())));
  Object.assign(state, { settings, languages, ready: true });
  const show = (one) => make("option", { value: one.code }, one.name);
  from.replaceChildren(from.options[0], ...languages.filter((one) => one.targets.length).map(show));
  to.replaceChildren(...languages.filter((one) =>
    languages.some((other) => other.targets.includes(one.code))).map(show));
  chooseLanguages(settings.language?.source?.code, settings.language?.target?.code);
  chooseLanguages(...store.get("languages", []));
  byId("key-field").hidden = !settings.keyRequired;
  byId("file-open").hidden = byId("file").hidden = !settings.filesTranslation;
  byId("file").accept = (settings.supportedFilesFormat ?? []).join(",");
  saveHistory();
  change();
}
const tryStart = () => start().catch((error) => showError(error, tryStart));

byId("key").value = store.get("key", "");
byId("keep").checked = store.get("keep", true);
if (!matchMedia("(pointer: coarse)").matches) source.focus(); /* On a phone, the focus would open the keyboard. */
saveHistory();
tryStart();
