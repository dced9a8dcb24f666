#!/usr/bin/env bash
# Builds the package with an installed libxformer and runs its tests, README, example, and benchmark.
#
#     test.sh PREFIX WORK
#
# Writes only below WORK. Requires Debian's openjdk-17-jdk-headless, junit4, g++, and pkg-config, or exits with 77.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
[ $# -eq 2 ] || { echo "usage: test.sh PREFIX WORK" >&2; exit 2; }

for tool in java javac javadoc jar cc c++ pkg-config nm; do
    command -v "$tool" >/dev/null || {
        echo "test.sh: $tool is missing (openjdk-17-jdk-headless, g++, pkg-config)"
        exit 77
    }
done
junit=/usr/share/java/junit4.jar:/usr/share/java/hamcrest.jar
for jar in ${junit//:/ }; do
    [ -e "$jar" ] || { echo "test.sh: $jar is missing (junit4)"; exit 77; }
done
feature=$(javac -J-XX:-UsePerfData -version 2>&1 | sed 's/javac \([0-9]*\).*/\1/')
[ "$feature" -ge 17 ] || { echo "test.sh: javac has version $feature, expected 17 or newer"; exit 77; }

. "$here/../environment.sh" "$1"
unset LDFLAGS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH
rm -rf "$2"
mkdir -p "$2/tmp"
cd "$2"
work=$(pwd -P)
export TMPDIR=$work/tmp

# Other JDKs have other warnings.
strict=()
if [ "$feature" -eq 17 ]; then strict=(-Xlint:all -Werror); fi

# Short runs need neither the second compiler nor a parallel garbage collector. The tests have both, as hosts do.
quick=(-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
tool=("${quick[@]/#/-J}")

fail() { echo "test.sh: $*" >&2; exit 1; }
run_java() { java -XX:-UsePerfData -Djava.io.tmpdir="$work/tmp" "$@"; }
program() { run_java "${quick[@]}" "$@"; }
tests() { # FLAG... -- CLASS...: runs test classes; a warning of the JVM is a failure.
    local flags=()
    while [ "$1" != -- ]; do flags+=("$1") && shift; done
    shift
    run_java -ea -Xcheck:jni "${flags[@]}" -Dxformer.library.path="$work/out" -Dxformer.test.stubs="$work/stubs" \
        -Dxformer.test.api="$work/api.tsv" -Dxformer.test.contracts="$here/../contracts.tsv" -cp "out/xformer.jar:tests:$junit" org.junit.runner.JUnitCore "$@" \
        >junit.log 2>&1 || { cat junit.log; fail "tests failed"; }
    grep -v '^$' junit.log
    ! grep -qi warning junit.log || fail "the JVM reported a warning"
}

echo "Building"
JAVACFLAGS="${strict[*]}" CXXFLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror" "$here/build.sh" out
version=$(pkg-config --modversion xformer)
grep -qx "  <version>$version</version>" "$here/pom.xml" || fail "pom.xml does not have version $version"
jar "${tool[@]}" --describe-module --file out/xformer.jar | grep -q '^xformer@' || fail "the jar is not a module"
strange=$(nm -D --defined-only out/libxformer_jni.so | grep -v ' JNI_OnLoad$') || true
[ -z "$strange" ] || fail "libxformer_jni.so exports $strange"
# Every public member has a comment. Parameters need no tag.
javadoc "${tool[@]}" -quiet -Xdoclint:all -Xmaxwarns 10000 --release 17 -encoding UTF-8 -notimestamp -d doc \
    $(find "$here/src/main/java" -name '*.java') >javadoc.log 2>&1 ||
    { cat javadoc.log; fail "javadoc failed"; }
! grep -E '(warning|error)[: -]' javadoc.log | grep -v 'no @\(param\|return\|throws\)' || fail "javadoc reported a warning"
# The table of functions and their names in Java.
awk -F '\t' '$1 == "function" { for (i = 1; i <= NF; ++i) if ($i == "Java") java = i } /^xf_/ { print $1 "\t" $java }' \
    "$here/../api.tsv" >api.tsv

echo "Testing"
javac "${tool[@]}" "${strict[@]}" --release 17 -encoding UTF-8 -cp "out/xformer.jar:$junit" -d tests \
    "$here"/src/test/java/xformer/*.java
for stub in newer:0x000200:XFORMER_0.1 node:0x000200:XFORMER_0.2; do
    IFS=: read -r name number node <<<"$stub"
    mkdir -p "stubs/$name"
    printf '%s { global: xf_*; local: *; };\n' "$node" >stubs/map
    cc -shared -fPIC -DSTUB_VERSION="$number" "$here/src/test/c/stub.c" -Wl,-soname,libxformer.so.0 \
        -Wl,--version-script,stubs/map -o "stubs/$name/libxformer.so.0"
done
all=$(cd "$here/src/test/java" && ls xformer/*Test.java | grep -v 'WorldTest\|LeakTest' | sed 's|/|.|; s|\.java$||')
tests -- $all
# The heap has a fixed size, so only native memory can grow.
tests -Xms64m -Xmx64m -XX:+AlwaysPreTouch -XX:+UseSerialGC -- xformer.LeakTest

echo "Running the README"
block() { # LANGUAGE NUMBER: a block of the README
    awk -v fence='```'"$1" -v wanted="$2" '$0 == fence {inside = ++n == wanted; next} /^```/ {inside = 0} inside' \
        "$here/README.md"
}
mkdir readme
cd readme
block java 1 >Numerals.java
flags=(-cp "$work/out/xformer.jar" -Dxformer.library.path="$work/out")
output=$(program "${flags[@]}" Numerals.java)
expected=$(sed -n 's|.*// \(three two one -> .*\)|\1|p' Numerals.java)
[ -n "$expected" ] && [ "${output##*$'\n'}" = "$expected" ] || fail "Numerals.java printed: $output"
block java 2 >Serve.java
output=$(program "${flags[@]}" Serve.java)
[ "$(head -n 2 <<<"$output")" = "eins zwei"$'\n'"vier" ] && [ "${output##*$'\n'}" = "vier drei zwei" ] ||
    fail "Serve.java printed: $output"
mkdir -p examples/translate
cp "$here/../../examples/translate/en-de.xf" examples/translate
ln -s "$work/out" out
output=$(block sh 2 | sed 1,2d | JDK_JAVA_OPTIONS="${quick[*]}" bash -e 2>first.log) ||
    fail "the first steps of the README failed: $(cat first.log)"
[ "$output" = "$(block text 1)" ] || fail "the first steps of the README printed '$output'"

echo "Running example and benchmark"
for i in $(seq 40); do
    printf 'one two three\teins zwei drei\nfour three\tvier drei\ntwo four\tzwei vier\n'
done >pairs.tsv
program "${flags[@]}" "$here/examples/Train.java" pairs.tsv run.ckpt 3 tiny >first.log
program "${flags[@]}" "$here/examples/Train.java" pairs.tsv run.ckpt 5 tiny >second.log
grep -qx 'saved step 3 in run.ckpt' first.log && grep -qx 'saved step 5 in run.ckpt' second.log ||
    fail "the example printed: $(cat first.log second.log)"
java "${quick[@]}" "${flags[@]}" "$here/examples/Train.java" pairs.tsv run.ckpt 1000000 tiny >third.log &
for i in $(seq 600); do ! grep -q '^step 1' third.log || break; sleep 0.1; done
kill $!
wait $! || true
grep -qx stopped third.log && grep -q '^saved step' third.log || fail "the stopped example printed: $(cat third.log)"
cut -f 1 pairs.tsv >sentences.txt
program "${flags[@]}" "$here/bench/Bench.java" numerals.xf sentences.txt translations.txt 2 >seconds.txt
[ "$(grep -cxE '[0-9]+\.[0-9]{6}' seconds.txt)" = 2 ] || fail "the benchmark printed: $(cat seconds.txt)"
[ "$(sed -n 1p translations.txt)" = "eins zwei drei" ] || fail "the benchmark translated: $(head -n 3 translations.txt)"
[ "$(wc -l <translations.txt)" = 120 ] || fail "the benchmark wrote $(wc -l <translations.txt) translations, not 120"
echo "All tests of the Java package passed"
