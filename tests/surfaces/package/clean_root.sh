#!/usr/bin/env bash
# Tests the Debian packages on a fresh Debian: apt installs them, an ordinary user compiles the examples and runs the demo,
# apt purges them, and no file remains.
#
#     debootstrap --variant=minbase bookworm ROOT
#     tests/surfaces/package/clean_root.sh ROOT FOLDER       FOLDER contains the packages of package.sh FOLDER
#
# Not run by ctest, because it requires root, a network for apt, and five minutes. DEMO_MINUTES is the training time of
# the demo (default 1).
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
export LC_ALL=C
if [ $# != 2 ] || [ ! -e "$1/etc/debian_version" ] || [ "$(id -u)" != 0 ]; then
    echo "Usage, as root: clean_root.sh ROOT FOLDER; ROOT is a Debian root file system, for example of debootstrap" >&2
    exit 2
fi
root=$(cd "$1" && pwd -P)
mapfile -t debs < <(find "$(cd "$2" && pwd -P)" -maxdepth 1 -name '*xformer*.deb' | sort)
[ ${#debs[@]} -ge 2 ] || { echo "$2 contains ${#debs[@]} packages, expected libxformer0 and libxformer-dev" >&2; exit 2; }
log=$(mktemp)
mounted=no
finish() {
    if [ $mounted = yes ]; then umount "$root/proc"; fi
    rm -rf "$log" "$log".* "$root/tmp/packages" "$root/tmp/stranger"
}
trap finish EXIT
if ! mountpoint -q "$root/proc"; then
    mount -t proc proc "$root/proc"
    mounted=yes
fi

say() { printf '\n== %s\n' "$*"; }

fail() {
    echo "FAILED: $*"
    exit 1
}

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }

# stranger COMMANDS: runs commands as an unprivileged user in a separate folder.
stranger() {
    inside HOME=/tmp/stranger DEMO_MINUTES="${DEMO_MINUTES:-1}" setpriv --reuid=12345 --regid=12345 --clear-groups \
        bash -euc "cd /tmp/stranger; examples=/usr/share/doc/libxformer-dev/examples; $1" 2>&1 | tee "$log"
}

# quietly COMMAND...: shows the output only if the command fails.
quietly() {
    "$@" >"$log" 2>&1 && return
    cat "$log"
    fail "$*"
}

# Lists all files, except the databases of apt and dpkg, and the libraries of the loader's cache.
snapshot() {
    inside find / -xdev \( -path /proc -o -path /tmp -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/cache \
        -o -path /var/log \) -prune -o -printf '%y %m %u:%g %p %l\n' | sort >"$1"
    inside ldconfig -p | sed 1d | sort >>"$1"
    inside dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' | sort >>"$1"
}

say "A C compiler, and what is there"
quietly inside apt-get update -q
quietly inside apt-get install -q -y --no-install-recommends gcc libc6-dev pkg-config cmake
mkdir -p "$root/tmp/packages" "$root/tmp/stranger"
cp "${debs[@]}" "$root/tmp/packages/"
chmod 755 "$root/tmp/packages"
chmod 644 "$root"/tmp/packages/*
chown 12345:12345 "$root/tmp/stranger"
snapshot "$log.before"

say "apt install ./*.deb"
quietly inside sh -c 'cd /tmp/packages && apt install -y ./*.deb'
grep -E '^(Setting up|Processing triggers)' "$log"
inside ldconfig -p | grep -F libxformer.so.0 || fail "the loader does not know the library"
names=()
for deb in "${debs[@]}"; do names+=("$(dpkg-deb -f "$deb" Package)"); done
quietly inside dpkg --verify "${names[@]}"
[ ! -s "$log" ] || { cat "$log"; fail "dpkg --verify"; }

say "The first program"
stranger 'cc $examples/first/train.c $(pkg-config --cflags --libs xformer) -o train && ./train model.xf'
grep -qF 'three two one -> drei zwei eins' "$log" || fail "train.c learnt something else"
stranger 'cc $examples/first/first.c $(pkg-config --cflags --libs xformer) -o first && ./first model.xf "three two one"'
grep -qxF 'drei zwei eins' "$log" || fail "first.c gave another answer"

say "The demo"
# shellcheck disable=SC2016 # the shell inside knows $examples
stranger '(cd / && ! $examples/translate/demo.sh)'
grep -qF 'the current folder is not writable' "$log" || fail "the demo took a folder that it can't write to"
stranger '$examples/translate/demo.sh'
grep -qE '^ *BLEU|BLEU +[0-9]' "$log" || fail "the demo measured nothing"
stranger 'echo "Choose File - Save." | xformer-demo/bin/translate translate --model xformer-demo/small.xf 2>/dev/null'
[ -s "$log" ] || fail "no translation"

if [[ " ${names[*]} " == *" xformer-serve "* ]]; then
    say "The server"
    # shellcheck disable=SC2016 # these are variables of the shell inside
    stranger 'xformer-serve --model en-de=xformer-demo/small.xf --port 0 >serve.log & server=$!
        for ((i = 0; i < 300; i++)); do grep -qs "serving on" serve.log && break; sleep 0.1; done
        kill $server; wait $server; cat serve.log'
    grep -qF '"serving on' "$log" || fail "the server did not start"
    grep -qF '"ended"' "$log" || fail "the server did not end"
fi

say "apt purge"
quietly inside apt-get purge -y --autoremove "${names[@]}"
snapshot "$log.after"
diff "$log.before" "$log.after" || fail "purging leaves (>) or took (<) something"
echo "clean root: ${names[*]} were installed, used, and purged; no file remained"
