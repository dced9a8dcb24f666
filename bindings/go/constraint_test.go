// Experimental functions: constraints of the search, and attention weights.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"testing"
)

const letterA = 2 + 'a'

// each returns a constraint that calls f for each hypothesis.
func each(f func(p Partial)) Constraint {
	return func(partials []Partial, _ int) error {
		for _, p := range partials {
			f(p)
		}
		return nil
	}
}

func TestConstraint(t *testing.T) {
	w := newWorld(t)
	texts := []string{"one two", "", "three"}
	free, err := w.decoder.Translate(background, texts, nil)
	w.must(err)
	// The translation of text i consists of i + 1 letters a.
	seen := map[int]bool{}
	spell := func(p Partial) int32 {
		for _, id := range p.IDs {
			if id != letterA {
				t.Errorf("the prefix is %v", p.IDs)
			}
		}
		if p.Remaining < 1 {
			t.Errorf("%+v", p)
		}
		seen[p.Sentence] = true
		if len(p.IDs) <= p.Sentence {
			return letterA
		}
		return tokenEnd
	}
	for name, constraint := range map[string]Constraint{
		"only": each(func(p Partial) { p.Allowed.Only(spell(p)) }),
		"forbid": func(partials []Partial, vocabSize int) error {
			if vocabSize != w.tokenizer.Info().VocabSize {
				t.Errorf("%d ids, expected %d", vocabSize, w.tokenizer.Info().VocabSize)
			}
			for _, p := range partials {
				wanted := spell(p)
				for id := int32(0); int(id) < vocabSize; id++ {
					if !p.Allowed.Has(id) {
						t.Errorf("%d is forbidden before the call", id)
					}
					if id != wanted {
						p.Allowed.Forbid(id)
					}
				}
			}
			return nil
		},
	} {
		found, err := w.decoder.Translate(background, texts, &Params{Constraint: constraint})
		if w.must(err); !reflect.DeepEqual(best(found), []string{"a", "", "aaa"}) || !found[0].Best().Finished {
			t.Errorf("%s: %+v", name, found)
		}
		if !reflect.DeepEqual(seen, map[int]bool{0: true, 2: true}) { // an empty text is not decoded
			t.Errorf("%s: the constraint received the sentences %v", name, seen)
		}
	}
	all := each(func(Partial) {})
	if found, err := w.decoder.Translate(background, texts, &Params{Constraint: all}); !reflect.DeepEqual(best(found),
		best(free)) || err != nil {
		t.Errorf("%v, %v, expected %v", found, err, free)
	}
	none := each(func(p Partial) { p.Allowed.Only() })
	nothing, err := w.decoder.Translate(background, texts[:1], &Params{Constraint: none})
	if w.must(err); nothing[0].Best().Finished || !math.IsInf(nothing[0].Best().LogProbability, -1) {
		t.Errorf("%+v", nothing)
	}
	if found, err := w.decoder.Translate(background, texts, nil); !reflect.DeepEqual(found, free) || err != nil {
		t.Errorf("%v, %v, expected %v", found, err, free)
	}
}

func TestFailingConstraint(t *testing.T) {
	w := newWorld(t)
	enough := errors.New("enough")
	batch, err := w.model.Batch([]string{"one"}, nil, nil)
	w.must(err)
	calls := []func(Constraint) error{
		func(ask Constraint) error {
			_, err := w.decoder.Decode(background, batch, &Params{Constraint: ask})
			return err
		},
		func(ask Constraint) error {
			_, err := w.decoder.Translate(background, []string{"one"}, &Params{Constraint: ask})
			return err
		},
	}
	for _, call := range calls {
		failed := refused(t, ErrCallback, call(func([]Partial, int) error { return enough }))
		if !errors.Is(failed, enough) {
			t.Error(failed)
		}
		refused(t, ErrCallback, call(each(func(p Partial) { p.Allowed.Allow(int32(len(p.Allowed))*32 - 1) })))
		failed = refused(t, ErrCallback, call(func([]Partial, int) error {
			_, err := w.decoder.Translate(background, []string{"one"}, nil)
			return err
		}))
		if !errors.Is(failed, ErrBusy) {
			t.Error(failed)
		}
		for _, id := range []int32{1 << 20, -1} {
			func() {
				defer func() {
					if _, ok := recover().(runtime.Error); !ok {
						t.Error("an index out of range does not panic")
					}
				}()
				err := call(each(func(p Partial) { p.Allowed.Allow(id) }))
				t.Errorf("no panic but %v", err)
			}()
		}
		w.must(call(nil))
	}
}
