// xformer for JavaScript: translates and trains in a page, a worker, or Node.js. See README.md and xformer.d.ts.
//
// Each Translator has its own instance of xformer.wasm, and with it its own memory, which ends with the translator. The
// engine of the library decodes all texts that wait together, one step at a time; between the steps of about 10 ms the
// page handles its events.
//
// SPDX-License-Identifier: Apache-2.0

import { Wasm, XformerError, compile, invalid } from "./wasm.js";

export { XformerError };

const kSliceMs = 10; // of computing between two events of the page
const kDone = 1; // XF_DONE
const kSides = { source: 1, target: 2 }; // XF_SIDE_...
const kAttention = { encoder: 1, decoder: 2, cross: 3 }; // XF_ATTENTION_...

const encoder = new TextEncoder();
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Options as glue.c reads them. */
function optionBytes(options) {
  let text = "";
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const setting = String(value);
    if (key === "" || key.includes("\0") || setting.includes("\0"))
      throw invalid(`option '${key}' contains a NUL or has no name, expected a key such as 'decode.beam'`);
    text += `${key}\0${setting}\0`;
  }
  return encoder.encode(text + "\0");
}

function decodeOptions({ beam, nBest, alternatives, alignment, sourceLanguage, targetLanguage, config }) {
  return {
    "decode.beam": alternatives === undefined ? beam : 1,
    "decode.n_best": alternatives ?? nBest,
    "decode.alternatives": alternatives === undefined ? undefined : true,
    "decode.alignment": alignment,
    "text.source_language": sourceLanguage,
    "text.target_language": targetLanguage,
    ...config,
  };
}

/** Ends of tokens in bytes of UTF-8, as ends in code units of a string. */
function stringEnds(bytes, ends) {
  let from = 0;
  let units = 0;
  return ends.map((end) => {
    units += utf8.decode(bytes.subarray(from, end)).length;
    from = end;
    return units;
  });
}

const yieldToEvents =
  typeof setImmediate === "function"
    ? () => new Promise((resolve) => setImmediate(resolve))
    : () =>
        new Promise((resolve) => {
          const { port1, port2 } = new MessageChannel(); // setTimeout() would wait for 4 ms
          port1.onmessage = () => {
            port1.close();
            resolve();
          };
          port2.postMessage(0);
        });

/** Translates with one model. Created by load(). */
export class Translator {
  #wasm;
  #handle;
  #requests = new Map(); // by id
  #running = false;
  #training = false;

  constructor(wasm, handle) {
    if (!(wasm instanceof Wasm)) throw invalid("a Translator is created by load()");
    this.#wasm = wasm;
    this.#handle = handle;
  }

  #open() {
    if (this.#wasm === undefined) throw new XformerError("the translator is closed", "XF_ERROR_STATE");
    return this.#wasm;
  }

  async translate(text, options = {}) {
    const wasm = this.#open();
    const { signal, onToken, prefix = "", deadline = 0 } = options;
    if (typeof text !== "string") throw invalid(`the text is of type ${typeof text}, expected a string`);
    if (!(deadline >= 0 && deadline < 2 ** 53)) throw invalid(`deadline is ${deadline}, expected milliseconds`);
    signal?.throwIfAborted();
    const source = encoder.encode(text);
    const begin = encoder.encode(prefix);
    const blocks = [source, begin, optionBytes(decodeOptions(options))];
    const id = wasm.check(
      wasm.with(blocks, (at, beginAt, config) =>
        wasm.call.xfjs_submit(this.#handle, at, source.length, beginAt, begin.length, config, Math.ceil(deadline),
          onToken === undefined ? 0 : 1)));
    return new Promise((resolve, reject) => {
      const abort = () => this.#end(id, (request) => request.reject(signal.reason));
      signal?.addEventListener("abort", abort, { once: true });
      const release = () => signal?.removeEventListener("abort", abort);
      this.#requests.set(id, { resolve, reject, release, onToken, source });
      this.#run();
    });
  }

