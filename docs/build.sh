#!/usr/bin/env bash
# Builds the API documentation with Doxygen; a warning is an error. docs/build.sh FOLDER
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
output=$(mkdir -p "${1:?docs/build.sh FOLDER}" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -nE 's/^project\(xformer VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
sed -e "s|@VERSION@|$version|" -e "s|@OUTPUT@|$output|" docs/Doxyfile.in >"$output/Doxyfile"
doxygen -q "$output/Doxyfile"
python3 docs/site/check.py "$output/html"
echo "documentation: $output/html/index.html"
