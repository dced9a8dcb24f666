// SPDX-License-Identifier: Apache-2.0

/*
Package xformer trains and decodes the encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al. 2017)
with libxformer. The C headers are the reference manual; the names correspond: Context.TrainTokenizer is
xf_tokenizer_train. OptionTable lists all options. The README of this folder describes how to build programs.

	c, err := xformer.NewContext(nil)                              // opens the best available device
	model, err := c.LoadModel(ctx, xformer.Path("en-de.xf"), nil)
	decoder, err := model.NewDecoder(nil)
	texts, err := decoder.TranslateTexts(ctx, []string{"Do you want to save the changes?"})

# Closing objects

Close frees an object. It always returns nil and may be called repeatedly, by several goroutines, and in any order:
objects that were created from a closed object remain valid. If a call is using the object, it is freed when that call
ends. The garbage collector frees objects that were not closed, but it does not see their memory in C, so programs that
create many objects should close them. Using a closed object returns ErrClosed.

# Goroutines

Distinct objects may be used by distinct goroutines at the same time. Calls on the same object may overlap only if both
are read-only; otherwise the second call returns ErrBusy and does nothing. Read-only are all methods of Context, Corpus,
and Tokenizer, those of Model except NewTrainer, WriteTensor, SetMetadata, and DeleteMetadata, and methods that only
report properties. Goroutines that translate share a Model and use one Decoder each, or share an Engine, whose methods may
all overlap. A call of a Trainer uses its Model
exclusively; to translate during training, translate with a copy (Model.Copy).

# Cancellation, deadlines, and progress

Methods that may take long accept a context.Context, which affects only that call:
  - If it is cancelled, the call returns an error that matches ErrCancelled and context.Canceled.
  - If its deadline passes, Translate and Decode return the best hypotheses found so far. Other calls return an error
    that matches ErrDeadline and context.DeadlineExceeded.
  - WithProgress adds a function that receives the progress of the call.

A context.Context that is already done prevents the call. All objects of the call remain usable.

# Errors

Errors of this package have the type *Error. The statuses of the library are the targets of errors.Is:
errors.Is(err, xformer.ErrNotFound). If the operating system refused a request, errors.Is also matches fs.ErrNotExist,
fs.ErrPermission, and so on.

# Experimental functions

Ranks, constraints, attention weights, and gradients are marked "Experimental". They may change in any minor version.

# Processes

An object must not be used in a process that was forked from its own (ErrForked). Go programs cannot fork without exec,
so this concerns only C code.
*/
package xformer
