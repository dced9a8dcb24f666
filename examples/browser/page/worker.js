// Translates, aligns, and learns for the page, with libxformer as WebAssembly. The functions are called by engine.js;
// those with the names of requests of examples/serve have the same parameters and results. The model is int8 in
// memory; learning trains an fp32 copy, and what is saved is its fp16 form.
//
// SPDX-License-Identifier: Apache-2.0
import { compile } from "./wasm.js";
import { load } from "./xformer.js";
import { alignedWords, codePoints } from "./words.js";

const kWindow = 32; // sentences in the engine; the first ones report partial translations
const kPartialMs = 25; // between two partial translations
const kMostBytes = 500; // of a sentence; longer ones are divided
const kNoLanguages = { source: "und", target: "qaa" }; // of a model with an unknown pair
const kCache = "xformer-models", kKept = "kept.xf", kOwn = "own.xf"; // what the user keeps in this browser
const kLearn = { steps: 40, learningRate: 1e-4, loss: 0.15 }; // at most so many steps, until the loss is so low

let translator;
let model; // {name, bytes, learned: [[source, target]], own, kept, original(): the bytes of the file}

compile().catch(() => {}); // the library is compiled while the model is loaded; load() reports an error

/* --- The model --- */

const notify = (event, data) => postMessage({ id: 0, event, data });

async function fetchFile(path) {
  const response = await fetch(path).catch(() => null);
  if (!response) throw new Error(`${path} cannot be loaded without a connection. Connect and try again.`);
  if (!response.ok) throw new Error(`${path} was not loaded: the status is ${response.status}, expected 200.`);
  return response;
}

async function download(path) {
  const response = await fetchFile(path);
  const total = Number(response.headers.get("Content-Length"));
  if (!total || response.headers.has("Content-Encoding")) return response.arrayBuffer();
  const bytes = new Uint8Array(total); // a longer file is a RangeError, a shorter one is damaged
  let done = 0;
  for (const reader = response.body.getReader(); ; ) {
    const part = await reader.read();
    if (part.done) return bytes;
    bytes.set(part.value, done);
    done += part.value.length;
    notify("download", { done, total });
  }
}

/** Replaces the model, or throws and keeps the earlier one. */
async function use(bytes, about) {
  const loaded = await load(bytes, { weights: "int8" });
  translator?.close();
  translator = loaded;
  model = { learned: [], own: false, kept: false, ...about, bytes: bytes.byteLength };
}

const stored = async (key) => (await globalThis.caches?.open(kCache))?.match(key);

async function openFirst() {
  const original = () => download("model.xf");
  const kept = await stored(kKept).catch(() => undefined);
  if (kept) {
    try {
      const what = JSON.parse(decodeURIComponent(kept.headers.get("X-About")));
      const own = async () => (await stored(kOwn)).arrayBuffer();
      return await use(await kept.arrayBuffer(), { ...what, kept: true, original: what.own ? own : original });
    } catch {
      await caches.delete(kCache); // it was damaged
    }
  }
  const [bytes, { name }] = await Promise.all([original(), fetchFile("model.json").then((file) => file.json())]);
  return use(bytes, { name, original });
}

let first; // a promise: the first model is loaded once
async function ready() {
  first ??= openFirst();
  first.catch(() => (first = undefined)); // the next request tries again
  await first;
}

/** Languages of the model by code, with the names that the model has for them; empty: it has one pair. */
function multilingual() {
  const names = translator.option("model.languages").split(",").map((one) => one.split("=")[0]).filter(Boolean);
  return new Map(names.map((name) => [name.match(/[a-z]{2,3}/)?.[0] ?? name, name]));
}

function pair() {
  const [, source, target] = /^([a-z]{2,3})-([a-z]{2,3})\b/.exec(model.name) ?? [];
  return source ? { source, target } : kNoLanguages;
}

const about = () => ({ name: model.name, bytes: model.bytes, learned: model.learned, own: model.own, kept: model.kept,
  layers: Number(translator.option("model.decoder_layers")), heads: Number(translator.option("model.heads")) });

