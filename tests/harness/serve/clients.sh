#!/usr/bin/env bash
# Runs clients that this project did not write against examples/serve: LibreTranslate's tests of its API and the client
# libretranslatepy, both from PyPI, and schemathesis, which derives requests from /openapi.json.
#
#     tests/harness/serve/clients.sh BUILD [WORK] [EXAMPLES]
#
# WORK: build/clients; EXAMPLES: requests per operation, 100.
#
# Not part of run.sh, because it downloads Python packages into an environment in WORK. Ends with status 77 if they are
# unavailable.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../../..
build=$(cd "${1:?usage: clients.sh BUILD [WORK] [EXAMPLES]}" && pwd)
mkdir -p "${2:-$root/build/clients}"
work=$(cd "${2:-$root/build/clients}" && pwd)
examples=${3:-100}
python=$work/environment/bin/python

if ! "$python" -c 'import libretranslatepy, pytest, requests, schemathesis' 2>/dev/null ||
    ! compgen -G "$work/libretranslate-*.tar.gz" >/dev/null; then
    python3 -m venv "$work/environment"
    pip=("$python" -m pip -q --disable-pip-version-check)
    if ! "${pip[@]}" install libretranslatepy pytest requests schemathesis ||
        ! "${pip[@]}" download --no-deps --no-binary :all: -d "$work" libretranslate; then
        echo "clients.sh: the packages cannot be installed; this requires a network and a package index"
        exit 77
    fi
fi
rm -rf "$work/tests"
mkdir "$work/tests"
tar -xf "$work"/libretranslate-*.tar.gz -C "$work/tests" --wildcards '*/tests/test_api/test_*.py' --strip-components 3
cp "$here"/clients/*.py "$work/tests"

XF_BACKEND_PATH=$build/lib "$build/bin/xformer-serve" --port 0 --model "en-de=$root/examples/translate/en-de.xf" \
    --suggestions "$work/suggestions" --model.weights int8 >"$work/serve.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    SERVE_URL=$(grep -oE 'http://[0-9.]+:[0-9]+' "$work/serve.log" | head -n 1) && break
    kill -0 $server || { cat "$work/serve.log"; exit 1; }
    sleep 0.1
done
export SERVE_URL

failed=0
echo "== Tests of LibreTranslate, libretranslatepy"
"$python" -B -m pytest -q -p no:cacheprovider "$work/tests" || failed=1
echo "== schemathesis"
# Without positive_data_acceptance: the schema cannot express which languages and file names are supported.
(cd "$work" && "$work/environment/bin/schemathesis" run "$SERVE_URL/openapi.json" --max-examples "$examples" \
    --exclude-checks positive_data_acceptance --seed 1 --request-timeout 60 --generation-database none) || failed=1

kill -0 $server || { echo "clients.sh: the server ended"; tail "$work/serve.log"; exit 1; }
kill $server
wait $server || { echo "clients.sh: the server ended with status $?"; exit 1; }
grep -E '"status":50[0-24-9]' "$work/serve.log" && failed=1
[ "$failed" = 0 ] && echo "clients: passed"
exit "$failed"
