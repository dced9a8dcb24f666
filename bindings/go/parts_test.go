// The functions of each object.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"reflect"
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

func TestStrings(t *testing.T) {
	if LogWarning.String() != "warning" || LogLevel(9).String() != "LogLevel(9)" ||
		LogLevel(0).String() != "LogLevel(0)" || BackendFound.String() != "found" ||
		BackendState(9).String() != "BackendState(9)" || OptionType(9).String() != "OptionType(9)" ||
		TypeBF16.String() != "bf16" || StepRolledBack.String() != "rolled back" {
		t.Error(LogWarning, LogLevel(9), OptionType(9))
	}
}
