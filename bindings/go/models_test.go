// Sources and sinks, metadata, copies, averages, and corpora of subsets and of ids.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// manyPairs returns a corpus that takes some time to encode.
func manyPairs(w *world) *Corpus {
	var text bytes.Buffer
	for i := 0; i < 100000; i++ {
		fmt.Fprintf(&text, "word%d word%d\twort%d\n", 7919*i, 104729*i, 1299709*i)
	}
	corpus, err := w.textCorpus("many", text.Bytes(), nil)
	w.must(err)
	return corpus
}

// same checks that the parameters of two models agree.
func (w *world) same(found, expected *Model, within float64) {
	w.Helper()
	for _, info := range expected.Tensors() {
		a, err := found.ReadTensor(info.Name)
		w.must(err)
		b, err := expected.ReadTensor(info.Name)
		w.must(err)
		for i := range b {
			if math.Abs(float64(a[i]-b[i])) > within*(1+math.Abs(float64(b[i]))) {
				w.Fatalf("%s: %v, expected %v", info.Name, a[i], b[i])
			}
		}
	}
}

func TestSourcesAndSinks(t *testing.T) {
	w := newWorld(t)
	w.must(w.model.Save(background, w.file("model.xf"), nil))
	expected, err := os.ReadFile(w.path("model.xf"))
	w.must(err)
	var data []byte
	w.must(w.model.Save(background, ToBytes(&data), nil))
	opened, err := os.Create(w.path("opened.xf"))
	w.must(err)
	defer opened.Close()
	w.must(w.model.Save(background, ToFile(opened), nil))
	written, err := os.Create(w.path("written.xf"))
	w.must(err)
	defer written.Close()
	w.must(w.model.Save(background, ToWriter(written), nil))
	for _, name := range []string{"opened.xf", "written.xf"} {
		found, err := os.ReadFile(w.path(name))
		if w.must(err); !bytes.Equal(found, expected) {
			t.Errorf("%s differs from model.xf", name)
		}
	}
	if !bytes.Equal(data, expected) {
		t.Errorf("%d bytes in memory differ from %d bytes of the file", len(data), len(expected))
	}
	for name, source := range map[string]Source{"path": w.file("model.xf"), "bytes": FromBytes(data),
		"file": FromFile(opened), "reader": FromReader(bytes.NewReader(append(data, "more"...)), int64(len(data)))} {
		model, err := w.context.LoadModel(background, source, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.same(model, w.model, 0)
		summary, err := w.context.InspectModel(source, nil)
		w.must(err)
		numbers := int64(0)
		for _, info := range model.Tensors() {
			numbers += info.Size()
		}
		if summary.Parameters != numbers || summary.VocabSize != int64(w.tokenizer.Info().VocabSize) ||
			!summary.HasTokenizer || summary.FileBytes != int64(len(data)) || summary.Weights != TypeFP32 ||
			summary.Step != -1 || summary.DecodeBytes < 4*numbers || summary.TrainBytes < 16*numbers {
			t.Errorf("%s: %+v", name, summary)
		}
	}
	_, err = w.context.LoadModel(background, FromBytes(data[:len(data)-1]), nil)
	refused(t, ErrCorrupt, err)
	_, err = w.context.LoadModel(background, FromReader(bytes.NewReader(data[:100]), int64(len(data))), nil)
	if refused(t, ErrIO, err); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	w.must(opened.Close())
	err = w.model.Save(background, ToWriter(opened), nil)
	if refused(t, ErrIO, err); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	_, err = w.context.LoadModel(background, nil, nil)
	refused(t, ErrInvalidArgument, err)
	refused(t, ErrInvalidArgument, w.model.Save(background, nil, nil))

	// Tokenizers and checkpoints use the same sources and sinks.
	w.train(1)
	var words []byte
	w.must(w.tokenizer.Save(background, ToBytes(&words)))
	_, err = w.context.LoadTokenizer(background, FromBytes(words))
	w.must(err)
	w.must(w.trainer.Save(background, w.file("run.ckpt"), nil))
	checkpoint, err := os.ReadFile(w.path("run.ckpt"))
	w.must(err)
	trainer, err := w.context.ResumeTrainer(background, FromBytes(checkpoint), nil)
	if w.must(err); trainer.Steps() != 1 {
		t.Errorf("%d steps, expected 1", trainer.Steps())
	}
}

func TestWeights(t *testing.T) {
	w := newWorld(t)
	var whole, half []byte
	w.must(w.model.Save(background, ToBytes(&whole), nil))
	w.must(w.model.Save(background, ToBytes(&half), Options{"model.weights": "fp16"}))
	if len(half) >= len(whole) {
		t.Errorf("%d bytes, expected less than %d", len(half), len(whole))
	}
	model, err := w.context.LoadModel(background, FromBytes(half), Options{"model.weights": "fp32"})
	w.must(err)
	w.same(model, w.model, 1e-3)
	if tensor := model.Tensors()[0]; tensor.Type != TypeFP32 || len(tensor.Shape) == 0 {
		t.Errorf("%+v", tensor)
	}
	quantized, err := w.model.Copy(background, nil, Options{"model.weights": "int8"})
	w.must(err)
	types := map[Type]bool{}
	for _, tensor := range quantized.Tensors() {
		types[tensor.Type] = true
	}
	if !types[TypeInt8] {
		t.Errorf("the types of the copy are %v, expected int8", types)
	}
	_, err = quantized.NewTrainer(w.config)
	refused(t, ErrState, err)
	decoder, err := quantized.NewDecoder(w.config)
	w.must(err)
	_, err = decoder.Translate(background, sources(), nil)
	w.must(err)
}

func TestMetadata(t *testing.T) {
	w := newWorld(t)
	if found, err := w.model.Metadata(); len(found) != 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	expected := map[string]string{"languages": "en-de", "license": strings.Repeat("Apache-2.0 ", 100), "größe": ""}
	for key, value := range expected {
		w.must(w.model.SetMetadata(key, "another"))
		w.must(w.model.SetMetadata(key, value))
	}
	w.must(w.model.SetMetadata("gone", "x"))
	w.must(w.model.DeleteMetadata("gone"))
	refused(t, ErrInvalidArgument, w.model.SetMetadata("", "x"))
	refused(t, ErrData, w.model.SetMetadata("bad", "\xff"))
	var data []byte
	w.must(w.model.Save(background, ToBytes(&data), nil))
	loaded, err := w.context.LoadModel(background, FromBytes(data), nil)
	w.must(err)
	copied, err := w.model.Copy(background, nil, nil)
	w.must(err)
	trained, err := w.trainer.Model()
	w.must(err)
	for _, model := range []*Model{w.model, loaded, copied, trained} {
		if found, err := model.Metadata(); !reflect.DeepEqual(found, expected) || err != nil {
			t.Errorf("%v, %v, expected %v", found, err, expected)
		}
	}
}

func TestCopyAndAverage(t *testing.T) {
	w := newWorld(t)
	other, err := NewContext(testOptions)
	w.must(err)
	defer other.Close()
	for _, to := range []*Context{nil, w.context, other} {
		copied, err := w.model.Copy(background, to, nil)
		w.must(err)
		w.same(copied, w.model, 0)
		name := copied.Tensors()[0].Name
		values, err := copied.ReadTensor(name)
		w.must(err)
		before := append([]float32(nil), values...)
		for i := range values {
			values[i]++
		}
		w.must(copied.WriteTensor(name, values))
		w.must(w.model.Save(background, w.file("a.xf"), nil))
		w.must(copied.Save(background, w.file("b.xf"), nil))
		mean, err := w.context.AverageModels(background, w.file("a.xf"), w.file("b.xf"))
		w.must(err)
		found, err := mean.ReadTensor(name)
		w.must(err)
		for i := range found {
			if math.Abs(float64(found[i]-before[i])-0.5) > 1e-5 {
				t.Fatalf("%d: %v, expected %v + 0.5", i, found[i], before[i])
			}
		}
	}
}

func TestSubsetsOfACorpus(t *testing.T) {
	w := newWorld(t)
	subset, err := w.corpus.Subset([]int64{3, 0, 3})
	w.must(err)
	rest, heldOut, err := w.corpus.Split(3, 7)
	w.must(err)
	w.must(w.corpus.Close())
	for i, expected := range []Pair{testPairs[3], testPairs[0], testPairs[3]} {
		if pair, err := subset.Pair(i); pair != expected || err != nil || subset.Len() != 3 {
			t.Errorf("%v, %v, expected %v", pair, err, expected)
		}
	}
	seen := map[Pair]int{}
	for _, corpus := range []*Corpus{rest, heldOut} {
		for i := 0; i < corpus.Len(); i++ {
			pair, err := corpus.Pair(i)
			w.must(err)
			seen[pair]++
		}
	}
	if rest.Len() != len(testPairs)-3 || heldOut.Len() != 3 || len(seen) != len(testPairs) {
		t.Errorf("%d and %d pairs, %d of them distinct", rest.Len(), heldOut.Len(), len(seen))
	}
	_, err = rest.Subset(nil)
	refused(t, ErrInvalidArgument, err)
	_, err = rest.Subset([]int64{int64(rest.Len())})
	refused(t, ErrOutOfRange, err)

	odd, err := w.context.NewCorpus(background, []Pair{{"a\tb", "c\nd"}, {"", "x"}}, nil)
	w.must(err)
	if pair, err := odd.Pair(0); pair != (Pair{"a\tb", "c\nd"}) || err != nil || odd.Stats().EmptySide != 1 {
		t.Errorf("%v, %v, %+v", pair, err, odd.Stats())
	}
}

func TestCorpusOfIDs(t *testing.T) {
	w := newWorld(t)
	pairs, err := w.model.Batch(sources(), targets(), nil)
	w.must(err)
	corpus, err := w.context.NewCorpusFromIDs(background, pairs)
	w.must(err)
	_, err = corpus.Pair(0)
	refused(t, ErrState, err)
	batcher, err := corpus.NewBatcher(background, nil, w.config)
	w.must(err)
	other := newWorld(t)
	expected := other.train(10)
	var found []StepStats
	w.must(w.trainer.Train(background, batcher, 10, func(s StepStats) error {
		found = append(found, s)
		return nil
	}))
	if !reflect.DeepEqual(found, expected) {
		t.Errorf("%+v, expected %+v, as from the text", found, expected)
	}
	pairs.SrcIDs[0] = -1
	_, err = w.context.NewCorpusFromIDs(background, pairs)
	refused(t, ErrOutOfRange, err)
}
