#!/usr/bin/env bash
# Builds the binding against an installed libxformer and runs its tests, its README, its examples and its benchmark.
#
#     test.sh PREFIX WORK
#
# Writes below WORK only. Needs Debian's openjdk-17-jdk-headless, junit4, g++ and pkg-config; ends with 77 without them.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
[ $# -eq 2 ] || { echo "usage: test.sh PREFIX WORK" >&2; exit 2; }

for tool in java javac javadoc jar cc c++ pkg-config nm; do
    command -v "$tool" >/dev/null || {
        echo "test.sh: there is no $tool (openjdk-17-jdk-headless, g++, pkg-config)"
        exit 77
    }
done
junit=/usr/share/java/junit4.jar:/usr/share/java/hamcrest.jar
for jar in ${junit//:/ }; do
    [ -e "$jar" ] || { echo "test.sh: there is no $jar (junit4)"; exit 77; }
done
feature=$(javac -J-XX:-UsePerfData -version 2>&1 | sed 's/javac \([0-9]*\).*/\1/')
[ "$feature" -ge 17 ] || { echo "test.sh: javac is of version $feature, 17 is needed"; exit 77; }

. "$here/../environment.sh" "$1"
unset LDFLAGS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH
rm -rf "$2"
mkdir -p "$2/tmp"
cd "$2"
work=$(pwd -P)
export TMPDIR=$work/tmp

# Other JDKs warn of other things.
strict=()
if [ "$feature" -eq 17 ]; then strict=(-Xlint:all -Werror); fi

# What runs for a second needs neither the second compiler nor a collector of many threads: half the processor time. The
# tests have both, as hosts do.
quick=(-XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
tool=("${quick[@]/#/-J}")

fail() { echo "test.sh: $*" >&2; exit 1; }
run_java() { java -XX:-UsePerfData -Djava.io.tmpdir="$work/tmp" "$@"; }
program() { run_java "${quick[@]}" "$@"; }
tests() { # FLAG... -- CLASS...: runs test classes; any warning of the JVM about the glue is a failure.
    local flags=()
    while [ "$1" != -- ]; do flags+=("$1") && shift; done
    shift
    run_java -ea -Xcheck:jni "${flags[@]}" -Dxformer.library.path="$work/out" -Dxformer.test.stubs="$work/stubs" \
        -Dxformer.test.api="$work/api.tsv" -cp "out/xformer.jar:tests:$junit" org.junit.runner.JUnitCore "$@" \
        >junit.log 2>&1 || { cat junit.log; fail "tests failed"; }
    grep -v '^$' junit.log
    ! grep -qi warning junit.log || fail "the JVM warns"
}

echo "Building"
JAVACFLAGS="${strict[*]}" CXXFLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror" "$here/build.sh" out
version=$(pkg-config --modversion xformer)
grep -qx "  <version>$version</version>" "$here/pom.xml" || fail "pom.xml is not of version $version"
jar "${tool[@]}" --describe-module --file out/xformer.jar | grep -q '^xformer@' || fail "the jar is no module"
strange=$(nm -D --defined-only out/libxformer_jni.so | grep -v ' JNI_OnLoad$') || true
[ -z "$strange" ] || fail "libxformer_jni.so exports $strange"
# All that is public has a comment; what a parameter's name says needs no tag.
javadoc "${tool[@]}" -quiet -Xdoclint:all -Xmaxwarns 10000 --release 17 -encoding UTF-8 -notimestamp -d doc \
    $(find "$here/src/main/java" out/generated -name '*.java') >javadoc.log 2>&1 ||
    { cat javadoc.log; fail "javadoc failed"; }
! grep -E '(warning|error)[: -]' javadoc.log | grep -v 'no @param\|no @return' || fail "javadoc warns"
# function TAB name in Java, of the table of all languages.
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
# A heap of one size that is there from the beginning, so that what grows is native.
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
said=$(program "${flags[@]}" Numerals.java)
promised=$(sed -n 's|.*// \(three two one -> .*\)|\1|p' Numerals.java)
[ -n "$promised" ] && [ "${said##*$'\n'}" = "$promised" ] || fail "the README promises '$promised', found: $said"
cp numerals.xf en-de.xf
ln -s "$work/out" out
said=$(block sh 2 | sed '1,2d; s/Choose File - Save\./three two one/' |
    JDK_JAVA_OPTIONS="${quick[*]}" bash -e 2>five.log) || fail "the README's five lines: $(cat five.log)"
[ "$said" = "${promised#* -> }" ] || fail "the README's five lines say '$said'"

echo "Running example and benchmark"
for i in $(seq 40); do
    printf 'one two three\teins zwei drei\nfour three\tvier drei\ntwo four\tzwei vier\n'
done >pairs.tsv
program "${flags[@]}" "$here/examples/Train.java" pairs.tsv run.ckpt 3 tiny >first.log
program "${flags[@]}" "$here/examples/Train.java" pairs.tsv run.ckpt 5 tiny >second.log
grep -qx 'step 3 is saved in run.ckpt' first.log && grep -qx 'step 5 is saved in run.ckpt' second.log ||
    fail "the example says: $(cat first.log second.log)"
java "${quick[@]}" "${flags[@]}" "$here/examples/Train.java" pairs.tsv run.ckpt 1000000 tiny >third.log &
for i in $(seq 600); do ! grep -q '^step 1' third.log || break; sleep 0.1; done
kill $!
wait $! || true
grep -qx stopped third.log && grep -q 'is saved in run.ckpt' third.log || fail "stopped, it says: $(cat third.log)"
cut -f 1 pairs.tsv >sentences.txt
program "${flags[@]}" "$here/bench/Bench.java" numerals.xf sentences.txt answers.txt 2 >seconds.txt
[ "$(grep -cxE '[0-9]+\.[0-9]{6}' seconds.txt)" = 2 ] || fail "the benchmark says: $(cat seconds.txt)"
[ "$(sed -n 1p answers.txt)" = "eins zwei drei" ] || fail "the benchmark translates: $(head -n 3 answers.txt)"
[ "$(wc -l <answers.txt)" = 120 ] || fail "the benchmark wrote $(wc -l <answers.txt) translations, not 120"
echo "The Java binding is as it should be"
