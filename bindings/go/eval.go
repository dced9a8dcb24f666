// Translation metrics: BLEU and chrF, equal to sacreBLEU 2.x.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

// BLEUTokenize is how BLEU splits text into words.
type BLEUTokenize int32

const (
	// BLEU13a is mteval-v13a, sacreBLEU's default: for raw text.
	BLEU13a BLEUTokenize = C.XF_BLEU_13A
	// BLEUNone splits at white space only: for text that is tokenised already.
	BLEUNone BLEUTokenize = C.XF_BLEU_NONE
	// BLEUSplitHyphens splits at white space and around a hyphen within a word, and does not smooth, for Table 2.
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

// measure calls f with two texts line by line.
func measure(hypotheses, references []string, f func(c *call, found, expected **C.char) status) error {
	return do(func(c *call) status {
		if len(hypotheses) != len(references) {
			c.abort(invalid("%d hypotheses and %d references, expected as many", len(hypotheses), len(references)))
		}
		return f(c, c.names("hypothesis", hypotheses), c.names("reference", references))
	})
}

// BLEU is corpus BLEU with one reference.
func BLEU(hypotheses, references []string, tokenize BLEUTokenize) (score BLEUScore, err error) {
	s := C.xf_bleu_score{struct_size: C.sizeof_xf_bleu_score}
	err = measure(hypotheses, references, func(c *call, found, expected **C.char) status {
		return C.xf_bleu(found, expected, C.size_t(len(hypotheses)), C.int32_t(tokenize), &s, &c.err)
	})
	for i, p := range s.precisions {
		score.Precisions[i] = float64(p)
	}
	return BLEUScore{float64(s.score), score.Precisions, float64(s.brevity_penalty), int64(s.hypothesis_length),
		int64(s.reference_length), C.GoString(&s.signature[0])}, err
}

// ChrF is corpus chrF2, 0 to 100: character n-grams to 6, beta 2, white space removed.
func ChrF(hypotheses, references []string) (float64, error) {
	var score C.double
	err := measure(hypotheses, references, func(c *call, found, expected **C.char) status {
		return C.xf_chrf(found, expected, C.size_t(len(hypotheses)), &score, &c.err)
	})
	return float64(score), err
}
