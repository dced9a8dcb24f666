# shellcheck shell=bash disable=SC2154,SC2164 # the variables and set -e are of test.sh
# Sourced by test.sh: builds and runs the programs of the README as its reader would, and the examples.
#
# SPDX-License-Identifier: Apache-2.0

# Prints the Nth Rust block of the README.
program() {
    awk -v wanted="$1" '/^```/ { inside = 0 } inside && n == wanted; /^```rust$/ { inside = 1; n++ }' \
        "$source_folder/README.md"
}

cd "$work"
rm -rf hello numerals.xf translations
cargo new --quiet --vcs none hello
cargo add --quiet --offline --manifest-path hello/Cargo.toml --path "$source_folder/xformer"
mkdir hello/src/bin
program 1 >hello/src/bin/numerals.rs
expected=$(sed -n 's/.*println.*\/\/ \(three two one -> .*\)/\1/p' hello/src/bin/numerals.rs)
cargo run --quiet --offline --manifest-path hello/Cargo.toml --bin numerals >printed
found=$(tail -n 1 printed)
if [ -z "$expected" ] || [ "$found" != "$expected" ]; then
    echo "the program of the README printed '$found', expected '$expected'" >&2
    exit 1
fi

# "From packages to a translation": the copied program is the one that is shown.
cp "$source_folder/xformer/examples/sentence.rs" hello/src/main.rs
diff <(program 2) <(sed -e '/^\/\//d' -e '/./,$!d' hello/src/main.rs)
found=$(cargo run --quiet --offline --manifest-path hello/Cargo.toml --bin hello -- numerals.xf "two four")
if [ "$found" != "zwei vier" ]; then
    echo "sentence.rs printed '$found', expected 'zwei vier'" >&2
    exit 1
fi

program 3 >hello/src/bin/engine.rs
cargo run --quiet --offline --manifest-path hello/Cargo.toml --bin engine >printed
if [ "$(tail -n 2 printed | paste -sd /)" != "drei zwei eins/eins zwei, zwei" ]; then
    echo "the engine of the README printed '$(cat printed)'" >&2
    exit 1
fi

cargo build --quiet "${manifest[@]}" --examples
examples=$CARGO_TARGET_DIR/debug/examples
printf 'one two\nthree\n' >sentences
for ((i = 0; i < 5; i++)); do cat sentences sentences; done >repeated
"$examples/bench" numerals.xf repeated translations 2 | grep -cE '^[0-9]+\.[0-9]{6}$' | grep -qx 2
if [ "$(sort -u translations | paste -sd ,)" != "drei,eins zwei" ] || [ "$(wc -l <translations)" -ne 20 ]; then
    echo "bench wrote '$(paste -sd , translations)'" >&2
    exit 1
fi
"$examples/translate" numerals.xf <repeated | diff translations -
if "$examples/translate" none.xf <repeated 2>message || ! grep -q none.xf message; then
    echo "translate printed '$(cat message)' for a missing model" >&2
    exit 1
fi

# Two runs train the same model as one.
for ((i = 0; i < 20; i++)); do printf 'one two %s\teins zwei %s\n' "$i" "$i"; done >pairs
rm -f whole.ckpt parts.ckpt
"$examples/train" pairs whole.ckpt 20 >whole
"$examples/train" pairs parts.ckpt 12 >parts
"$examples/train" pairs parts.ckpt 20 >parts
grep -q "continues after step 12" parts
cmp whole.ckpt parts.ckpt
diff <(tail -n 1 whole) <(tail -n 1 parts)
