#!/usr/bin/env bash
# Tests the Python binding against an installed tree: from its sources, and as a wheel that contains the library.
#
#     bindings/python/test.sh PREFIX WORK      PREFIX: of cmake --install; WORK: a folder for build results
#
# Exits with 77 if a tool is missing. Debian packages: python3-pip, python3-setuptools, python3-wheel, python3-pytest,
# patchelf, binutils; python3-numpy and mypy are optional. PYTHON selects another interpreter that has these; the
# default is Debian's, not the first in PATH.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$(cd "${1:?usage: test.sh PREFIX WORK}" && pwd)
mkdir -p "${2:?usage: test.sh PREFIX WORK}"
work=$(cd "$2" && pwd)
export PYTHON=${PYTHON:-/usr/bin/python3} PYTHONDONTWRITEBYTECODE=1 PIP_ROOT_USER_ACTION=ignore
unset PYTHONPATH

for tool in patchelf readelf strip; do
    command -v "$tool" >/dev/null || { echo "test.sh: $tool is missing"; exit 77; }
done
"$PYTHON" -W ignore -c 'import setuptools, pip, wheel, pytest' || {
    echo "test.sh: $PYTHON lacks the module named above"
    exit 77
}

say() { printf '\n== %s\n' "$*"; }
fresh() { rm -rf "${work:?}/$1" && mkdir "$work/$1" && cd "$work/$1"; }
# python_sentence: the one-line program of the README.
python_sentence() { sed -n "s/^python3 -c '\(.*\)'\$/\1/p" "$here/README.md"; }
suite() { "$@" -m pytest -q -p no:cacheprovider "$here" "${only[@]}"; }
only=()

say "The package with the installed library"
fresh sources
(
    . "$here/../environment.sh" "$prefix"
    only=(-k "not its_programs")  # run below as numerals.py
    suite "$PYTHON"
    # The package without the library, from a source distribution as on PyPI.
    cp -RL "$here" tree && chmod -R u+w tree
    (cd tree && "$PYTHON" setup.py -q sdist --dist-dir .. 2>log) || { cat tree/log; exit 1; }
    "$PYTHON" -m pip -q --disable-pip-version-check --no-cache-dir install --no-index --no-deps --no-build-isolation \
        --target installed xformer-*.tar.gz
    test ! -e installed/xformer/lib
    # The README's programs train a tiny model, which the benchmark then uses, and serve it.
    export PYTHONPATH=installed
    sed -n '/^```python$/,/^```$/p' "$here/README.md" | grep -v '^```' >numerals.py
    "$PYTHON" numerals.py | tee output
    grep -q '^step 500  loss ' output
    grep -qx 'three two one -> drei zwei eins' output
    tail -n 1 output | grep -qx 'vier drei zwei'
    printf '%s\n' "three two one" "four" "one two three four" >texts
    "$PYTHON" "$here/bench.py" numerals.xf texts translations 2 | tee seconds
    [ "$(grep -cxE '[0-9]+\.[0-9]{6}' seconds)" = 2 ]
    diff translations <(printf '%s\n' "drei zwei eins" "vier" "eins zwei drei vier")
)

say "Types"
if command -v mypy >/dev/null; then
    cd "$here"
    mypy --cache-dir "$work/mypy" --python-executable "$PYTHON" xformer
else
    echo "skipped: mypy is not installed"
fi

say "The wheel, in a virtual environment, without the installed library"
fresh wheel
bash "$here/build_wheel.sh" "$prefix" "$work/wheel"
"$PYTHON" -m venv --without-pip --system-site-packages environment
"$PYTHON" -m pip -q --disable-pip-version-check --no-cache-dir --python environment/bin/python \
    install --no-index ./*.whl
alone() { env -i PATH=/usr/bin:/bin "$@"; }
alone environment/bin/python - "$work/wheel/environment" <<'END'
import sys
import xformer
with xformer.Context() as context:
    plugin = next(backend for backend in context.backends if backend.name == "openblas")
    assert plugin.state == xformer.BackendState.ACTIVE and plugin.path.startswith(sys.argv[1]), plugin
with open("/proc/self/maps") as maps:
    loaded = {line.split()[5] for line in maps if any(name in line for name in ("xformer", "utf8proc"))}
strangers = [path for path in loaded if not path.startswith(sys.argv[1])]
assert loaded and not strangers, strangers
END
# The glibc of the platform tag is not older than the one that the files require. pip has checked that this system
# provides it.
promised=$(sed -E 's/.*-py3-none-manylinux_2_([0-9]+)_.*/\1/' <<<"$(echo ./*.whl)")
asked=$(objdump -T environment/lib/python3*/site-packages/xformer/lib/* | grep -oE 'GLIBC_2\.[0-9]+' |
    sort -V | tail -n 1)
echo "the files require $asked; the tag says 2.$promised"
[ "$promised" -ge "${asked#GLIBC_2.}" ]
cp ../sources/numerals.xf en-de.xf
[ "$(alone environment/bin/python -c "$(python_sentence)" | wc -l)" = 1 ]
# Long tests that ran above and do not depend on the location of the library are skipped.
elsewhere="test_convert_hf test_engine test_errors test_arguments test_contracts leak its_programs flipped_bits"
only=(-k "not ${elsewhere// / and not }")
suite env -i PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 environment/bin/python
echo "the Python binding passed"
