#!/usr/bin/env bash
# Builds FOLDER/xformer.jar and FOLDER/libxformer_jni.so with the libxformer that pkg-config finds.
#
#     build.sh FOLDER
#
# Requires JDK 17 or newer, a C++ compiler, and pkg-config. Reads CXX, CXXFLAGS, LDFLAGS, and JAVACFLAGS.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
[ $# -eq 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
pkg-config --exists xformer || {
    echo "build.sh: pkg-config did not find libxformer; install libxformer-dev, or set PKG_CONFIG_PATH" >&2
    exit 1
}
mkdir -p "$1"
cd "$1"

javac=$(readlink -f "$(command -v javac)")
jdk=$(dirname "$(dirname "$javac")")
quick=(-J-XX:-UsePerfData -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC) # for short runs
version=$(sed -n '0,/<version>/s|.*<version>\(.*\)</version>.*|\1|p' "$here/pom.xml")

rm -rf classes
mkdir -p classes/META-INF
mapfile -t sources < <(find "$here/src/main/java" -name '*.java' | LC_ALL=C sort)
"$javac" "${quick[@]}" ${JAVACFLAGS-} --release 17 -encoding UTF-8 --module-version "$version" \
    -d classes "${sources[@]}"
cp "$here/../../LICENSE" classes/META-INF/LICENSE
printf '%s\n' 'Implementation-Title: xformer' "Implementation-Version: $version" >manifest
"$jdk/bin/jar" "${quick[@]}" --create --file xformer.jar --manifest manifest -C classes .

# The functions to register, and assertions that Abi.java matches the headers.
package=$here/src/main/java/xformer
sed -n 's/.* native .*\b\(xf_[a-z0-9_]*\)(.*/FUNCTION(\1),/p' "$package/Native.java" >functions.inl
awk '$3 == "class" { struct = $4 }
    $3 == "int" {
        sub(/;$/, "", $6)
        value = !struct ? $4 : $4 == "SIZE" ? "sizeof(" struct ")" : "offsetof(" struct ", " $4 ")"
        print "static_assert(" value " == " $6 ", \"Abi.java\");"
    }' "$package/Abi.java" >layout.inl
# The library in the folder of the glue takes precedence over that of the system, so a folder with both can be moved.
read -ra flags <<<"$(pkg-config --cflags --libs xformer)"
"${CXX:-c++}" -std=c++17 -O2 -fPIC -shared -fvisibility=hidden -fno-exceptions -fno-rtti ${CXXFLAGS-} -I. \
    -I"$jdk/include" -I"$jdk/include/linux" "$here/src/main/cpp/glue.cpp" "${flags[@]}" ${LDFLAGS-} -Wl,--as-needed \
    -Wl,-z,defs '-Wl,-rpath,$ORIGIN' -o libxformer_jni.so
