// Constraints of the search, and attention weights.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
)

const letterA = 2 + 'a'

func TestConstraint(t *testing.T) {
	w := newWorld(t)
	texts := []string{"one two", "", "three"}
	free, err := w.decoder.Translate(background, texts, nil)
	w.must(err)
	// The answer to each text is as many letters a as its number and one more.
	seen := map[int]bool{}
	spell := func(p Prefix) int32 {
		for _, id := range p.IDs {
			if id != letterA {
				t.Errorf("the prefix is %v", p.IDs)
			}
		}
		if p.VocabSize != w.tokenizer.Size() || p.Remaining < 1 {
			t.Errorf("%+v", p)
		}
		seen[p.Sentence] = true
		if len(p.IDs) <= p.Sentence {
			return letterA
		}
		return TokenEnd
	}
	for name, constraint := range map[string]Constraint{
		"only": func(p Prefix, allowed Allowed) error { allowed.Only(spell(p)); return nil },
		"forbid": func(p Prefix, allowed Allowed) error {
			wanted := spell(p)
			for id := int32(0); int(id) < p.VocabSize; id++ {
				if !allowed.Has(id) {
					t.Errorf("%d is forbidden at first", id)
				}
				if id != wanted {
					allowed.Forbid(id)
				}
			}
			return nil
		},
	} {
		found, err := w.decoder.Translate(background, texts, &Params{Constraint: constraint})
		if w.must(err); !reflect.DeepEqual(best(found), []string{"a", "", "aaa"}) || !found[0].Best().Finished {
			t.Errorf("%s: %+v", name, found)
		}
		if !reflect.DeepEqual(seen, map[int]bool{0: true, 2: true}) { // an empty text is not asked about
			t.Errorf("%s: asked about %v", name, seen)
		}
	}
	all := func(Prefix, Allowed) error { return nil }
	if found, err := w.decoder.Translate(background, texts, &Params{Constraint: all}); !reflect.DeepEqual(best(found),
		best(free)) || err != nil {
		t.Errorf("%v, %v, expected %v", found, err, free)
	}
	none := func(_ Prefix, allowed Allowed) error { allowed.Only(); return nil }
	nothing, err := w.decoder.Translate(background, texts[:1], &Params{Constraint: none})
	if w.must(err); nothing[0].Best().Finished || !math.IsInf(nothing[0].Best().LogProbability, -1) {
		t.Errorf("%+v", nothing)
	}
	if found, err := w.decoder.Translate(background, texts, nil); !reflect.DeepEqual(found, free) || err != nil {
		t.Errorf("%v, %v, expected %v", found, err, free)
	}
}

func TestAGivenBeginning(t *testing.T) {
	w := newWorld(t)
	target, err := w.tokenizer.Encode("vier zwei")
	w.must(err)
	target = append(target, TokenEnd)
	answers, err := w.decoder.Translate(background, []string{"four two"},
		&Params{Constraint: func(p Prefix, allowed Allowed) error {
			allowed.Only(target[len(p.IDs)])
			return nil
		}})
	w.must(err)
	pair, err := w.tokenizer.Batch([]string{"four two"}, []string{"vier zwei"})
	w.must(err)
	scores, err := w.decoder.Score(background, pair)
	w.must(err)
	if a := answers[0].Best(); a.Text != "vier zwei" || math.Abs(a.LogProbability-scores[0]) > 1e-4 {
		t.Errorf("%+v, score %v", a, scores[0])
	}
}

func TestAConstraintThatFails(t *testing.T) {
	w := newWorld(t)
	enough := errors.New("enough")
	batch, err := w.tokenizer.Batch([]string{"one"}, nil)
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
		failed := refused(t, ErrCallback, call(func(Prefix, Allowed) error { return enough }))
		if !errors.Is(failed, enough) {
			t.Error(failed)
		}
		refused(t, ErrCallback, call(func(p Prefix, allowed Allowed) error {
			allowed.Allow(int32(len(allowed))*32 - 1)
			return nil
		}))
		failed = refused(t, ErrCallback, call(func(Prefix, Allowed) error {
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
				err := call(func(_ Prefix, allowed Allowed) error {
					allowed.Allow(id)
					return nil
				})
				t.Errorf("no panic but %v", err)
			}()
		}
		w.must(call(nil))
	}
}

func TestConstraintsOfSeveralGoroutines(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	for i := int32(0); i < 4; i++ {
		group.Add(1)
		go func(letter int32) {
			defer group.Done()
			decoder, err := w.model.NewDecoder(w.config)
			if err != nil {
				t.Error(err)
				return
			}
			defer decoder.Close()
			params := &Params{Constraint: func(p Prefix, allowed Allowed) error {
				allowed.Only(letter)
				if len(p.IDs) == 3 {
					allowed.Only(TokenEnd)
				}
				return nil
			}}
			for k := 0; k < 5 && err == nil; k++ {
				var found []Answers
				found, err = decoder.Translate(background, []string{"one two three"}, params)
				if err == nil && !reflect.DeepEqual(found[0].Best().IDs, []int32{letter, letter, letter}) {
					err = errors.New("another's answer")
				}
			}
			if err != nil {
				t.Error(err)
			}
		}(letterA + i)
	}
	group.Wait()
}

func TestCancelWithinAConstraint(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	_, err := w.decoder.Translate(ctx, sources(), &Params{Constraint: func(p Prefix, allowed Allowed) error {
		cancel()
		time.Sleep(5 * time.Millisecond)
		allowed.Forbid(TokenEnd)
		return nil
	}})
	if refused(t, ErrCancelled, err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAttentionWeights(t *testing.T) {
	w := newWorld(t)
	pair, err := NewBatch([][]int32{{5, 6, 1}}, [][]int32{{9, 8, 7, 1}})
	w.must(err)
	for kind, shape := range map[AttentionKind][3]int{AttentionEncoder: {2, 3, 3}, AttentionDecoder: {2, 4, 4},
		AttentionCross: {2, 4, 3}} {
		a, err := w.decoder.AttentionWeights(background, pair, kind, 0)
		w.must(err)
		if found := [3]int{a.Heads, a.Queries, a.Keys}; found != shape || len(a.Weights) != shape[0]*shape[1]*shape[2] {
			t.Errorf("kind %d: %v and %d weights, expected %v", kind, found, len(a.Weights), shape)
		}
		for head := 0; head < a.Heads; head++ {
			for query := 0; query < a.Queries; query++ {
				sum := 0.0
				for key, weight := range a.Row(head, query) {
					if sum += float64(weight); kind == AttentionDecoder && key > query && weight != 0 {
						t.Errorf("query %d looks ahead to %d", query, key)
					}
				}
				if math.Abs(sum-1) > 1e-5 {
					t.Errorf("the weights sum to %v", sum)
				}
			}
		}
		_, err = w.decoder.AttentionWeights(background, pair, kind, 1)
		refused(t, ErrOutOfRange, err)
	}
	_, err = w.decoder.AttentionWeights(background, pair, 3, 0)
	refused(t, ErrOutOfRange, err)
	_, err = w.decoder.AttentionWeights(background, Batch{}, AttentionCross, 0)
	refused(t, ErrInvalidArgument, err)
}
