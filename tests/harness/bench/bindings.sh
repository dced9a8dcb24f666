#!/usr/bin/env bash
# Measures the overhead of each binding over C: the same program in every language translates 1,000 short sentences.
#
#     bindings.sh PREFIX MODEL OUTPUT
#
# PREFIX: the prefix of an installed Release build. MODEL: a model of the demo (examples/translate/demo.sh creates
# build/demo/small.xf); the sentences are from its data. OUTPUT: a folder for programs and results. Prints Markdown.
#
# Environment: CYCLES (6) and ROUNDS (3): number of runs of each program, and of passes per run, of which the first is
# not counted; LANGUAGES ("cpp rust go java python"); PYTHON (/usr/bin/python3). A language whose tools are missing is
# skipped with a message. The programs are bindings.c, bindings.cpp, and bindings/*/bench*; bindings.py compares them.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
prefix=${1:?usage: bindings.sh PREFIX MODEL OUTPUT}
model=$(realpath "${2:?usage: bindings.sh PREFIX MODEL OUTPUT}")
mkdir -p "${3:?usage: bindings.sh PREFIX MODEL OUTPUT}"
output=$(cd "$3" && pwd)
cycles=${CYCLES:-6} rounds=${ROUNDS:-3}
python=${PYTHON:-/usr/bin/python3}
read -ra languages <<<"${LANGUAGES:-cpp rust go java python}"
. "$root/bindings/environment.sh" "$prefix"
flags=$(pkg-config --cflags --libs xformer)
log=$output/build.log
versions=("$(cc --version | head -n 1)")
programs=()

add() { # NAME VERSION COMMAND
    versions+=("$2")
    programs+=("$1=$3")
}

build_cpp() {
    # shellcheck disable=SC2086 # words
    c++ -std=c++17 -O2 "$root/tests/harness/bench/bindings.cpp" $flags -o "$output/cpp" &&
        add C++ "$(c++ --version | head -n 1)" "$output/cpp"
}

build_rust() {
    local target=$output/rust
    CARGO_HOME=$output/cargo CARGO_TARGET_DIR=$target cargo build --release --offline --locked --example bench \
        --manifest-path "$root/bindings/rust/Cargo.toml" &&
        add Rust "$(rustc --version)" "$target/release/examples/bench"
}

build_go() {
    (cd "$root/bindings/go" && GOCACHE=$output/go-cache GOPATH=$output/go-path GOFLAGS=-mod=readonly GOPROXY=off \
        go build -o "$output/go" ./bench) &&
        add Go "$(go version)" "$output/go"
}

build_java() {
    local folder=$output/java
    bash "$root/bindings/java/build.sh" "$folder" &&
        javac -cp "$folder/xformer.jar" -d "$folder/bench" "$root/bindings/java/bench/Bench.java" &&
        add Java "$(java --version | head -n 1)" \
            "java -Dxformer.library.path=$folder -cp $folder/xformer.jar:$folder/bench Bench"
}

build_python() {
    add Python "$("$python" --version)" "$python -B $root/bindings/python/bench.py"
    export PYTHONPATH=$root/bindings/python
}

: >"$log"
# shellcheck disable=SC2086
cc -std=c11 -O2 "$root"/tests/harness/bench/{bindings,common}.c $flags -o "$output/c"
# shellcheck disable=SC2086
cc -std=c11 -O2 -fPIC -shared "$root/tests/harness/bench/bindings_inside.c" -Wl,--no-as-needed $flags -o "$output/inside.so"
programs+=("C=$output/c" "C again=$output/c")
for language in "${languages[@]}"; do
    echo "building $language" >&2
    "build_$language" >>"$log" 2>&1 || { tail "$log" >&2; echo "bindings.sh: $language is skipped" >&2; }
done
head -n 1000 "$root/examples/translate/data/small.tsv" | cut -f 1 >"$output/sentences"

"$python" -B "$root/tests/harness/bench/bindings.py" "$cycles" "$rounds" "$model" "$output/sentences" "$output" \
    "$output/inside.so" "${programs[@]}"
printf '\n%s, commit %s. %s, %s cores, Linux %s. Sentences: %s, %s words. Load at the end %s.\n' "$(date +%F)" \
    "$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)" \
    "$(sed -n '0,/^model name/s/^model name\s*: //p' /proc/cpuinfo)" "$(nproc)" "$(uname -r | sed 's/-.*//')" \
    "$(wc -l <"$output/sentences")" "$(wc -w <"$output/sentences")" "$(cut -d ' ' -f 1-3 /proc/loadavg)"
printf -- '- %s\n' "${versions[@]}"
