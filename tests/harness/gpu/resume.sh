# Functions of tests/gpu.sh that continue a call which was cut: by its limit, or because the machine was lost. Sourced.
#
# A stage that ended leaves a row "STAGE stage done" in results.tsv, and then the results of the call are copied to
# $state/results/CALL. The same call takes them from there, or from gpu-carry/results, where the files of OUT of the
# cut call belong if the machine was lost. Results count only if they are from the same programs and the same call.
#
# SPDX-License-Identifier: Apache-2.0
kept_files=(results.tsv bench.tsv kernels.tsv answers.txt log.txt)
kept=$state/results/${call:-none}

# The rows that results of this call with these programs begin with.
identify() {
    result build programs info 0 "$programs"
    result build call info 0 "${call:-stages}"
}

# Starts OUT with the kept results, if there are any.
resume() {
    local from='' folder file most=0 count
    rm -f "${kept_files[@]/#/$out/}" "$out"/gpu.md "$out"/base.xf.gz.*
    results=$work/identity.tsv
    identify >/dev/null
    results=$out/results.tsv
    for folder in "$kept" "$carry/results"; do
        if [ -z "$call" ] || ! cmp -s "$work/identity.tsv" <(head -n 2 "$folder/results.tsv" 2>/dev/null); then continue; fi
        count=$(cat "$folder"/{results,bench}.tsv 2>/dev/null | wc -l)
        if [ "$count" -gt $most ]; then most=$count from=$folder; fi
    done
    if [ -z "$from" ]; then
        identify
        return
    fi
    for file in "${kept_files[@]}"; do [ ! -f "$from/$file" ] || cp "$from/$file" "$out/" || exit 1; done
    # Only the rows of stages that ended, and the cases of gpu_bench.py that ended.
    awk -F '\t' 'NR == FNR { if ($3 == "done") done[$1] = 1; next } $1 == "build" || $1 in done' "$from/results.tsv" "$from/results.tsv" >"$results"
    if [ -f "$from/bench.tsv" ]; then
        awk -F '\t' '$3 == "begin" { rows = "" } { rows = rows $0 "\n" } $3 == "end" { printf "%s", rows; rows = "" }' "$from/bench.tsv" >"$out/bench.tsv"
    fi
    finished kernels || rm -f "$out/kernels.tsv"
    say "Continues the call: $(awk -F '\t' '$3 == "done" { printf "%s%s", separator, $1; separator = ", " }' "$results") ended before"
}

# finished STAGE: it ended before. For stages whose results are on the machine, a file there says so, not the results.
mark() { if [ "$1" = warm ]; then echo "$state/done.warm"; else echo "$state/done.$1.$call"; fi; }
finished() {
    case $1 in
        warm | compile) [ -n "$call" ] && [ "$(cat "$(mark "$1")" 2>/dev/null)" = "$programs" ] ;;
        *) [ -n "$call" ] && grep -q "^$1"$'\tstage\tdone\t' "$results" ;;
    esac
}

# Keeps the results of STAGE after its end, and those that it has if the time of the call is over.
keep() {
    local file
    if [ $SECONDS -lt "$budget" ] && [ -z "$no_device" ]; then
        result "$1" stage "done" $((SECONDS - stage_begin)) ""
        echo "$programs" >"$(mark "$1")"
    fi
    if [ -z "$call" ]; then return; fi
    rm -rf "$kept.new"
    mkdir -p "$kept.new" || return
    for file in "${kept_files[@]}"; do [ ! -f "$out/$file" ] || cp "$out/$file" "$kept.new/" || return; done
    rm -rf "$kept" && mv "$kept.new" "$kept"
}