async function keep(on) {
  await caches.delete(kCache);
  if (on) {
    const cache = await caches.open(kCache);
    const { name, own, learned } = model;
    const headers = { "X-About": encodeURIComponent(JSON.stringify({ name, own, learned })) };
    await cache.put(kKept, new Response(learned.length ? translator.save({ weights: "fp16" }) : await model.original(),
      { headers }));
    if (own) await cache.put(kOwn, new Response(await model.original()));
  }
  model.kept = on;
}

/* --- Translation --- */

function languagesOf({ source, target }) {
  const known = multilingual();
  if (!known.size) return { code: pair().source === kNoLanguages.source ? "" : pair().source, languages: {} };
  const code = known.has(source) ? source : known.keys().next().value;
  return { code, languages: { sourceLanguage: known.get(code), targetLanguage: known.get(target) } };
}

/** Sentences of a text. Long ones are divided: in the worst case, each byte is a token. */
function split(text, language) {
  const most = Math.min(kMostBytes, Number(translator.option("model.max_length")) - 4);
  const divide = ([begin, end]) => {
    const sentence = text.slice(begin, end);
    const bytes = new TextEncoder().encode(sentence).length;
    const characters = [...sentence].length;
    if (bytes <= most || characters === 1) return [[begin, end]];
    const maxCharacters = Math.max(1, Math.floor(0.9 * characters * most / bytes));
    return translator.splitSentences(sentence, { language, maxCharacters })
      .flatMap((span) => divide(span.map((at) => at + begin)));
  };
  return translator.splitSentences(text, { language }).flatMap(divide);
}

async function translate({ q, source, target, beam, prefix, alternatives, alignment }, { signal, send }) {
  const { code, languages } = languagesOf({ source, target });
  const spans = prefix === undefined ? split(q, code) : [[0, q.length]];
  const results = [];
  const streamed = [];
  let shown = 0;
  let next = 0;
  let last = 0;
  const join = (count, rest = "", choice = 0) => {
    let text = "";
    let at = 0;
    for (const [index, [begin, end]] of spans.slice(0, count).entries()) {
      const result = results[index];
      text += q.slice(at, begin) + (result ? result.hypotheses[choice] ?? result.hypotheses[0] : { text: rest }).text;
      at = end;
    }
    return text;
  };
  const report = () => {
    while (results[shown]) ++shown;
    const now = performance.now();
    if (shown === spans.length || now < last + kPartialMs) return;
    last = now;
    send("partial", { index: 0, translatedText: join(shown + 1, streamed[shown]?.text ?? "") });
  };
  const one = async (index) => {
    const text = q.slice(...spans[index]);
    if (!/\p{L}/u.test(text)) return { text, hypotheses: [{ text }], alignment: [] };
    const search = alternatives === undefined ? { beam }
      : prefix !== undefined ? { alternatives: alternatives + 1 }
      : { beam: Math.max(beam ?? 4, alternatives + 1), nBest: alternatives + 1 };
    return translator.translate(text, { ...languages, ...search, alignment, prefix, signal: ended.signal,
      onToken: send && index < kWindow ? (partial) => { streamed[index] = partial; if (index === shown) report(); }
        : undefined });
  };
  const ended = new AbortController(); // of the other sentences when one fails
  const abort = () => ended.abort(signal.reason);
  signal.addEventListener("abort", abort);
  const work = async () => {
    while (next < spans.length) {
      const index = next++;
      results[index] = await one(index);
      if (!send) continue;
      send("progress", { done: results.filter(Boolean).length, total: spans.length });
      report();
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(kWindow, spans.length) }, work));
  } catch (error) {
    ended.abort();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
  const end = q.slice(spans.at(-1)?.[1] ?? 0);
  const whole = (choice) => join(spans.length, "", choice) + end;
  const translatedText = whole(0);
  const reply = { translatedText };
  if (source === "auto") reply.detectedLanguage = { language: code, confidence: 0 };
  if (alternatives !== undefined) {
    const texts = Array.from({ length: alternatives }, (_, index) => whole(index + 1));
    reply.alternatives = [...new Set(texts)].filter((text) => text !== translatedText);
  }
  if (alignment) {
    const from = codePoints(q), to = codePoints(translatedText);
    let at = 0;
    let before = 0;
    reply.alignment = results.map((result, index) => {
      const [begin, finish] = spans[index];
      const target = at + begin - before; // the white space between two sentences is that of the source
      at = target + result.text.length;
      before = finish;
      return { source: [from(begin), from(finish)], target: [to(target), to(at)],
        words: alignedWords(q.slice(begin, finish), result).map(([a, b, c, d]) =>
          [from(begin + a), from(begin + b), to(target + c), to(target + d)]) };
    });
  }
  return reply;
}