  /** Removes a request that has not ended. */
  #end(id, settle) {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    request.release();
    if (this.#wasm !== undefined) this.#wasm.call.xfjs_cancel(this.#handle, id);
    settle(request);
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    await yieldToEvents(); // texts of the same moment begin together
    try {
      while (this.#requests.size > 0) {
        const end = performance.now() + kSliceMs;
        while (this.#requests.size > 0 && performance.now() < end) {
          const status = this.#wasm.check(this.#wasm.call.xfjs_step(this.#handle));
          if (!this.#receive() && status === kDone && this.#requests.size > 0)
            throw new XformerError("a request ended without an event", "XF_ERROR_INTERNAL");
        }
        await yieldToEvents();
      }
    } catch (error) {
      this.#endAll(error);
    } finally {
      this.#running = false;
    }
  }

  #endAll(error) {
    for (const id of [...this.#requests.keys()]) this.#end(id, (request) => request.reject(error));
  }

  /** Handles all events. Returns whether there was one. */
  #receive() {
    const wasm = this.#wasm;
    for (let any = false; ; any = true) {
      const event = wasm.call.xfjs_next(this.#handle);
      if (event === 0) return any;
      const id = Number(wasm.view.getBigUint64(event + 8, true));
      const request = this.#requests.get(id);
      if (request === undefined) continue; // aborted
      if (wasm.i32(event + 36) !== 0) {
        const error = wasm.error();
        this.#end(id, () => request.reject(error));
      } else if (wasm.i32(event + 32) !== 0) {
        const result = this.#result(request.source);
        this.#end(id, () => request.resolve(result));
      } else {
        try {
          request.onToken(this.#hypothesis(0));
        } catch (error) {
          this.#end(id, () => request.reject(error));
        }
        if (this.#wasm === undefined) return true; // onToken called close()
      }
    }
  }

  #hypothesis(index) {
    const wasm = this.#wasm;
    const at = wasm.call.xfjs_hypothesis(this.#handle, index);
    if (at === 0) throw wasm.error();
    const count = wasm.u32(at + 8);
    const finished = wasm.i32(at + 48) !== 0;
    const bytes = wasm.bytes(wasm.u32(at + 12), wasm.u32(at + 16));
    return {
      text: utf8.decode(bytes),
      ids: wasm.array(Int32Array, wasm.u32(at + 4), count),
      tokenLogProbabilities: wasm.array(Float32Array, wasm.u32(at + 20), count + (finished ? 1 : 0)),
      logProbability: wasm.f64(at + 32),
      score: wasm.f64(at + 40),
      finished,
      complete: wasm.i32(at + 52) !== 0,
      alignment: wasm.array(Int32Array, wasm.u32(at + 24), count),
      textEnds: stringEnds(bytes, wasm.array(Uint32Array, wasm.u32(at + 28), count)),
    };
  }

  #result(source) {
    const wasm = this.#wasm;
    const sentence = wasm.call.xfjs_sentence();
    const count = wasm.u32(sentence + 16);
    const sourceEnds = wasm.array(Uint32Array, wasm.u32(sentence + 20), wasm.u32(sentence + 24));
    const hypotheses = Array.from({ length: count }, (_, index) => this.#hypothesis(index));
    return { ...hypotheses[0], hypotheses, sourceEnds: stringEnds(source, sourceEnds) };
  }

  async train(pairs, options = {}) {
    const wasm = this.#open();
    const { steps = 100, learningRate = 1e-4, batchTokens = 1000, onStep, signal, config } = options;
    if (!Number.isInteger(steps) || steps < 1) throw invalid(`steps is ${steps}, expected an integer from 1`);
    if (this.#training) throw new XformerError("train() is running, expected one call at a time", "XF_ERROR_BUSY");
    signal?.throwIfAborted();
    const texts = [];
    for (const side of [0, 1])
      for (const pair of pairs) {
        if (typeof pair?.[side] !== "string") throw invalid("a pair is not [source, target], expected two strings");
        texts.push(encoder.encode(pair[side]));
      }
    const lengths = new Uint32Array(texts.map((text) => text.length));
    const all = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    let offset = 0;
    for (const text of texts) {
      all.set(text, offset);
      offset += text.length;
    }
    const settings = {
      "train.schedule": "constant",
      "train.warmup_steps": 1,
      "train.learning_rate": learningRate,
      "data.batch_tokens": batchTokens,
      ...config,
    };
    const blocks = [all, new Uint8Array(lengths.buffer), optionBytes(settings)];
    wasm.with(blocks, (at, lengthsAt, settingsAt) =>
      wasm.check(wasm.call.xfjs_train(this.#handle, at, lengthsAt, texts.length / 2, settingsAt)));
    this.#training = true;
    let keep = 0;
    try {
      let last;
      for (let i = 0; i < steps; ++i) {
        await yieldToEvents();
        this.#open();
        signal?.throwIfAborted();
        const at = wasm.call.xfjs_train_step(this.#handle);
        if (at === 0) throw wasm.error();
        last = {
          step: Number(wasm.view.getBigInt64(at + 8, true)),
          sentences: Number(wasm.view.getBigInt64(at + 16, true)),
          loss: wasm.f64(at + 40),
          nll: wasm.f64(at + 48),
          learningRate: wasm.f64(at + 56),
          gradientNorm: wasm.f64(at + 64),
        };
        if ((await onStep?.(last)) === false) break;
      }
      keep = 1;
      return last;
    } finally {
      this.#training = false;
      if (this.#wasm !== undefined) {
        const status = wasm.call.xfjs_train_end(this.#handle, keep);
        if (keep) wasm.check(status);
      }
    }
  }

  save({ weights } = {}) {
    const wasm = this.#open();
    return wasm.block([optionBytes({ "model.weights": weights })],
      (options, size) => wasm.call.xfjs_save(this.#handle, options, size),
      (at, size) => wasm.bytes(at, size).slice());
  }

  option(key) {
    const wasm = this.#open();
    const at = wasm.with([encoder.encode(key)], (name) => wasm.call.xfjs_option(this.#handle, name));
    if (at === 0) throw wasm.error();
    return wasm.text(at);
  }

  splitSentences(text, { language = "", maxCharacters = 0 } = {}) {
    const wasm = this.#open();
    if (typeof text !== "string") throw invalid(`the text is of type ${typeof text}, expected a string`);
    if (!(maxCharacters >= 0 && maxCharacters < 2 ** 32))
      throw invalid(`maxCharacters is ${maxCharacters}, expected a number from 0`);
    const bytes = encoder.encode(text);
    const spans = wasm.block([bytes, encoder.encode(language)],
      (at, code, size) => wasm.call.xfjs_split(at, bytes.length, code, maxCharacters, size),
      (at, size) => wasm.array(Uint32Array, at, 2 * size));
    const ends = stringEnds(bytes, spans);
    return Array.from({ length: ends.length / 2 }, (_, i) => ends.slice(2 * i, 2 * i + 2));
  }

  /** Ids of a text, with the symbols that the model adds. */
  #encode(side, text, config) {
    if (typeof text !== "string") throw invalid(`the ${side} is of type ${typeof text}, expected a string`);
    const wasm = this.#wasm;
    const bytes = encoder.encode(text);
    return wasm.block([bytes, config],
      (at, options, size) => wasm.call.xfjs_encode(this.#handle, kSides[side], at, bytes.length, options, size),
      (at, size) => wasm.array(Int32Array, at, size));
  }

  attention(source, target, options = {}) {
    const wasm = this.#open();
    const { kind = "cross" } = options;
    if (!Object.hasOwn(kAttention, kind))
      throw invalid(`kind is '${kind}', expected 'encoder', 'decoder', or 'cross'`);
    const layers = Number(this.option(kind === "encoder" ? "model.encoder_layers" : "model.decoder_layers"));
    const { layer = layers - 1 } = options;
    const config = optionBytes(decodeOptions(options));
    const ids = { source: this.#encode("source", source, config), target: this.#encode("target", target, config) };
    const pieces = (side) => ids[side].map((id) => wasm.block([],
      () => wasm.call.xfjs_piece(this.#handle, kSides[side], id), (at) => wasm.text(at)));
    const weights = wasm.block([new Uint8Array(Int32Array.from(ids.source).buffer),
      new Uint8Array(Int32Array.from(ids.target).buffer)],
      (from, to, size) => wasm.call.xfjs_attention(this.#handle, kAttention[kind], layer, from, ids.source.length, to,
        ids.target.length, size),
      (at, size) => new Float32Array(wasm.call.memory.buffer, at, size).slice());
    const queries = pieces(kind === "encoder" ? "source" : "target");
    const keys = pieces(kind === "decoder" ? "target" : "source");
    return { layers, layer, heads: weights.length / (queries.length * keys.length), queries, keys, weights };
  }

  close() {
    if (this.#wasm === undefined) return;
    this.#wasm = undefined; // the memory of the instance is collected
    this.#endAll(new XformerError("the translator was closed", "XF_ERROR_CANCELLED"));
  }
}
if (Symbol.dispose) Translator.prototype[Symbol.dispose] = Translator.prototype.close;

/** Loads a model file. */
export async function load(model, options = {}) {
  const { weights, wasm: from } = options;
  const buffer = ArrayBuffer.isView(model) ? model.buffer : model;
  if (!(buffer instanceof ArrayBuffer)) throw invalid("the model is not an ArrayBuffer or a view of one");
  const bytes = ArrayBuffer.isView(model)
    ? new Uint8Array(model.buffer, model.byteOffset, model.byteLength)
    : new Uint8Array(model);
  const settings = [optionBytes(decodeOptions(options)), optionBytes({ "model.weights": weights })];
  const wasm = await Wasm.create(await compile(from));
  const handle = wasm.with([bytes, ...settings], (at, config, weightsAt) =>
    wasm.call.xfjs_load(at, bytes.length, config, weightsAt));
  if (handle === 0) throw wasm.error();
  return new Translator(wasm, handle);
}
