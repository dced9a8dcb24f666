#!/usr/bin/env bash
# The package of the translation server, unpacked by package.sh: files, dependencies, the systemd unit, and a server
# that is started from the package.
#
#     serve.sh WORK    WORK contains unpacked/xformer-serve, control/xformer-serve, and root, the other packages
#
# package.sh sets LIBDIR, EMULATOR, and SERVE, a model that translates English to German.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
: "${LIBDIR:?}" "${SERVE:?}" "${EMULATOR=}"
cd "$1"
tree=unpacked/xformer-serve control=control/xformer-serve
read -ra program <<<"$EMULATOR $tree/usr/bin/xformer-serve"
unit=$tree/usr/lib/systemd/system/xformer-serve.service
export LD_LIBRARY_PATH=$PWD/root/usr/$LIBDIR

fail() {
    echo "FAILED: $*"
    exit 1
}

expected="./etc/default/xformer-serve
./usr/bin/xformer-serve
./usr/lib/systemd/system/xformer-serve.service
./usr/share/doc/xformer-serve/changelog.Debian.gz
./usr/share/doc/xformer-serve/changelog.gz
./usr/share/doc/xformer-serve/copyright
./usr/share/man/man1/xformer-serve.1.gz
./var/lib/xformer-serve"
diff <(echo "$expected") <(cd $tree && find . ! -type d -o -empty | sort) || fail "expected (<) and found (>) files"
diff <(printf '%s\n' conffiles control md5sums postinst postrm prerm) <(ls $control) || fail "control"
[ "$(cat $control/conffiles)" = /etc/default/xformer-serve ] || fail "conffiles"
version=$(sed -n 's/^Version: //p' $control/control) depends=$(sed -n 's/^Depends: //p' $control/control)
[[ "$depends" == "libxformer0 (= $version), "* ]] || fail "depends on $depends"
for needed in libc6 'libstdc++6' libcld2-0 libmicrohttpd12; do
    [[ "$depends" == *"$needed (>= "* ]] || fail "depends on $depends, expected $needed"
done
if readelf -dSW $tree/usr/bin/xformer-serve | grep -E 'R(UN)?PATH|\.(symtab|comment|debug_info)'; then fail "ELF file"; fi
# shellcheck disable=SC1091 # the file sets OPTIONS
OPTIONS=$(. "$tree/etc/default/xformer-serve" && echo "$OPTIONS")
[ -z "$OPTIONS" ] || fail "the package sets the options $OPTIONS"

# Without a model, the program fails and says what is missing. With one, it translates.
code=0
"${program[@]}" --model $tree/var/lib/xformer-serve 2>message || code=$?
if [ $code != 1 ] || ! grep -qF 'no model was found; expected' message; then fail "no model: $code, $(cat message)"; fi
mkdir models
cp "$SERVE" models/en-de.xf
: >serve.log # exists before the loop below reads it
"${program[@]}" --model models --port 0 >serve.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
port=
for ((i = 0; i < 300; i++)); do
    port=$(sed -n 's/.*serving on http:.*:\([0-9]*\)".*/\1/p' serve.log)
    if [ -n "$port" ] || ! kill -0 $server; then break; fi
    sleep 0.1
done
[ -n "$port" ] || fail "the server did not start: $(cat serve.log)"
# get PATH: prints the reply.
get() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
    cat <&3
}
reply=$(get /health)
[[ "$reply" == *'{"status":"ok"}' ]] || fail "/health: $reply"
reply=$(get /languages)
[[ "$reply" == *'"targets":["de"]'* ]] || fail "/languages: $reply"
kill $server
wait $server || fail "the server ended with $?: $(cat serve.log)"

# The unit, if systemd is installed. It names a program that is not installed here.
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/xformer-serve|$PWD/$tree/usr/bin/xformer-serve|" $unit >xformer-serve.service
    systemd-analyze verify --man=no "$PWD/xformer-serve.service" >verify 2>&1 || fail "the unit: $(cat verify)"
    if grep -F xformer-serve verify; then fail "the unit has warnings"; fi
    systemd-analyze security --offline=true --threshold=15 --no-pager "$PWD/xformer-serve.service" >security 2>&1 ||
        fail "the unit permits too much: $(cat security)"
    grep -F 'Overall exposure' security
else
    echo "the systemd unit was not checked: systemd is not installed"
fi
