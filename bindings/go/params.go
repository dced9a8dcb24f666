// Parameters of one call of Translate or Decode.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

// Params are parameters of one call of Translate or Decode. The zero value selects the defaults.
type Params struct {
	// Settings are options of the groups "decode." and "text." that override those of the decoder during the call.
	Settings Settings
	// Prefixes are the texts with which the translations begin, one for each text; "": none.
	Prefixes []string
	// PrefixIDs are the ids with which the hypotheses of a batch begin, one slice for each sentence, without start and
	// end symbol.
	PrefixIDs [][]int32
	// Constraint restricts the tokens that may follow a hypothesis. Experimental: may change in any minor version.
	Constraint Constraint
}

// params converts the parameters of a call with the given number of sentences.
func (c *call) params(p *Params, sentences int) *C.xf_decode_params {
	if p == nil {
		return nil
	}
	given := first(newArray[C.xf_decode_params](c, 1))
	*given = C.xf_decode_params{struct_size: C.sizeof_xf_decode_params, config: c.config(p.Settings)}
	for _, count := range []int{len(p.Prefixes), len(p.PrefixIDs)} {
		if count != 0 && count != sentences {
			c.abort(invalid("found %d prefixes for %d sentences, expected one for each", count, sentences))
		}
	}
	if p.Prefixes != nil {
		given.prefixes, given.prefix_lengths = c.texts(p.Prefixes)
	}
	if p.PrefixIDs != nil {
		ids, offsets := packSide(p.PrefixIDs)
		given.prefix_ids, given.prefix_offsets = array[C.int32_t](c, ids), array[C.int64_t](c, offsets)
	}
	if p.Constraint != nil {
		given.constraint = c.constraint(p.Constraint)
	}
	return given
}
