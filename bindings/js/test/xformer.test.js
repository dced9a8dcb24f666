// Tests of xformer.js in Node.js: `npm test` after xformer.wasm was built. XFORMER_MODEL: another model file.
//
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load, Translator, XformerError } from "../xformer.js";

const file = process.env.XFORMER_MODEL ?? new URL("../../../examples/translate/en-de.xf", import.meta.url);
const model = readFileSync(file);
// The same sentences as in the guides and programs of the repository.
const kSentences = {
  "Choose File - Save.": "Wählen Sie Datei – Speichern.",
  "The file could not be found.": "Die Datei konnte nicht gefunden werden.",
  "Do you want to save the changes?": "Möchten Sie die Änderungen speichern?",
  "The password is wrong.": "Das Passwort ist falsch.",
};
const status = (name) => (error) => error instanceof XformerError && error.status === name && error.message !== "";

test("translates the sentences of the guides", async () => {
  const translator = await load(model);
  const results = await Promise.all(Object.keys(kSentences).map((text) => translator.translate(text)));
  assert.deepEqual(results.map((result) => result.text), Object.values(kSentences));
  const begun = await translator.translate("Open the file.", { prefix: "Bitte" });
  assert.equal(begun.text, "Bitte öffnen Sie die Datei.");
  for (const result of results) {
    assert.ok(result.finished && result.complete && result.score < 0);
    assert.equal(result.tokenLogProbabilities.length, result.ids.length + 1);
    assert.deepEqual(result.hypotheses.length, 1);
  }
  translator.close();
});

test("int8 weights translate", async () => {
  const translator = await load(model, { weights: "int8", beam: 1 });
  assert.equal((await translator.translate("The password is wrong.")).text, "Das Passwort ist falsch.");
});

test("one text has the same numbers as many", async () => {
  const translator = await load(model);
  const texts = Object.keys(kSentences);
  const together = await Promise.all(texts.map((text) => translator.translate(text)));
  for (const [i, text] of texts.entries()) assert.deepEqual(await translator.translate(text), together[i]);
});

test("options select beam, alternatives, and alignment", async () => {
  const translator = await load(model);
  const text = "😀 Choose File - Save.";
  const result = await translator.translate(text, { beam: 4, nBest: 3, alignment: true });
  assert.equal(result.hypotheses.length, 3);
  assert.ok(result.hypotheses[0].score >= result.hypotheses[1].score);
  assert.equal(result.alignment.length, result.ids.length);
  assert.equal(result.textEnds.at(-1), result.text.length);
  assert.equal(Math.max(...result.sourceEnds), text.length);
  for (const index of result.alignment) assert.ok(index >= -1 && index < result.sourceEnds.length);
});

test("alternatives begin with different tokens after the prefix", async () => {
  const translator = await load(model);
  const options = { prefix: "Möchten Sie", alternatives: 4 };
  const { hypotheses } = await translator.translate("Do you want to save the changes?", options);
  assert.equal(hypotheses[0].text, "Möchten Sie die Änderungen speichern?");
  assert.equal(new Set(hypotheses.map((one) => one.text)).size, 4);
  assert.ok(hypotheses.every((one) => one.text.startsWith(options.prefix)));
});

test("splits sentences and keeps string offsets", async () => {
  const translator = await load(model);
  const text = " Dr. Müller is here. 😀 Yes!\n\nA line\nAnother one ";
  const parts = (options) => translator.splitSentences(text, options).map((span) => text.slice(...span));
  assert.deepEqual(parts({ language: "en" }), ["Dr. Müller is here.", "😀 Yes!", "A line", "Another one"]);
  assert.ok(parts({ maxCharacters: 5 }).every((part) => [...part].length <= 5));
  assert.deepEqual(translator.splitSentences(""), []);
  assert.throws(() => translator.splitSentences(1), status("XF_ERROR_INVALID_ARGUMENT"));
  assert.throws(() => translator.splitSentences("a", { maxCharacters: -1 }), status("XF_ERROR_INVALID_ARGUMENT"));
});

