// Translation metrics: BLEU and chrF, equal to those of sacreBLEU 2.x.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

// BLEUTokenize selects how BLEU splits text into words.
type BLEUTokenize int32

const (
	// BLEU13a is mteval-v13a, the default of sacreBLEU: for raw text.
	BLEU13a BLEUTokenize = C.XF_BLEU_13A
	// BLEUNone splits at white space, for tokenized text.
	BLEUNone BLEUTokenize = C.XF_BLEU_NONE
	// BLEUSplitHyphens splits tokenized text at ASCII white space and around a hyphen within a word; precisions of zero
	// are not smoothed. This is the score of the paper's Table 2.
	BLEUSplitHyphens BLEUTokenize = C.XF_BLEU_SPLIT_HYPHENS
)

// BLEUScore is a corpus BLEU score and its parts.
type BLEUScore struct {
	// Score is 0 to 100.
	Score float64
	// Precisions are the n-gram precisions in percent, n = 1 to 4.
	Precisions [4]float64
	// BrevityPenalty is 0 to 1.
	BrevityPenalty float64
	// HypothesisLength and ReferenceLength are numbers of words.
	HypothesisLength, ReferenceLength int64
	// Signature describes how the score was computed, in the form of sacreBLEU.
	Signature string
}

// ChrFScore is a corpus chrF score.
type ChrFScore struct {
	// Score is 0 to 100.
	Score float64
	// Signature describes how the score was computed, in the form of sacreBLEU.
	Signature string
}

// segments converts hypotheses and references, which must have the same number.
func (c *call) segments(hypotheses, references []string) (**C.char, *C.size_t, **C.char, *C.size_t, C.size_t) {
	if len(hypotheses) != len(references) {
		c.abort(invalid("found %d hypotheses and %d references, expected the same number", len(hypotheses),
			len(references)))
	}
	found, foundLengths := c.texts(hypotheses)
	expected, expectedLengths := c.texts(references)
	return found, foundLengths, expected, expectedLengths, C.size_t(len(hypotheses))
}

// BLEU computes corpus BLEU with one reference per segment.
func BLEU(hypotheses, references []string, tokenize BLEUTokenize) (score BLEUScore, err error) {
	s := C.xf_bleu_score{struct_size: C.sizeof_xf_bleu_score}
	err = do(func(c *call) status {
		found, foundLengths, expected, expectedLengths, count := c.segments(hypotheses, references)
		return C.xf_bleu(found, foundLengths, expected, expectedLengths, count, C.int32_t(tokenize), &s, &c.err)
	})
	for i, p := range s.precisions {
		score.Precisions[i] = float64(p)
	}
	return BLEUScore{float64(s.score), score.Precisions, float64(s.brevity_penalty), int64(s.hypothesis_length),
		int64(s.reference_length), C.GoString(&s.signature[0])}, err
}

// ChrF computes corpus chrF2: character n-grams up to 6, beta 2, white space removed.
func ChrF(hypotheses, references []string) (ChrFScore, error) {
	s := C.xf_chrf_score{struct_size: C.sizeof_xf_chrf_score}
	err := do(func(c *call) status {
		found, foundLengths, expected, expectedLengths, count := c.segments(hypotheses, references)
		return C.xf_chrf(found, foundLengths, expected, expectedLengths, count, &s, &c.err)
	})
	return ChrFScore{float64(s.score), C.GoString(&s.signature[0])}, err
}
