// The instance of xformer.wasm: compilation, the functions that it imports, its memory, and its errors.
//
// SPDX-License-Identifier: Apache-2.0

const kNoFunction = 52; // ENOSYS of emscripten and WASI

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** A call failed. `status` is the name of an xf_status, such as "XF_ERROR_CORRUPT". */
export class XformerError extends Error {
  constructor(message, status) {
    super(message);
    this.name = "XformerError";
    this.status = status;
  }
}

export const invalid = (message) => new XformerError(message, "XF_ERROR_INVALID_ARGUMENT");

let ownModule; // a promise: xformer.wasm is compiled once

async function compileUrl(url) {
  if (url.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new XformerError(`${url} has the status ${response.status}, expected 200`, "XF_ERROR_IO");
  if (response.headers.get("Content-Type") === "application/wasm") return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

export function compile(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm)) return WebAssembly.compile(wasm);
  if (wasm !== undefined) return compileUrl(new URL(wasm, globalThis.location?.href));
  ownModule ??= compileUrl(new URL("./xformer.wasm", import.meta.url));
  ownModule.catch(() => (ownModule = undefined)); // the next call tries again
  return ownModule;
}

/** An instance of xformer.wasm and its memory. */
export class Wasm {
  static async create(module) {
    const wasm = new Wasm();
    const known = {
      clock_time_get: (clock, _precision, at) => {
        const now = clock === 0 ? Date.now() : performance.now();
        wasm.view.setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
        return 0;
      },
      environ_sizes_get: (count, size) => {
        wasm.view.setUint32(count, 0, true);
        wasm.view.setUint32(size, 0, true);
        return 0;
      },
      environ_get: () => 0,
      getentropy: (at, size) => {
        crypto.getRandomValues(wasm.bytes(at, size));
        return 0;
      },
      emscripten_notify_memory_growth: () => {},
      proc_exit: (code) => {
        throw new XformerError(`xformer.wasm exited with ${code}`, "XF_ERROR_INTERNAL");
      },
    };
    const imports = {};
    // Functions for files, which do not exist here, report that they are missing.
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      (imports[from] ??= {})[name] = known[name] ?? (() => (from === "env" ? -kNoFunction : kNoFunction));
    const instance = await WebAssembly.instantiate(module, imports);
    wasm.call = instance.exports;
    wasm.call._initialize?.();
    return wasm;
  }

  get view() {
    return new DataView(this.call.memory.buffer); // a new buffer whenever the memory has grown
  }
  bytes(at, size) {
    return new Uint8Array(this.call.memory.buffer, at, size);
  }
  text(at, size = this.bytes(at).indexOf(0)) {
    return utf8.decode(this.bytes(at, size));
  }
  i32(at) {
    return this.view.getInt32(at, true);
  }
  u32(at) {
    return this.view.getUint32(at, true);
  }
  f64(at) {
    return this.view.getFloat64(at, true);
  }
  array(Type, at, count) {
    return at === 0 ? [] : Array.from(new Type(this.call.memory.buffer, at, count));
  }

  /** Calls use(address, size) with a copy of each block in memory, and frees the copies. */
  with(blocks, use) {
    const copies = [];
    try {
      for (const block of blocks) {
        const at = this.call.malloc(block.length + 1);
        if (at === 0) throw new XformerError(`no memory for ${block.length} bytes`, "XF_ERROR_NO_MEMORY");
        copies.push(at);
        this.bytes(at, block.length).set(block);
        this.bytes(at + block.length, 1)[0] = 0;
      }
      return use(...copies);
    } finally {
      for (const at of copies) this.call.free(at);
    }
  }

  /** Calls produce(addresses..., size), which returns a block of *size elements, and read(block, *size); frees it. */
  block(blocks, produce, read) {
    return this.with([...blocks, new Uint8Array(4)], (...addresses) => {
      const at = produce(...addresses);
      if (at === 0) throw this.error();
      try {
        return read(at, this.u32(addresses.at(-1)));
      } finally {
        this.call.free(at);
      }
    });
  }

  error() {
    const at = this.call.xfjs_error();
    return new XformerError(this.text(at + 8), this.text(this.call.xfjs_status_name(this.i32(at))));
  }
  check(status) {
    if (status < 0) throw this.error();
    return status;
  }
}
