#!/bin/sh
# Checks the direction of includes and the location of system headers: api -> train, decode, eval -> ranks, nn, data,
# text -> backend -> comm -> core.
#
# data may use text; nn includes neither data nor text; text and data do not include tensors. Backends in cpu/ and cuda/
# include two files of the library. Only lib/backend, cpu, and cuda use CUDA or BLAS. Public headers include only public
# headers.
#
#   includes.sh ROOT
#
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$1"
failed=0
seen=0

# folder: what its files may include in addition to the C and C++ libraries. "xformer/" stands for the public headers.
while read -r folder allowed; do
    [ -d "$folder" ] || continue
    pattern=$(echo "$allowed" | sed 's/ /|/g')
    found=$(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$folder" --include='*.h' --include='*.cpp' \
        --include='*.inl' --include='*.cu' --include='*.cuh' --include='*.hpp' || true)
    seen=$((seen + $(echo "$found" | grep -c . || true)))
    wrong=$(echo "$found" | grep -vE "include[[:space:]]*\"($pattern)" | grep . || true)
    if [ -n "$wrong" ]; then
        echo "$folder may include: $allowed. It also includes:"
        echo "$wrong"
        failed=1
    fi
done <<'RULES'
include/xformer xformer/
lib/core core/ xformer/
lib/comm comm/ core/ xformer/
lib/backend backend/ comm/ core/ xformer/
lib/text text/ core/ xformer/
lib/data data/ text/ core/ xformer/
lib/nn nn/ backend/ core/ xformer/
lib/ranks ranks/ backend/ comm/ core/ xformer/
lib/train train/ ranks/ nn/ data/ text/ backend/ comm/ core/ xformer/
lib/decode decode/ nn/ data/ text/ backend/ comm/ core/ xformer/
lib/eval eval/ nn/ data/ text/ backend/ core/ xformer/
lib/api api/ train/ decode/ eval/ ranks/ nn/ data/ text/ backend/ comm/ core/ xformer/
cpu/ref ref/ backend/plugin_abi\.h core/(philox|half|int8)\.h
cpu/openblas [a-z0-9_]+\.(h|inl)" backend/plugin_abi\.h core/philox\.h core/os/plugin\.h
cuda [a-z0-9_]+\.(h|cuh|inl)" backend/plugin_abi\.h core/philox\.h comm/plugin(_support)?\.h
RULES
[ $seen -ge 100 ] || { echo "found only $seen includes, expected at least 100"; exit 1; }

for folder in lib/*/; do
    ls "$folder" | grep -qE '\.(h|cpp|inl)$' || continue  # contains no code
    case " core comm backend ranks text data nn train decode eval api " in
        *" $(basename "$folder") "*) ;;
        *) echo "this script has no rule for $folder"; failed=1 ;;
    esac
done
# System headers and system calls are in lib/core/os only. A header in <> that ends with .h or has a folder is a system
# header, unless it is listed here. Vector headers are listed with the files that use them. cuda/ is not checked: that
# plugin exists only for Linux.
files='find include lib cpu -name "*.h" -o -name "*.hpp" -o -name "*.cpp" -o -name "*.inl"'
all=$(eval "$files" | xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<([^>]*\.h|[^>]*/[^>]*)>')
foreign=$(echo "$all" | grep -vE \
    -e '^lib/core/os/[a-z_]+\.(h|cpp):' \
    -e '<(stddef|stdint)\.h>' \
    -e '^lib/.*<(rapidjson/|utf8proc\.h)' \
    -e '^lib/comm/mpi/mpi_comm\.cpp:.*<mpi\.h>' \
    -e '^(lib/core/(sha256\.cpp|float_state\.h)|cpu/openblas/kernels\.inl):.*<[xi]mmintrin\.h>' \
    -e '^cpu/openblas/(kernels\.inl|int8_(dot|i8mm)\.cpp):.*<(arm_neon|wasm_simd128)\.h>' || true)
calls='secure_getenv|posix_memalign|realpath|strerror_r|strerrordesc_np|getpid|clock_gettime|gettimeofday|fileno|usleep'
calls="$calls|sched_yield|getauxval|mmap|dlopen|dlsym|dladdr"
foreign="$foreign$(eval "$files" | xargs grep -nE "[^A-Za-z_.>]($calls) *\(" | grep -v '^lib/core/os/' || true)"
if [ -n "$foreign" ]; then
    echo "system headers or calls outside lib/core/os:"
    echo "$foreign"
    failed=1
fi
seen_os=$(echo "$all" | grep -c '^lib/core/os/')
[ "$seen_os" -ge 20 ] || { echo "found $seen_os system headers in lib/core/os, expected at least 20"; failed=1; }
# Plugins include plugin_abi.h and philox.h, so neither may include the library.
if grep -nE 'include *"' lib/core/philox.h; then echo "lib/core/philox.h includes the library"; failed=1; fi
if grep -nE 'include *"' lib/backend/plugin_abi.h | grep -v '"xformer/'; then
    echo "lib/backend/plugin_abi.h includes the library"
    failed=1
fi
calls='(cuda[A-Z][A-Za-z]+|cublas[A-Za-z]*|cblas_[a-z]+|openblas_[a-z_]+|[sd]gemm_) *\('
foreign=$(grep -rnE "$calls|include *[<\"](cuda|cublas|cblas|openblas)" \
    lib include --include='*.h' --include='*.cpp' | grep -v '^lib/backend/' || true)
if [ -n "$foreign" ]; then
    echo "CUDA or BLAS outside lib/backend, cpu, and cuda:"
    echo "$foreign"
    failed=1
fi
echo "$seen includes checked"
exit $failed