test("attention has one distribution for each query", async () => {
  const translator = await load(model, { weights: "int8" });
  assert.equal(translator.option("model.decoder_layers"), "3");
  assert.throws(() => translator.option("model.layerz"), status("XF_ERROR_NOT_FOUND"));
  const [source, target] = Object.entries(kSentences)[1];
  for (const kind of ["encoder", "decoder", "cross"]) {
    const { layers, layer, heads, queries, keys, weights } = translator.attention(source, target, { kind });
    assert.deepEqual([layers, layer, heads], [3, 2, 4]);
    assert.equal(weights.length, heads * queries.length * keys.length);
    for (let row = 0; row < heads * queries.length; ++row) {
      const sum = weights.subarray(row * keys.length, (row + 1) * keys.length).reduce((a, b) => a + b);
      assert.ok(Math.abs(sum - 1) < 1e-5);
    }
  }
  const { queries, keys } = translator.attention(source, target);
  const plain = (pieces) => pieces.slice(0, -1).join("").replaceAll("▁", " ").trim();
  assert.deepEqual([plain(keys), plain(queries)], [source, target]);
  assert.throws(() => translator.attention(source, target, { layer: 3 }), status("XF_ERROR_OUT_OF_RANGE"));
  assert.throws(() => translator.attention(source, target, { kind: "all" }), status("XF_ERROR_INVALID_ARGUMENT"));
  assert.throws(() => translator.attention("word ".repeat(3000), target), status("XF_ERROR_OUT_OF_RANGE"));
});

test("onToken receives growing beginnings of the result", async () => {
  const translator = await load(model);
  const seen = [];
  const result = await translator.translate("The file could not be found.", { beam: 1, onToken: (p) => seen.push(p) });
  assert.ok(seen.length > 2);
  for (const partial of seen) {
    assert.ok(result.text.startsWith(partial.text) && !partial.complete);
    assert.deepEqual(partial.ids, result.ids.slice(0, partial.ids.length));
  }
  const stopped = translator.translate("The file could not be found.", {
    onToken() {
      throw new RangeError("enough");
    },
  });
  await assert.rejects(stopped, RangeError);
});

test("a signal ends a translation, and the page stays responsive", async () => {
  const translator = await load(model);
  const long = "Choose File - Save. ".repeat(20);
  await assert.rejects(translator.translate(long, { signal: AbortSignal.abort() }), { name: "AbortError" });
  const controller = new AbortController();
  const ended = translator.translate(long, { signal: controller.signal, onToken: () => controller.abort() });
  const other = translator.translate("The password is wrong.");
  let timers = 0;
  const timer = setInterval(() => ++timers, 1);
  await assert.rejects(ended, { name: "AbortError" });
  assert.equal((await other).text, "Das Passwort ist falsch.");
  clearInterval(timer);
  assert.ok(timers > 0);
});

test("a deadline returns what was found", async () => {
  const translator = await load(model);
  const text = "Choose File - Save. ".repeat(30);
  const result = await translator.translate(text, { deadline: 30 }).catch((error) => error);
  assert.ok(result.complete === false || result.status === "XF_ERROR_DEADLINE");
});

test("trains, saves, and loads the trained model", async () => {
  const translator = await load(model);
  const pairs = Array.from({ length: 8 }, () => ["The frobnicator is broken.", "Der Frobnikator ist kaputt."]);
  const losses = [];
  const onStep = (stats) => void losses.push(stats.nll);
  const last = await translator.train(pairs, { steps: 12, learningRate: 5e-4, onStep });
  assert.equal(last.step, 12);
  assert.equal(losses.length, 12);
  assert.ok(losses.at(-1) < losses[0] / 2, `${losses}`);
  const result = await translator.translate(pairs[0][0]);
  const saved = translator.save({ weights: "fp16" });
  assert.ok(Math.abs(saved.length - model.length) < 65536, `${saved.length}`);
  const again = await load(saved);
  assert.equal((await again.translate(pairs[0][0])).text, result.text);
});

