// Models in files, in memory and from readers; what is kept with them; corpora of parts and of ids.
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
	"testing"
)

// manyPairs is a corpus that takes a while to encode.
func manyPairs(w *world) *Corpus {
	var text bytes.Buffer
	for i := 0; i < 100000; i++ {
		fmt.Fprintf(&text, "word%d word%d\twort%d\n", 7919*i, 104729*i, 1299709*i)
	}
	corpus, err := w.context.NewCorpus(background, "many", text.Bytes(), nil)
	w.must(err)
	return corpus
}

// same checks that two models have about the same numbers.
func (w *world) same(found, expected *Model, within float64) {
	w.Helper()
	for _, info := range expected.Params() {
		a, err := found.ReadParam(info.Name)
		w.must(err)
		b, err := expected.ReadParam(info.Name)
		w.must(err)
		for i := range b {
			if math.Abs(float64(a[i]-b[i])) > within*(1+math.Abs(float64(b[i]))) {
				w.Fatalf("%s: %v, expected %v", info.Name, a[i], b[i])
			}
		}
	}
}

func TestBytesAndReaders(t *testing.T) {
	w := newWorld(t)
	w.must(w.model.Save(background, w.path("model.xf"), nil))
	expected, err := os.ReadFile(w.path("model.xf"))
	w.must(err)
	data, err := w.model.Bytes(background, nil)
	if w.must(err); !bytes.Equal(data, expected) {
		t.Errorf("%d bytes, other than the %d of the file", len(data), len(expected))
	}
	for name, source := range map[string]Source{"file": FromFile(w.path("model.xf")), "bytes": FromBytes(data),
		"reader": FromReader(bytes.NewReader(append(data, "more"...)), int64(len(data)))} {
		model, err := w.context.LoadModelFrom(background, source)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.same(model, w.model, 0)
		summary, err := w.context.InspectModel(source, nil)
		w.must(err)
		numbers := int64(0)
		for _, info := range model.Params() {
			numbers += info.Rows * info.Columns
		}
		if summary.Parameters != numbers || summary.VocabSize != int64(w.tokenizer.Size()) || !summary.HasTokenizer ||
			summary.FileBytes != int64(len(data)) || summary.Precision != "fp32" || summary.Step != -1 ||
			summary.DecodeBytes < 4*numbers || summary.TrainBytes < 16*numbers {
			t.Errorf("%s: %+v", name, summary)
		}
	}
	_, err = w.context.LoadModelFrom(background, FromBytes(data[:len(data)-1]))
	refused(t, ErrCorrupt, err)
	_, err = w.context.LoadModelFrom(background, FromReader(bytes.NewReader(data[:100]), int64(len(data))))
	if refused(t, ErrIO, err); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestHalfAsLarge(t *testing.T) {
	w := newWorld(t)
	whole, err := w.model.Bytes(background, nil)
	w.must(err)
	w.must(w.model.Save(background, w.path("half.xf"), Options{"file.precision": "fp16"}))
	half, err := os.Stat(w.path("half.xf"))
	if w.must(err); half.Size() >= int64(len(whole)) {
		t.Errorf("%d bytes, expected less than %d", half.Size(), len(whole))
	}
	model, err := w.context.LoadModel(background, w.path("half.xf"))
	w.must(err)
	w.same(model, w.model, 1e-3)
}

func TestMetadata(t *testing.T) {
	w := newWorld(t)
	if found, err := w.model.Metadata(); len(found) != 0 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	expected := map[string]string{"languages": "en-de", "licence": "Apache-2.0", "größe": ""}
	for key, value := range expected {
		w.must(w.model.SetMetadata(key, "another"))
		w.must(w.model.SetMetadata(key, value))
	}
	w.must(w.model.SetMetadata("gone", "x"))
	w.must(w.model.DeleteMetadata("gone"))
	refused(t, ErrInvalidArgument, w.model.SetMetadata("", "x"))
	refused(t, ErrData, w.model.SetMetadata("bad", "\xff"))
	data, err := w.model.Bytes(background, nil)
	w.must(err)
	loaded, err := w.context.LoadModelFrom(background, FromBytes(data))
	w.must(err)
	copied, err := w.model.Copy(nil)
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
		copied, err := w.model.Copy(to)
		w.must(err)
		w.same(copied, w.model, 0)
		name := copied.Params()[0].Name
		values, err := copied.ReadParam(name)
		w.must(err)
		before := append([]float32(nil), values...)
		for i := range values {
			values[i]++
		}
		w.must(copied.WriteParam(name, values))
		paths := []string{w.path("a.xf"), w.path("b.xf")}
		w.must(w.model.Save(background, paths[0], nil))
		w.must(copied.Save(background, paths[1], nil))
		ofFiles, err := w.context.AverageFiles(background, paths)
		w.must(err)
		means := []*Model{ofFiles}
		if to != other {
			mean, err := w.model.Average(background, copied)
			w.must(err)
			means = append(means, mean)
		}
		for _, mean := range means {
			found, err := mean.ReadParam(name)
			w.must(err)
			for i := range found {
				if math.Abs(float64(found[i]-before[i])-0.5) > 1e-5 {
					t.Fatalf("%d: %v, expected %v and a half", i, found[i], before[i])
				}
			}
		}
	}
}

func TestPartsOfACorpus(t *testing.T) {
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

	odd, err := w.context.NewCorpusFromPairs(background, []Pair{{"a\tb", "c\nd"}, {"", "x"}}, nil)
	w.must(err)
	if pair, err := odd.Pair(0); pair != (Pair{"a\tb", "c\nd"}) || err != nil || odd.Stats().EmptySide != 1 {
		t.Errorf("%v, %v, %+v", pair, err, odd.Stats())
	}
}

func TestACorpusOfIDs(t *testing.T) {
	w := newWorld(t)
	pairs, err := w.tokenizer.Batch(sources(), targets())
	w.must(err)
	corpus, err := w.context.NewCorpusFromIDs(pairs)
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
		t.Errorf("%+v, expected %+v as from the text", found, expected)
	}
	pairs.SrcIDs[0] = -1
	_, err = w.context.NewCorpusFromIDs(pairs)
	refused(t, ErrOutOfRange, err)
}
