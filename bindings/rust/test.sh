#!/usr/bin/env bash
# Builds the Rust crates with the library that is installed in PREFIX, and runs all their tests. Writes only to WORK and
# downloads nothing.
#
#     bindings/rust/test.sh PREFIX WORK
#
# Exits with 0 if all tests pass, and with 77 if Rust is not installed.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
if [ $# -ne 2 ]; then
    echo "usage: $0 PREFIX WORK" >&2
    exit 2
fi
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
mkdir -p "$2"
work=$(cd "$2" && pwd -P)
# shellcheck source=../environment.sh
. "$source_folder/../environment.sh" "$1"

for tool in cargo rustc pkg-config "${CC:-cc}"; do
    command -v "$tool" >/dev/null && continue
    echo "$tool is not installed: apt-get install cargo rustc pkg-config gcc" >&2
    exit 77
done
unset XFORMER_LIB_DIR PKG_CONFIG RUSTFLAGS RUSTDOCFLAGS
export CARGO_TARGET_DIR=$work/target CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
export CARGO_HOME=$work/cargo
# The sources may be read-only, so Cargo.lock must be up to date.
manifest=(--manifest-path "$source_folder/Cargo.toml" --locked)

step() { echo "== $*"; }

step "$(cargo --version), $(rustc --version)"
step "formatting, lints, documentation"
if cargo fmt --version >/dev/null 2>&1; then
    cargo fmt --manifest-path "$source_folder/Cargo.toml" --all -- --check
else
    echo "rustfmt is not installed"
fi
if cargo clippy --version >/dev/null 2>&1; then
    lints=(-D warnings)
    case $(rustc --version) in
        "rustc 1.6"[0-9].*) ;; # expects the comment within the statement
        *) lints+=(-D clippy::undocumented_unsafe_blocks) ;;
    esac
    cargo clippy "${manifest[@]}" --workspace --all-targets -- "${lints[@]}"
else
    echo "clippy is not installed"
fi
RUSTDOCFLAGS="-D warnings" cargo doc "${manifest[@]}" --workspace --no-deps

step "tests"
RUSTFLAGS="-D warnings" cargo test "${manifest[@]}" --workspace

step "programs"
. "$source_folder/test_programs.sh"

step "messages of the build script"
. "$source_folder/test_build.sh"
echo "all tests of the Rust binding passed"
