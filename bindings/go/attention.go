// Attention weights.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"unsafe"
)

// AttentionKind is one of the three uses of attention (paper s. 3.2.3).
type AttentionKind int32

const (
	// AttentionEncoder is encoder self-attention: queries and keys are the source's tokens.
	AttentionEncoder AttentionKind = C.XF_ATTENTION_ENCODER
	// AttentionDecoder is decoder self-attention: queries and keys are the target's positions; none looks ahead.
	AttentionDecoder AttentionKind = C.XF_ATTENTION_DECODER
	// AttentionCross is encoder-decoder attention: queries are the target's positions, keys the source's tokens.
	AttentionCross AttentionKind = C.XF_ATTENTION_CROSS
)

// Attention is the attention weights of one layer for one pair.
type Attention struct {
	// Heads, Queries and Keys are the shape.
	Heads, Queries, Keys int
	// Weights lie head by head, query by query; each query's sum to 1.
	Weights []float32
}

// Row is the weights of one head and query, one for each key.
func (a Attention) Row(head, query int) []float32 {
	at := (head*a.Queries + query) * a.Keys
	return a.Weights[at : at+a.Keys]
}

// AttentionWeights gives the attention weights of a layer, from 0, the lowest, for a batch of one source and target:
// what Figures 3 to 5 of the paper draw. Position i of the decoder holds the token before target token i, the start
// symbol at 0, and predicts target token i.
func (d *Decoder) AttentionWeights(ctx context.Context, pair Batch, kind AttentionKind,
	layer int32) (Attention, error) {
	flat, err := flatten(pair)
	if err != nil {
		return Attention{}, err
	}
	numbers, shape := flat.c()
	var count C.size_t
	var weights []float32
	weigh := func(e *C.xf_error) C.enum_xf_status {
		return C.xfgo_attention_weights(d.ptr(), numbers, shape, C.int32_t(kind), C.int32_t(layer),
			(*C.float)(unsafe.Pointer(first(weights))), C.size_t(len(weights)), &count, e)
	}
	err = longRunning(ctx, true, func(e *C.xf_error) C.enum_xf_status {
		weights = nil
		status := weigh(e)
		if status == C.XF_ERROR_BUFFER_TOO_SMALL {
			weights = make([]float32, count)
			status = weigh(e)
		}
		return status
	}, writing(d.h))
	if err != nil {
		return Attention{}, err
	}
	a := Attention{Queries: len(pair.TgtIDs), Keys: len(pair.SrcIDs), Weights: weights}
	if kind == AttentionEncoder {
		a.Queries = len(pair.SrcIDs)
	}
	if kind == AttentionDecoder {
		a.Keys = len(pair.TgtIDs)
	}
	a.Heads = len(weights) / (a.Queries * a.Keys)
	return a, nil
}
