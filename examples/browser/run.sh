#!/usr/bin/env bash
# Assembles the page that translates in the browser, and serves it on http://localhost:8000; see README.md.
#
#     examples/browser/run.sh [FOLDER]
#
# FOLDER (default: build/browser) has the complete page: any web server can serve it. Compiles xformer.wasm first if
# bindings/js does not have it; tests/harness/platforms/wasm.sh lists what this needs. PORT is another port, MODEL
# another model file. Ctrl-C ends the server.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here/../../build/browser}

if [ ! -e "$here/../../bindings/js/xformer.js" ]; then
    echo "run.sh: found no bindings/js; expected a copy of the repository of libxformer" >&2
    exit 1
fi
[ -e "$here/../../bindings/js/xformer.wasm" ] || "$here/../../tests/platforms.sh" wasm build || {
    echo "run.sh: xformer.wasm was not compiled; expected the packages that tests/harness/platforms/wasm.sh lists" >&2
    exit 1
}
command -v node >/dev/null || { echo "run.sh: Node.js was not found; install the package nodejs" >&2; exit 1; }
node "$here/assemble.mjs" "$folder" ${MODEL:+"$MODEL"}
echo "Assembled $(du -sh "$folder" | cut -f 1) in $folder"
exec python3 "$here/serve.py" "$folder" "${PORT:-8000}"
