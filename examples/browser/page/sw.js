// The service worker: stores the page and its model, so that it works without a network. Each file is stored with its
// SHA-256, which assemble.mjs writes here; a new version therefore loads only the files that have changed, and is used
// only when all of them are complete.
//
// SPDX-License-Identifier: Apache-2.0
"use strict";

const kCache = "xformer-page";
const kFiles = {}; // path: SHA-256; the path of the page is empty
const scope = new URL("./", location.href).href;
const keyOf = (path) => `${scope}${path}?${kFiles[path]}`;

async function store(cache, path) {
  const response = await fetch(new Request(scope + path, { cache: "no-cache" }));
  const bytes = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (!response.ok || found !== kFiles[path]) throw new Error(`${path} is not the file of this version`);
  const headers = new Headers(response.headers);
  headers.delete("Content-Encoding");
  headers.set("Content-Length", bytes.byteLength);
  await cache.put(keyOf(path), new Response(bytes, { headers }));
}

addEventListener("install", (event) => event.waitUntil((async () => {
  const cache = await caches.open(kCache);
  for (const path of Object.keys(kFiles)) if (!(await cache.match(keyOf(path)))) await store(cache, path);
})()));

addEventListener("activate", (event) => event.waitUntil((async () => {
  const cache = await caches.open(kCache);
  const current = new Set(Object.keys(kFiles).map(keyOf));
  for (const request of await cache.keys()) if (!current.has(request.url)) await cache.delete(request);
  await clients.claim();
})()));

addEventListener("message", (event) => { if (event.data === "activate") skipWaiting(); });

addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  const within = url.href.startsWith(scope) ? url.pathname.slice(new URL(scope).pathname.length) : undefined;
  const path = within === "index.html" ? "" : within;
  if (event.request.method !== "GET" || !Object.hasOwn(kFiles, path)) return;
  event.respondWith(caches.match(keyOf(path)).then((found) => found ?? fetch(event.request)));
});
