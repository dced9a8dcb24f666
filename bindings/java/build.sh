#!/usr/bin/env bash
# Builds the binding: FOLDER/xformer.jar and FOLDER/libxformer_jni.so, from libxformer as pkg-config finds it.
#
#     build.sh FOLDER
#
# Needs a JDK of version 17 or newer, a C++ compiler and pkg-config; heeds CXX, CXXFLAGS, LDFLAGS and JAVACFLAGS.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
[ $# -eq 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
pkg-config --exists xformer || {
    echo "build.sh: pkg-config does not find libxformer: install libxformer-dev, or set PKG_CONFIG_PATH" >&2
    exit 1
}
mkdir -p "$1"
cd "$1"

javac=$(readlink -f "$(command -v javac)")
jdk=$(dirname "$(dirname "$javac")")
quick=(-J-XX:-UsePerfData -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC) # for what runs a second
version=$(sed -n '0,/<version>/s|.*<version>\(.*\)</version>.*|\1|p' "$here/pom.xml")

# What the headers declare, as methods of Java: an enum xf_status is an int, all else but a double is a long.
methods() {
    include=$(pkg-config --variable=includedir xformer)/xformer
    find "$include" -name '*.h' ! -name export.h | LC_ALL=C sort | xargs cat |
        awk 'BEGIN { RS = "\001" } {
            gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "")
            gsub(/[ \n]+/, " ")
            count = split($0, declarations, ";")
            for (i = 1; i <= count; ++i) {
                if (!match(declarations[i], /XF_API .*\(/)) continue
                head = substr(declarations[i], RSTART + 7, RLENGTH - 8)
                split(substr(declarations[i], RSTART + RLENGTH), parameters, /[,)]/)
                name = head
                sub(/.*[ *]/, "", name)
                list = ""
                for (j = 1; parameters[j] ~ /[a-z]/ && parameters[j] != "void"; ++j) {
                    type = parameters[j] ~ /^ ?double [a-z]/ ? "double" : "long"
                    sub(/.*[ *]/, "", parameters[j])
                    list = list (j > 1 ? ", " : "") type " " parameters[j]
                }
                result = head ~ /^enum xf_status / ? "int" : head ~ /^void [a-z]/ ? "void" : "long"
                print "    static native " result " " name "(" list ");"
            }
        }'
}

rm -rf classes generated
mkdir -p classes/META-INF generated/xformer
methods >methods
sed '/The functions of the headers/r methods' "$here/src/main/java/xformer/Native.java.in" \
    >generated/xformer/Native.java
mapfile -t sources < <(find "$here/src/main/java" generated -name '*.java' | LC_ALL=C sort)
"$javac" "${quick[@]}" ${JAVACFLAGS-} --release 17 -encoding UTF-8 --module-version "$version" \
    -d classes "${sources[@]}"
cp "$here/../../LICENSE" classes/META-INF/LICENSE
printf '%s\n' 'Implementation-Title: xformer' "Implementation-Version: $version" >manifest
"$jdk/bin/jar" "${quick[@]}" --create --file xformer.jar --manifest manifest -C classes .

# The library beside the glue is preferred to the system's, so that a folder with both can be moved.
sed -n 's/.* native .*\b\(xf_[a-z0-9_]*\)(.*/FUNCTION(\1),/p' methods >functions.inl
read -ra flags <<<"$(pkg-config --cflags --libs xformer)"
"${CXX:-c++}" -std=c++17 -O2 -fPIC -shared -fvisibility=hidden -fno-exceptions -fno-rtti ${CXXFLAGS-} -I. \
    -I"$jdk/include" -I"$jdk/include/linux" "$here/src/main/cpp/glue.cpp" "${flags[@]}" ${LDFLAGS-} -Wl,--as-needed \
    -Wl,-z,defs '-Wl,-rpath,$ORIGIN' -o libxformer_jni.so
