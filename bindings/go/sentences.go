// Sentences of a text.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

// Span is a part of a text: the byte offsets of its first byte and after its last byte.
type Span struct {
	Begin, End int
}

// SplitSentences returns the sentences of a text, because a model translates single sentences. They exclude the white
// space around them, and all text between them is white space. A line end always ends a sentence. The language is an
// ISO 639-1 code; with "", the abbreviations of all languages apply. Sentences of more than maxCharacters code points
// are divided, unless it is 0. SplitSentences returns ErrData for invalid UTF-8.
func SplitSentences(text, language string, maxCharacters int) (sentences []Span, err error) {
	data := []byte(text)
	err = do(func(c *call) status {
		if maxCharacters < 0 {
			c.abort(invalid("maxCharacters is %d, expected 0 or more", maxCharacters))
		}
		code := c.text("language", language)
		spans, found := filled(make([]C.xf_span, len(text)/32+8), func(room []C.xf_span, count *C.size_t) status {
			return C.xf_split_sentences(as[C.char](data), C.size_t(len(data)), code, C.size_t(maxCharacters), first(room),
				C.size_t(len(room)), count, &c.err)
		})
		for _, span := range spans {
			sentences = append(sentences, Span{int(span.begin), int(span.end)})
		}
		return found
	})
	return sentences, err
}
