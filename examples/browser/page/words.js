// Words of a sentence and of its translation, and their alignment, as in examples/serve/words.cpp.
//
// SPDX-License-Identifier: Apache-2.0

const kWord = /[\u3000-\u9fff]|[\p{L}\p{M}\p{N}'’‐‑_-]+|\S/gu;

/** Returns a function from indices of a string to code points, which the requests of examples/serve count. */
export function codePoints(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (at) => at;
  const points = [];
  let count = 0;
  for (const character of text) {
    for (let i = 0; i < character.length; ++i) points.push(count);
    ++count;
  }
  return (at) => points[at] ?? count;
}

const words = (text) => [...text.matchAll(kWord)].map((found) => [found.index, found.index + found[0].length]);

/** Returns the word that contains an index, or the first one after it. */
const wordAt = (list, at) => list.find(([, end]) => at < end);

/**
 * Returns [source begin, source end, target begin, target end] for each word of a translation: the word of the source
 * to which most of its characters are aligned.
 */
export function alignedWords(source, { text, alignment, textEnds, sourceEnds }) {
  const from = words(source);
  const votes = new Map(words(text).map((word) => [word, new Map()]));
  const to = [...votes.keys()];
  let begin = 0;
  for (const [i, token] of alignment.entries()) {
    const end = textEnds[i];
    const word = token >= 0 && token < sourceEnds.length ? wordAt(from, Math.max(0, sourceEnds[token] - 1)) : undefined;
    for (let at = begin; word && at < end; ++at) {
      const goal = wordAt(to, at); // the space before a word belongs to its token
      if (goal && at >= goal[0]) votes.get(goal).set(word, (votes.get(goal).get(word) ?? 0) + 1);
    }
    begin = end;
  }
  return [...votes].filter(([, counts]) => counts.size).map(([goal, counts]) =>
    [...[...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0], ...goal]);
}