/* --- Learning --- */

/**
 * Fine-tunes the model with a pair, and again with the earlier ones, so that it does not forget them. Reports how many
 * of `others`, which were not learned, are translated as before.
 */
async function learn({ source, target, others, languages: codes }, { signal, send }) {
  const { languages } = languagesOf(codes);
  const translateAll = async () => {
    const results = await Promise.all([translator.translate(source, languages),
      ...texts.map((text) => translator.translate(text, { ...languages, beam: 1 }))]);
    return results.map((result) => result.text);
  };
  const known = new Map(model.learned).set(source, target);
  const texts = others.filter((text) => !known.has(text));
  const [before, ...kept] = await translateAll();
  const begin = performance.now();
  await translator.train(known, { steps: kLearn.steps, learningRate: kLearn.learningRate, signal,
    config: { "train.dropout": 0, "train.label_smoothing": 0, "text.source_language": languages.sourceLanguage,
      "text.target_language": languages.targetLanguage },
    onStep: ({ step, loss }) => {
      send?.("step", { step, steps: kLearn.steps, loss });
      return loss > kLearn.loss;
    } });
  const seconds = (performance.now() - begin) / 1000;
  model.learned = [...known];
  const [after, ...now] = await translateAll();
  if (model.kept) await keep(true);
  const same = now.filter((text, index) => text === kept[index]).length;
  return { before, after, seconds, same, checked: texts.length, model: about() };
}

/* --- Calls --- */

const calls = {
  "frontend/settings": async () => ({ charLimit: -1, frontendTimeout: 150, filesTranslation: false,
    supportedFilesFormat: [], keyRequired: false,
    language: multilingual().size ? {} : { source: { code: pair().source }, target: { code: pair().target } } }),
  async languages() {
    const known = [...multilingual().keys()];
    const names = new Intl.DisplayNames("en", { type: "language", fallback: "code" });
    if (known.length)
      return known.map((code) => ({ code, name: names.of(code), targets: known.filter((other) => other !== code) }));
    const { source, target } = pair();
    const name = (code) => ({ und: "Source", qaa: "Translation" })[code] ?? names.of(code);
    return [{ code: source, name: name(source), targets: [target] }, { code: target, name: name(target), targets: [] }];
  },
  translate,
  learn,
  about,
  best: async ({ source, count, languages }, { signal }) => {
    const search = { ...languagesOf(languages).languages, beam: count, nBest: count, signal };
    return (await translator.translate(source, search)).hypotheses.map(({ text, score }) => ({ text, score }));
  },
  attention: ({ source, target, layer, languages }) =>
    translator.attention(source, target, { layer, ...languagesOf(languages).languages }),
  open: async ({ file }) => {
    const name = file.name.replace(/\.[^.]*$/, "");
    try {
      await use(await file.arrayBuffer(), { name, own: true, original: () => file.arrayBuffer() });
    } catch (error) {
      throw new Error(error.message.replace("'memory'", `'${file.name}'`)); // the library has no name for it
    }
    return about();
  },
  restore: async () => {
    const { kept, ...same } = model;
    await use(await model.original(), { ...same, learned: [] });
    if (kept) await keep(model.own);
    return about();
  },
  keep: async ({ on }) => {
    await keep(on);
    return about();
  },
  save: () => translator.save({ weights: "fp16" }),
};

const running = new Map(); // AbortControllers by id of the call

addEventListener("message", async ({ data: { id, name, values, events, abort } }) => {
  if (abort) return running.get(id)?.abort();
  const controller = new AbortController();
  running.set(id, controller);
  const send = events ? (event, data) => postMessage({ id, event, data }) : undefined;
  try {
    await ready();
    const result = await calls[name](values, { signal: controller.signal, send });
    postMessage({ id, result });
  } catch (error) {
    const trap = error instanceof WebAssembly.RuntimeError;
    if (trap) first = undefined; // the memory may be inconsistent
    postMessage({ id, error: trap ? "The translator failed. The next text starts it again." : error.message });
  } finally {
    running.delete(id);
  }
});
