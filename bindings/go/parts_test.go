// The functions of each object.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"io"
	"reflect"
	"sort"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	config, err := NewConfig("tiny", Options{"model.d_model": 64, "train.dropout": "1e-1", "data.strict": true,
		"train.learning_rate": 2, "decode.alpha": float32(0.5), "model.heads": int8(4)})
	must(t, err)
	defer config.Close()
	for key, expected := range map[string]any{"model.d_model": int64(64), "train.dropout": 0.1, "data.strict": true,
		"context.device": "auto", "train.learning_rate": 2.0, "decode.alpha": 0.5, "model.heads": int64(4)} {
		if found, err := config.Get(key); err != nil || found != expected {
			t.Errorf("%s is %v, %v, expected %v", key, found, err, expected)
		}
	}
	if text, err := config.Text("model.d_model"); text != "64" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	copied, err := config.Copy()
	must(t, err)
	must(t, copied.SetAll(Options{"data.strict": "false", "model.norm": "pre"}))
	if strict, err := config.Bool("data.strict"); !strict || err != nil {
		t.Error("a copy changed its original")
	}
	table := OptionTable()
	if len(table) < 40 {
		t.Errorf("%d options", len(table))
	}
	for _, row := range table {
		value, err := copied.Get(row.Key)
		must(t, err)
		if kind := reflect.TypeOf(value).String(); kind != row.Type.String() {
			t.Errorf("%s is a %s, expected a %v", row.Key, kind, row.Type)
		}
		must(t, copied.Set(row.Key, value))
		must(t, copied.Set(row.Key, row.Default))
		if row.Doc == "" || row.Since == "" || row.Minimum > row.Maximum {
			t.Errorf("%+v", row)
		}
		if row.Key == "model.norm" && !reflect.DeepEqual(row.Choices, []string{"post", "pre", "post_rms", "pre_rms"}) {
			t.Errorf("%+v", row)
		}
	}
	if row, err := FindOption("decode.beam"); row.Key != "decode.beam" || row.Type != OptionInteger || err != nil {
		t.Errorf("%+v, %v", row, err)
	}
	var none *Config
	context, err := NewContext(none)
	must(t, err)
	must(t, context.Close())
}

func TestBuffersGrow(t *testing.T) {
	w := newWorld(t)
	text, word := "", strings.Repeat("x", 100)
	for i := 0; i < 20; i++ {
		text += word + "\t" + word + "\n"
	}
	corpus, err := w.textCorpus("long words", []byte(text), nil)
	w.must(err)
	tokenizer, err := w.context.TrainTokenizer(background, corpus, Options{"tokenizer.vocab_size": 400})
	w.must(err)
	tokens, err := tokenizer.Encode(word)
	w.must(err)
	if back, err := tokenizer.Decode(tokens); back != word || err != nil || 8*len(tokens)+16 > len(word) {
		t.Errorf("%d ids, %q, %v", len(tokens), back, err)
	}
	if piece, err := tokenizer.Piece(tokens[0]); len(piece) < 64 || err != nil {
		t.Errorf("%q, %v", piece, err)
	}
}

func TestBatcher(t *testing.T) {
	w := newWorld(t)
	var epochs [2][]Batch
	for i := range epochs {
		var seen []int
		batch, err := w.batcher.Next(background)
		for ; err == nil; batch, err = w.batcher.Next(background) {
			epochs[i] = append(epochs[i], batch)
			for _, pair := range batch.PairIndex {
				seen = append(seen, int(pair))
			}
		}
		if err != io.EOF {
			t.Error(err)
		}
		sort.Ints(seen)
		for k, pair := range seen {
			if pair != k || len(seen) != len(testPairs) {
				t.Fatalf("epoch %d gave the pairs %v", i, seen)
			}
		}
	}
	if stats, err := w.batcher.Stats(); stats.Epoch != 2 || stats.Pairs != int64(len(testPairs)) || err != nil {
		t.Errorf("%+v, %v", stats, err)
	}
	w.must(w.batcher.SeekTo(background, 0, 1))
	again := w.batch()
	if !reflect.DeepEqual(again, epochs[0][1]) {
		t.Errorf("%v, expected %v", again, epochs[0][1])
	}
	for i := 0; i < again.Len(); i++ {
		pair := testPairs[again.PairIndex[i]]
		source, err := w.tokenizer.Decode(again.Src(i))
		w.must(err)
		target, err := w.tokenizer.Decode(again.Tgt(i))
		if w.must(err); (Pair{source, target}) != pair {
			t.Errorf("%q, %q, expected %v", source, target, pair)
		}
	}
	packed, err := w.model.Batch([]string{"one", "two two"}, []string{"eins", "zwei zwei"}, nil)
	if w.must(err); packed.Len() != 2 || packed.TgtOffsets[2] != int64(len(packed.TgtIDs)) {
		t.Errorf("%+v", packed)
	}
}

func TestStrings(t *testing.T) {
	if LogWarning.String() != "warning" || LogLevel(9).String() != "LogLevel(9)" ||
		LogLevel(0).String() != "LogLevel(0)" || BackendFound.String() != "found" ||
		BackendState(9).String() != "BackendState(9)" || OptionType(9).String() != "OptionType(9)" ||
		TypeBF16.String() != "bf16" || StepRolledBack.String() != "rolled back" {
		t.Error(LogWarning, LogLevel(9), OptionType(9))
	}
}
