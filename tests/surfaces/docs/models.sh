#!/usr/bin/env bash
# Tests docs/models/transfer.py and card.py with a tiny model: models.sh SOURCE_FOLDER TRANSLATE
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
root=$(realpath "$1") translate=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../temp_folder.sh"
export PYTHONPATH=$root/bindings/python
transfer() { python3 "$root/docs/models/transfer.py" "$@"; }

for i in one two three four; do
    for j in one two three four; do printf '%s %s\t%s %s\n' "$i" "$j" "$j" "$i"; done
done >parent.tsv
sed 's/three/drei/g; s/four/vier/g' parent.tsv >child.tsv
expect 0 "" "$translate" train --train parent.tsv --model parent.xf --steps 5 --threads 1 --quiet \
    --tokenizer.vocab_size 270 \
    --model.d_model 8 --model.d_ff 8 --model.heads 1 --model.d_k 8 --model.d_v 8 --model.encoder_layers 1 \
    --model.decoder_layers 1 --model.tie none --model.embedding_norm true
expect 0 "" transfer parent.xf child.tsv child.xf
holds "the pieces in both vocabularies are counted" grep -qE '^[0-9]+ of 270 pieces' stdout
cat >compare.py <<'END'
import xformer
with xformer.Context() as context:
    parent, child = (xformer.Model.load(context, name) for name in ("parent.xf", "child.xf"))
    both = [{model.tokenizer.piece(i): i for i in range(270)} for model in (parent, child)]
    shared = both[0].keys() & both[1].keys()
    assert 259 < len(shared) < 270 and any(both[0][piece] != both[1][piece] for piece in shared)
    by_piece = 0
    for tensor in parent.tensors:
        old, new = (model.read(tensor.name).tolist() for model in (parent, child))
        if len(old) != 270:
            assert old == new, tensor.name
            continue
        by_piece += 1
        assert all(old[both[0][piece]] == new[both[1][piece]] for piece in shared), tensor.name
        assert all(row in old for row in new), tensor.name
    assert by_piece == 3, by_piece  # the embeddings of both sides and the output
END
expect 0 "" python3 compare.py
mkdir corpus
cp child.tsv corpus/dev.tsv
cp child.tsv corpus/test.tsv
expect 0 "" "$translate" train --train child.tsv --dev child.tsv --init child.xf --model trained.xf --steps 4 \
    --eval-every 2 --threads 1 --quiet
cp stdout log
card() { python3 "$root/docs/models/card.py" "$translate" "$@"; }
expect 0 "" card trained.xf corpus log
cp stdout card
shown() { grep -qE "^\| $1 \|" card; }
holds "the card has the architecture" shown "model \\| 1 \+ 1 layers, d_model 8, d_ff 8, 1 heads of 8, post-norm"
# 6 operations for each multiply-add: 1,792 in the encoder, 2,976 in the decoder, and 8,640 for the logits of a pair of
# 4 + 4 tokens, 16 pairs in an update, 4 updates.
holds "it has the cost" shown "cost of the training \\| 5.1e\+06 floating-point operations"
holds "it has the scores of both sets" test "$(grep -cE '^\| (dev|test) \| 16 \|' card)" = 2
holds "it has every sentence" test "$(grep -cFf "$root/docs/models/everyday.txt" card)" = 11
tail -n 1 card >row
# Each epoch has all 16 pairs.
holds "it ends with a row of results: $(cat row)" grep -qP '^trained\.xf\t4\t7648\t512\t[\d.]+\t[\d.]+\tnan\t5\.148672e\+06$' row
holds "it has the curve" shown "4 \| [0-9.]+ \| [0-9.]+ \| [0-9:]+"
expect 1 "card.py TRANSLATE MODEL.xf CORPUS LOG..." card trained.xf
expect 1 "child.tsv is not the log of a training" card trained.xf corpus child.tsv
expect 1 "No such file or directory: 'absent'" card trained.xf corpus absent
expect 1 "translate: cannot open 'absent.xf'" card absent.xf corpus log
holds "no failure shows a traceback" test "$(grep -c Traceback stderr)" = 0
sed -i '/^averaged/d; s/^dev .*/translate: interrupted after step 2/' log
expect 0 "" card trained.xf corpus log
holds "an interrupted training has a cost" grep -qF 'cost of the training | 2.6e+06 ' stdout
printf 'a\tb\n' >small.tsv
expect 1 "expected 270" transfer parent.xf small.tsv none.xf
holds "a refusal is one line" test "$(wc -l <stderr)" = 1
expect 1 "transfer.py PARENT CORPUS.tsv CHILD" transfer parent.xf
holds "the usage is one line" test "$(wc -l <stderr)" = 1
expect 1 "transfer.py: cannot open 'absent.xf'" transfer absent.xf child.tsv none.xf
end_checks 24
