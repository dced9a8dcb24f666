// Translation metrics: BLEU and chrF, equal to sacreBLEU 2.x.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

// BLEUTokenize is how BLEU splits text into words.
type BLEUTokenize int32

const (
	// BLEU13a is mteval-v13a, sacreBLEU's default: for raw text.
	BLEU13a BLEUTokenize = C.XF_BLEU_13A
	// BLEUNone splits at white space only: for text that is tokenised already.
	BLEUNone BLEUTokenize = C.XF_BLEU_NONE
	// BLEUSplitHyphens splits at white space and around a hyphen within a word, and does not smooth: as the paper's
	// Table 2.
	BLEUSplitHyphens BLEUTokenize = C.XF_BLEU_SPLIT_HYPHENS
)

// BLEUScore is a corpus BLEU score with its parts.
type BLEUScore struct {
	// Score is 0 to 100.
	Score float64
	// Precisions are those of n-grams, n = 1 to 4, in percent.
	Precisions [4]float64
	// BrevityPenalty is 0 to 1.
	BrevityPenalty float64
	// HypothesisLength and ReferenceLength count words.
	HypothesisLength, ReferenceLength int64
	// Signature tells what was computed, in sacreBLEU's manner.
	Signature string
}

// segments are two texts line by line, as C takes them.
func segments(hypotheses, references []string) (found, expected stringArray, err error) {
	if len(hypotheses) != len(references) {
		return found, expected, invalid("%d hypotheses and %d references, expected as many", len(hypotheses),
			len(references))
	}
	if found, err = newCStringArray("hypothesis", hypotheses); err == nil {
		expected, err = newCStringArray("reference", references)
	}
	return found, expected, err
}

// BLEU is corpus BLEU with one reference.
func BLEU(hypotheses, references []string, tokenize BLEUTokenize) (BLEUScore, error) {
	found, expected, err := segments(hypotheses, references)
	if err != nil {
		return BLEUScore{}, err
	}
	s := C.xf_bleu_score{struct_size: C.sizeof_xf_bleu_score}
	var e C.xf_error
	err = check(C.xfgo_bleu(chars(found.text), first(found.lengths), chars(expected.text), first(expected.lengths),
		C.size_t(len(hypotheses)), C.int32_t(tokenize), &s, &e), &e)
	if err != nil {
		return BLEUScore{}, err
	}
	score := BLEUScore{
		Score:            float64(s.score),
		BrevityPenalty:   float64(s.brevity_penalty),
		HypothesisLength: int64(s.hypothesis_length),
		ReferenceLength:  int64(s.reference_length),
		Signature:        C.GoString(&s.signature[0]),
	}
	for i, p := range s.precisions {
		score.Precisions[i] = float64(p)
	}
	return score, nil
}

// ChrF is corpus chrF2, 0 to 100: character n-grams to 6, beta 2, white space removed.
func ChrF(hypotheses, references []string) (float64, error) {
	found, expected, err := segments(hypotheses, references)
	if err != nil {
		return 0, err
	}
	var score C.double
	var e C.xf_error
	err = check(C.xfgo_chrf(chars(found.text), first(found.lengths), chars(expected.text), first(expected.lengths),
		C.size_t(len(hypotheses)), &score, &e), &e)
	return float64(score), err
}
