/*
 * engine.js - takes the place of the translation server: page.js, the page of examples/serve, sends its requests to
 * respond(), and a worker answers them. Typing therefore never waits for a computation.
 * SPDX-License-Identifier: Apache-2.0
 */
"use strict";

const engine = {
  worker: null,
  calls: new Map(), /* of the worker, by id: {resolve, reject, onEvent, signal} */
  last: 0,
  notice: null, /* function of (event, data) that is not part of a call */

  /* Calls a function of worker.js. `wait`: a call that is aborted ends when the function does. */
  call(name, values = {}, { signal, onEvent, wait = false } = {}) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (!this.worker) this.start();
      const id = ++this.last;
      this.calls.set(id, { resolve, reject, onEvent });
      signal?.addEventListener("abort", () => {
        this.worker?.postMessage({ id, abort: true });
        if (!wait && this.calls.delete(id)) reject(signal.reason);
      });
      this.worker.postMessage({ id, name, values, events: onEvent !== undefined });
    });
  },

  start() {
    this.worker = new Worker("worker.js", { type: "module" });
    this.worker.addEventListener("message", ({ data: { id, event, data, result, error } }) => {
      const call = id ? this.calls.get(id) : { onEvent: this.notice };
      if (!call) return; /* aborted */
      if (event) {
        call.onEvent?.(event, data);
        return;
      }
      this.calls.delete(id);
      if (error) call.reject(new Error(error));
      else call.resolve(result);
    });
    this.worker.addEventListener("error", (event) => {
      event.preventDefault();
      const calls = [...this.calls.values()];
      this.worker.terminate();
      Object.assign(this, { worker: null, calls: new Map() });
      for (const { reject } of calls)
        reject(new Error(`The translator of this page ended: ${event.message || "worker.js was not loaded"}. Reload.`));
    });
  },
};

engine.start();

/* Replies to a request of page.js, in the form of the server. */
async function respond(path, { body, headers = {}, signal } = {}) {
  const reply = (value, status = 200) => Response.json(value, { status });
  try {
    if (path !== "translate") return reply(await engine.call(path, {}, { signal }));
    if (headers.Accept !== "text/event-stream")
      return reply(await engine.call("translate", JSON.parse(body), { signal }));
  } catch (error) {
    signal?.throwIfAborted();
    return reply({ error: error.message }, 500);
  }
  const encoder = new TextEncoder();
  const events = new ReadableStream({
    async start(controller) {
      const send = (event, data) =>
        controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`));
      try {
        send("result", await engine.call("translate", JSON.parse(body), { signal, onEvent: send }));
      } catch (error) {
        if (signal.aborted) {
          controller.error(signal.reason);
          return;
        }
        send("error", { error: error.message });
      }
      controller.close();
    },
  });
  return new Response(events, { headers: { "Content-Type": "text/event-stream" } });
}
