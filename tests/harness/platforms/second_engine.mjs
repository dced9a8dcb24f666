// Prints in Node.js what second_engine.py prints in wasmtime.
//
//     node second_engine.mjs en-de.xf small.test.tsv
//
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { load } from "../../../bindings/js/xformer.js";

const model = readFileSync(process.argv[2]);
const texts = readFileSync(process.argv[3], "utf8").split("\n").slice(0, 40).map((line) => line.split("\t")[0]);
const print = (value) => console.log(JSON.stringify(value));

const translator = await load(model, { weights: "int8" });
const translate = async (list, beam) =>
  (await Promise.all(list.map((text) => translator.translate(text, { beam })))).map(({ text, score }) => [text, score]);
print(await translate(texts, 1));
print(await translate(texts.slice(0, 10), 4));
const losses = [];
const onStep = ({ loss }) => void losses.push(loss);
await translator.train([["The printer is out of paper.", "Der Drucker hat kein Papier mehr."]], { steps: 4, onStep });
print(losses);
print(await translate(texts.slice(0, 10), 1));
const errors = [];
for (const bytes of [model.subarray(0, -1), new Uint8Array(100).fill(120)])
  await load(bytes).catch((error) => errors.push(error.message));
print(errors);
