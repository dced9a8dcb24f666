// Assembles the folder of the page: the files of page/ and of bindings/js, the page of examples/serve, the model with
// int8 weights, and the service worker with the SHA-256 of each file. See README.md.
//
//     node examples/browser/assemble.mjs FOLDER [MODEL.xf]
//
// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { load } from "../../bindings/js/xformer.js";

const kPolicy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; object-src 'none'; " +
  "base-uri 'none'; form-action 'none'";

const here = (path) => new URL(path, import.meta.url);
const read = (path) => readFileSync(here(path));

/** Replaces a text that occurs once. */
function replace(text, what, by) {
  const parts = text.split(what);
  if (parts.length !== 2) throw new Error(`'${what}' occurs ${parts.length - 1} times, expected 1; see assemble.mjs`);
  return parts.join(by);
}

/** The page of examples/serve, with head.html, tools.html, and tools.js. */
function page() {
  let html = read("../serve/page/index.html").toString();
  html = replace(html, `<script src="page.js" defer></script>\n`, "");
  html = replace(html, `<link rel="stylesheet" href="page.css">\n`, `<link rel="stylesheet" href="page.css">\n${
    replace(read("page/head.html").toString(), "@POLICY@", kPolicy)}${
    ["page", "tools"].map((name) => `<script src="${name}.js" defer></script>\n`).join("")}`);
  html = replace(html, "libxformer</span>", "in this tab</span>");
  return replace(html, `  <details id="history"`, `${read("page/tools.html")}  <details id="history"`);
}

const [folder, model = here("../translate/en-de.xf")] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node examples/browser/assemble.mjs FOLDER [MODEL.xf]");
  process.exit(2);
}
const name = basename(String(model), ".xf");
const translator = await load(readFileSync(model));
const files = {
  "": page(),
  "model.json": JSON.stringify({ name }),
  "model.xf": translator.save({ weights: "int8" }),
};
for (const file of ["page.css", "page.js"]) files[file] = read(`../serve/page/${file}`);
for (const file of ["xformer.js", "wasm.js", "xformer.wasm"]) files[file] = read(`../../bindings/js/${file}`);
for (const file of ["engine.js", "tools.css", "tools.js", "worker.js", "words.js", "icon.svg", "manifest.webmanifest"])
  files[file] = read(`page/${file}`);

const sha256 = (content) => createHash("sha256").update(content).digest("hex");
const hashes = Object.entries(files).map(([path, content]) => [path, sha256(content)]);
files["sw.js"] = replace(read("page/sw.js").toString(), "const kFiles = {};",
  `const kFiles = ${JSON.stringify(Object.fromEntries(hashes), null, 2)};`);
mkdirSync(folder, { recursive: true });
for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path || "index.html"), content);