test("an int8 file is trained", async () => {
  const small = (await load(model)).save({ weights: "int8" });
  assert.ok(small.length < 0.6 * model.length);
  const translator = await load(small, { weights: "int8" });
  const pair = ["The printer is out of paper.", "Der Drucker hat kein Papier mehr."];
  assert.notEqual((await translator.translate(pair[0])).text, pair[1]);
  const last = await translator.train([pair], {
    steps: 40,
    learningRate: 1e-4,
    config: { "train.dropout": 0, "train.label_smoothing": 0 },
    onStep: ({ loss }) => loss > 0.15, // false ends the training and keeps its result
  });
  assert.ok(last.step > 3 && last.step < 40 && last.loss <= 0.15, JSON.stringify(last));
  assert.equal((await translator.translate(pair[0])).text, pair[1]);
  assert.ok(translator.save({ weights: "int8" }).length < small.length + 65536);
});

test("training that is aborted changes nothing", async () => {
  const translator = await load(model);
  const before = await translator.translate("The password is wrong.");
  const controller = new AbortController();
  const training = translator.train([["a", "b"]], { signal: controller.signal, onStep: () => controller.abort() });
  await assert.rejects(translator.train([["a", "b"]]), status("XF_ERROR_BUSY"));
  await assert.rejects(training, { name: "AbortError" });
  assert.deepEqual(await translator.translate("The password is wrong."), before);
  await translator.train([["a", "b"]], { steps: 1 });
});

test("errors have a status and a message", async () => {
  await assert.rejects(load(new Uint8Array(100)), status("XF_ERROR_CORRUPT"));
  await assert.rejects(load(model.subarray(0, model.length - 1)), status("XF_ERROR_CORRUPT"));
  await assert.rejects(load("en-de.xf"), status("XF_ERROR_INVALID_ARGUMENT"));
  await assert.rejects(load(model, { config: { "decode.bem": 1 } }), status("XF_ERROR_NOT_FOUND"));
  await assert.rejects(load(model, { beam: 0 }), status("XF_ERROR_OUT_OF_RANGE"));
  await assert.rejects(load(model, { config: { "context.memory_budget": 1000 } }), status("XF_ERROR_NO_MEMORY"));
  const translator = await load(model);
  await assert.rejects(translator.translate(1), status("XF_ERROR_INVALID_ARGUMENT"));
  await assert.rejects(translator.translate("x", { beam: 1e9 }), status("XF_ERROR_OUT_OF_RANGE"));
  await assert.rejects(translator.translate("word ".repeat(1e5)), status("XF_ERROR_OUT_OF_RANGE"));
  await assert.rejects(translator.train([["a"]]), status("XF_ERROR_INVALID_ARGUMENT"));
  await assert.rejects(translator.train([]), status("XF_ERROR_DATA"));
  assert.throws(() => translator.save({ weights: "int4" }), status("XF_ERROR_OUT_OF_RANGE"));
  assert.throws(() => new Translator(), status("XF_ERROR_INVALID_ARGUMENT"));
  assert.equal((await translator.translate("")).text, "");
  assert.ok((await translator.translate("\ud800 \0 x")).finished);
  const waiting = translator.translate("The password is wrong.");
  translator.close();
  await assert.rejects(waiting, status("XF_ERROR_CANCELLED"));
  await assert.rejects(translator.translate("x"), status("XF_ERROR_STATE"));
});

test("damaged files are errors", async () => {
  // Each instance has its own memory, so a trap would be visible as another class of error.
  let seed = 1;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
  const header = Number(new DataView(model.buffer, model.byteOffset).getBigUint64(0, true)) + 8;
  for (let i = 0; i < 12; ++i) {
    const bytes = Uint8Array.from(model);
    for (let j = 0; j <= i % 4; ++j) bytes[random(i % 2 ? header : bytes.length)] ^= 1 << random(8);
    await assert.rejects(load(bytes), (error) => error instanceof XformerError && error.status !== "XF_ERROR_INTERNAL");
  }
  const sizes = [2n ** 32n, 2n ** 32n + 100n, 2n ** 63n, 2n ** 64n - 8n];
  for (const size of sizes) {
    const bytes = Uint8Array.from(model);
    new DataView(bytes.buffer).setBigUint64(0, size, true);
    await assert.rejects(load(bytes), status("XF_ERROR_CORRUPT"));
  }
});
