#!/usr/bin/env bash
# Translates a data set with Spark and Ray, on two workers, one of which is killed during the run. Compares the result
# with that of the program `translate`: every row once, the same bytes.
#
#     tests/surfaces/cluster/engines.sh BUILD [WORK] [LINES]     BUILD: a build of this tree (ninja -C BUILD); WORK: build/cluster; LINES: 2000
#
# Not part of run.sh, because it downloads Python packages into an environment in WORK. Requires Java 17 and the
# dependencies of bindings/python/build_wheel.sh. Ends with a count, or with status 77 if the packages are unavailable.
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
build=$(cd "${1:?usage: engines.sh BUILD [WORK] [LINES]}" && pwd)
mkdir -p "${2:-$root/build/cluster}"
work=$(cd "${2:-$root/build/cluster}" && pwd)
lines=${3:-2000}
tests=$root/tests/surfaces/cluster programs=$root/examples/cluster model=$root/examples/translate/en-de.xf
unset PYTHONPATH XFORMER_LIBRARY SPARK_HOME RAY_ADDRESS
command -v java >/dev/null || { echo "engines.sh: Spark needs Java 17 (openjdk-17-jre-headless)"; exit 77; }

say() { printf '\n== %s\n' "$*"; }

say "The engines and the binding, in a separate environment"
python=$work/environment/bin/python
if ! "$python" -c 'import pyspark, ray, pyarrow' 2>/dev/null; then
    python3 -m venv "$work/environment"
    # PySpark 4.1 does not fully support pandas 3 yet.
    "$python" -m pip -q --disable-pip-version-check install pyspark 'pandas<3' pyarrow 'ray[data]' || {
        echo "engines.sh: the packages cannot be installed; this requires a network and a package index"
        exit 77
    }
fi
rm -rf "$work/installed" "$work/wheel" "$work/data"
cmake --install "$build" --prefix "$work/installed" >"$work/install.log"
bash "$root/bindings/python/build_wheel.sh" "$work/installed" "$work/wheel" >"$work/wheel.log"
"$python" -m pip -q --disable-pip-version-check install --no-deps --force-reinstall "$work"/wheel/*.whl
"$python" -c 'import pandas, pyarrow, pyspark, ray, platform, xformer
print("Python", platform.python_version(), "Spark", pyspark.__version__, "Ray", ray.__version__, "Arrow", pyarrow.__version__,
      "pandas", pandas.__version__, "xformer", xformer.version())'

say "The plain runs"
few=$((lines / 8))
for name in "many $lines" "few $few"; do
    read -r folder count <<<"$name"
    "$python" "$tests/data.py" make "$root/examples/translate/data/small.tsv" "$count" "$work/data/$folder"
    "$build/bin/translate" translate --model "$model" <"$work/data/$folder/lines.txt" >"$work/data/$folder/plain.txt" || true
    [ "$(wc -l <"$work/data/$folder/plain.txt")" = "$count" ] # it ends with 1: some lines cannot be translated
done

passed=0 failed=0
export SPARK_HOME PYSPARK_PYTHON=$python SPARK_LOCAL_IP=127.0.0.1 RAY_DISABLE_IMPORT_WARNING=1
SPARK_HOME=$("$python" -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')
# Two executors with one processor each, in separate processes.
spark=("$SPARK_HOME/bin/spark-submit" --master 'local-cluster[2,1,1024]' --conf spark.ui.enabled=false
    --py-files "$programs/bulk.py" "$programs/spark_translate.py" --model "$model")
ray=("$python" "$tests/two_nodes.py" "$python" "$programs/ray_translate.py" --model "$model" --workers 2)

# run NAME FOLDER LOST COMMAND... OUTPUT: runs the command, compares, and counts. LOST: the text in the log about the
# killed worker; empty if none is killed.
run() {
    local name=$1 folder=$work/data/$2 lost=$3 output=${!#} began=$SECONDS log
    log=$work/$(tr -c '[:alnum:]\n' _ <<<"$name").log
    say "$name"
    if timeout 900 "${@:4}" >"$log" 2>&1 && { [ -z "$lost" ] || grep -qE "$lost" "$log"; } &&
        "$python" "$tests/data.py" compare "$folder" "$folder/plain.txt" "$output"; then
        grep -hE '^kill\.py:|without a translation$' "$log" || true
        echo "$((SECONDS - began)) s"
        passed=$((passed + 1))
    else
        tail -n 40 "$log"
        echo "FAILED: $name; all of its output is in $log"
        failed=$((failed + 1))
    fi
}

many=$work/data/many few=$work/data/few
run "Spark, text" few "" "${spark[@]}" --format text "$few/lines.txt" "$few/spark.txt"
run "Ray, text" few "" "${ray[@]}" --batch 50 --format text "$few/lines.txt" "$few/ray.txt"
run "Spark, Parquet, an executor is killed" many "Lost executor" \
    "$python" "$tests/kill.py" "$many/spark.parquet/_temporary/0/task_*" 3 CoarseGrainedExecutorBackend \
    "${spark[@]}" --partitions 16 --batch 100 "$many/rows.parquet" "$many/spark.parquet"
run "Ray, Parquet, a worker is killed" many "A worker died or was killed" \
    "$python" "$tests/kill.py" "$many/ray.parquet/*.parquet" 1 "MapWorker(MapBatches(Worker))" \
    "${ray[@]}" --partitions 16 --batch 100 "$many/rows.parquet" "$many/ray.parquet"

printf '\ncluster: %d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
