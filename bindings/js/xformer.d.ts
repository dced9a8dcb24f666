// Types of xformer.js. SPDX-License-Identifier: Apache-2.0

/** A call failed. */
export class XformerError extends Error {
  constructor(message: string, status: string);
  /** The name of an xf_status of xformer/status.h, such as "XF_ERROR_CORRUPT". */
  readonly status: string;
}

/** Options of the library by name, such as `{ "decode.alpha": 1 }`; see docs/guide/options.md. */
export type Config = Record<string, string | number | boolean | undefined>;

export interface DecodeOptions {
  /** Beam size; 1 is greedy search. Default: 4. */
  beam?: number;
  /** Number of hypotheses in the result, at most `beam`. Default: 1. */
  nBest?: number;
  /**
   * Maximum number of alternatives: each of the most probable tokens after the prefix begins one hypothesis, which
   * greedy search completes. Replaces `beam` and `nBest`.
   */
  alternatives?: number;
  /** Align each token of a hypothesis to a token of the source. Default: false. */
  alignment?: boolean;
  /** Languages of a multilingual model. */
  sourceLanguage?: string;
  targetLanguage?: string;
  /** Further options of the groups "decode." and "text.". They take precedence over those above. */
  config?: Config;
}

export interface TranslateOptions extends DecodeOptions {
  /** Ends the translation; the promise is then rejected with `signal.reason`. */
  signal?: AbortSignal;
  /**
   * Receives the beginning of the translation whenever it has grown. Every later hypothesis of this translation begins
   * with it. It is not called for the result. An exception rejects the promise.
   */
  onToken?: (partial: Hypothesis) => void;
  /** Text with which the translation begins. */
  prefix?: string;
  /** Milliseconds after which the best hypotheses found so far are returned. 0, the default: no limit. */
  deadline?: number;
}

export interface Hypothesis {
  text: string;
  /** Target ids, including the prefix, without start and end symbols. */
  ids: number[];
  /** Natural logarithm of the probability of each id and, if `finished`, of the end symbol. */
  tokenLogProbabilities: number[];
  /** Sum of `tokenLogProbabilities`. */
  logProbability: number;
  /** `logProbability` divided by the length penalty. */
  score: number;
  /** Whether the hypothesis ended with the end symbol; otherwise a limit cut it off. */
  finished: boolean;
  /** Whether the search was completed; otherwise the deadline ended it, or this is a partial result. */
  complete: boolean;
  /** Index of the source token to which each id is aligned, or -1. Empty without the option `alignment`. */
  alignment: number[];
  /** Where the text of the first i + 1 ids ends in `text`. Empty without the option `alignment`. */
  textEnds: number[];
}

/** The best hypothesis, and all of them. */
export interface Translation extends Hypothesis {
  /** At most `nBest` or `alternatives`, best first. */
  hypotheses: Hypothesis[];
  /** Where each token of the source ends in the given text. Empty without the option `alignment`. */
  sourceEnds: number[];
}

export interface TrainOptions {
  /** Number of updates. Default: 100. */
  steps?: number;
  /** Constant learning rate of Adam. Default: 1e-4. */
  learningRate?: number;
  /** Maximum number of tokens per side of a batch ("data.batch_tokens"). Default: 1000. */
  batchTokens?: number;
  /**
   * Receives the result of each step. A returned promise is awaited. The value false ends the training and keeps what
   * was learned so far; an exception ends it and keeps nothing.
   */
  onStep?: (stats: StepStats) => void | boolean | Promise<void | boolean>;
  /** Ends the training; the promise is then rejected with `signal.reason`. */
  signal?: AbortSignal;
  /** Further options of the groups "train.", "data.", and "text.". They take precedence over those above. */
  config?: Config;
}

export interface StepStats {
  /** Number of updates so far. */
  step: number;
  /** Pairs in the batch. */
  sentences: number;
  /** Label-smoothed cross-entropy with dropout, in nats per target token. */
  loss: number;
  /** Cross-entropy without label smoothing, with dropout, in nats per target token. */
  nll: number;
  learningRate: number;
  /** L2 norm of the gradient of the mean loss. */
  gradientNorm: number;
}

export interface SplitOptions {
  /** ISO 639-1 code, such as "de", which selects abbreviations and rules. Default: the lists of all languages. */
  language?: string;
  /** Longer sentences are divided. In Unicode code points; 0, the default: no limit. */
  maxCharacters?: number;
}

export interface AttentionOptions {
  /** Encoder self-attention, decoder self-attention, or encoder-decoder attention, the default. */
  kind?: "encoder" | "decoder" | "cross";
  /** Layer from 0, the lowest. Default: the highest. */
  layer?: number;
  /** Languages of a multilingual model. */
  sourceLanguage?: string;
  targetLanguage?: string;
}

export interface Attention {
  /** Number of layers of this kind. */
  layers: number;
  layer: number;
  heads: number;
  /** Pieces of the queries. Query i of the decoder predicts piece i of the target. */
  queries: string[];
  /** Pieces of the keys, with the symbols that the model adds. */
  keys: string[];
  /** Weights by head, query, and key: `weights[(head * queries.length + query) * keys.length + key]`. */
  weights: Float32Array;
}

export interface LoadOptions extends DecodeOptions {
  /** Type of the matrices in memory; "same", the default, is that of the file. */
  weights?: "same" | "fp32" | "fp16" | "bf16" | "int8";
  /** The library: its bytes, its URL, or a compiled module. Default: xformer.wasm next to xformer.js. */
  wasm?: ArrayBuffer | ArrayBufferView | WebAssembly.Module | URL | string;
}

/** Loads a model file. The options for decoding are the defaults of translate(). Any bytes are safe input. */
export function load(model: ArrayBuffer | ArrayBufferView, options?: LoadOptions): Promise<Translator>;

/** Translates with one model. */
export class Translator {
  private constructor();

  /** Translates one text. Texts that wait together are decoded together, which is faster. */
  translate(text: string, options?: TranslateOptions): Promise<Translation>;

  /**
   * Trains a copy of the model with [source, target] pairs and returns the result of the last step. If no step
   * fails, later translations and save() use the trained model; otherwise the model remains as it was. Translations
   * that run at the same time use the earlier model.
   */
  train(pairs: Iterable<readonly [string, string]>, options?: TrainOptions): Promise<StepStats>;

  /** Returns an option of the model as text, such as option("model.max_length"); see docs/guide/options.md. */
  option(key: string): string;

  /**
   * Finds the sentences of a text, because a model translates single sentences. Returns [begin, end] of each, as
   * indices into the text; the text between them is white space. A line end always ends a sentence.
   */
  splitSentences(text: string, options?: SplitOptions): [begin: number, end: number][];

  /** Returns the attention weights of one layer for a source and its translation. */
  attention(source: string, target: string, options?: AttentionOptions): Attention;

  /** Returns the model file. weights: the type of its matrices; "same", the default, is that of the model. */
  save(options?: { weights?: "same" | "fp32" | "fp16" | "bf16" | "int8" }): Uint8Array;

  /** Frees the memory. Translations that run are rejected. Without a call, the memory is freed with the object. */
  close(): void;
}
