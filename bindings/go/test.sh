#!/usr/bin/env bash
# Builds the Go package with the library installed in PREFIX and runs its tests. All output is written to WORK.
#
#     bindings/go/test.sh PREFIX WORK
#     XF_GO_RACE=1 bindings/go/test.sh PREFIX WORK    also go vet, and the tests under the race detector
#
# Exits with 77 if Go 1.19 or newer, a C compiler, or pkg-config is missing (Debian: golang-go gcc libc6-dev pkg-config).
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: test.sh PREFIX WORK" >&2; exit 2; }
source=$(cd "$(dirname "$0")" && pwd -P)
mkdir -p "$2"
work=$(cd "$2" && pwd -P)
. "$source/../environment.sh" "$1"

for tool in go "${CC:-gcc}" pkg-config; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: the Go package is not tested"; exit 77; }
done
version=$(go env GOVERSION)
if [ "$(printf 'go1.19\n%s\n' "$version" | sort -V | head -n 1)" != go1.19 ]; then
    echo "$version is older than Go 1.19: the Go package is not tested"
    exit 77
fi

export GOCACHE="$work/cache" GOPATH="$work/path" GOTMPDIR="$work/tmp" TMPDIR="$work/tmp" GOENV=off GOWORK=off
export GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=1
# Go's build cache depends on compiler flags, but not on headers outside the module.
headers=$(cat "$XFORMER_PREFIX"/include/xformer/*.h | sha256sum | cut -c 1-16)
export CGO_CFLAGS="-g -O2 -DXFGO_HEADERS=0x$headers"
mkdir -p "$GOTMPDIR"
fail() { echo "go/test.sh: $*" >&2; exit 1; }
cd "$source"

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "gofmt would change $unformatted"
if [ -n "${XF_GO_RACE-}" ]; then go vet ./...; fi

# The compiler must refuse headers of version 0.2.
rm -rf "$work/newer" && mkdir -p "$work/newer"
cp -R "$XFORMER_PREFIX/include" "$work/newer/"
sed -i 's/^#define XF_VERSION_MINOR .*/#define XF_VERSION_MINOR 2/' "$work/newer/include/xformer/version.h"
echo '#include "shim.h"' >"$work/newer/version.c"
"${CC:-gcc}" -fsyntax-only -I. -I"$XFORMER_PREFIX/include" "$work/newer/version.c"
if "${CC:-gcc}" -fsyntax-only -I. -I"$work/newer/include" "$work/newer/version.c" 2>"$work/newer/log"; then
    fail "the package compiles with the headers of another version"
fi
grep -q "is for libxformer 0.1" "$work/newer/log" || fail "$(cat "$work/newer/log")"

# cgocheck=2 is the strictest check of pointers that are passed to C. Go would cache the result although the library or
# the contracts changed, which are outside the module.
race=()
if [ -n "${XF_GO_RACE-}" ]; then race=(-race); fi
GODEBUG=cgocheck=2 go test "${race[@]}" -count=1 -timeout 300s ./...

# The README's programs, each in a module of its own with a replace directive.
# program NAME N: the Nth block of Go of the README, in the module NAME.
program() {
    rm -rf "${work:?}/$1" && mkdir -p "$work/$1"
    awk -v wanted="$2" '/^```go$/ { inside = ++seen == wanted; next } /^```$/ { inside = 0 } inside' README.md \
        >"$work/$1/main.go"
    (cd "$work/$1" && go mod init "$1" && go mod edit -replace "libxformer.invalid/xformer=$source" && go mod tidy &&
        go build -o "$1") >"$work/$1/log" 2>&1 || fail "the README's program $2: $(cat "$work/$1/log")"
}
program numerals 1
(cd "$work/numerals" && ./numerals) | tee "$work/numerals/output"
grep -qx 'three two one -> drei zwei eins' "$work/numerals/output" ||
    fail "the README's first program did not print the expected translation"

program hello 2
cp "$work/numerals/numerals.xf" "$work/hello/en-de.xf"
translation=$(cd "$work/hello" && ./hello)
[ -n "$translation" ] || fail "the README's second program printed nothing"

program engine 3
cp "$work/numerals/numerals.xf" "$work/engine/"
(cd "$work/engine" && ./engine) | grep -v '^so far: ' >"$work/engine/output"
printf 'drei zwei eins\neins zwei\n' | cmp - "$work/engine/output" || fail "engine: $(cat "$work/engine/output")"

# The commands.
go build -o "$work/bin/" ./bench ./examples/translate
printf 'one two\n\nthree two one\n' >"$work/sentences"
"$work/bin/translate" -beam 2 "$work/numerals/numerals.xf" <"$work/sentences" >"$work/translated"
printf 'eins zwei\n\ndrei zwei eins\n' | cmp - "$work/translated" || fail "translate: $(cat "$work/translated")"
# Ctrl-C must end it while it waits for input.
rm -f "$work/silent"
mkfifo "$work/silent"
status=0
timeout --preserve-status -k 20 -s INT 2 "$work/bin/translate" "$work/numerals/numerals.xf" <>"$work/silent" || status=$?
[ "$status" -eq 130 ] || fail "translate: exit status $status after Ctrl-C, expected 130"
"$work/bin/bench" "$work/numerals/numerals.xf" "$work/sentences" "$work/benched" 2 >"$work/seconds"
cmp "$work/translated" "$work/benched" || fail "bench: $(cat "$work/benched")"
[ "$(grep -cE '^[0-9]+\.[0-9]{6}$' "$work/seconds")" -eq 2 ] || fail "bench: $(cat "$work/seconds")"
echo "go/test.sh: all passed"
