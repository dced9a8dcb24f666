// SPDX-License-Identifier: Apache-2.0

/*
Package xformer trains and decodes the encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al.
2017), by libxformer. Its manual is the C headers: Context.TrainTokenizer is xf_tokenizer_train and so on, and
OptionTable lists all options. The README of this folder shows how to build with it.

	c, err := xformer.NewContext(nil)                              // opens the best device
	model, err := c.LoadModel(ctx, "en-de.xf")
	decoder, err := model.NewDecoder(nil)
	answers, err := decoder.TranslateTexts(ctx, []string{"Good day."})

# Closing

Objects are closed by Close, which always returns nil, may be called again and by several goroutines, and in any order:
what was made from a closed object goes on. A Close during a call of another goroutine frees when that call ends. What
is not closed the collector frees some day; as it knows nothing of the memory behind an object, programs that make many
should close them. Using a closed object is ErrClosed.

# Goroutines

Distinct objects may be used by distinct goroutines at the same time. One object is for one call at a time: another one
is ErrBusy and does nothing, unless both only read. Only reading are all methods of Context, Corpus and Tokenizer, and
of a Model but NewTrainer, WriteParam and those that set metadata; and methods that only tell something. Goroutines
that translate share a Model and have a Decoder each. A Trainer has its Model to itself during its calls.

# Ending a call

Methods that may take long take a context.Context. When that is done they return an error that is both ErrCancelled and
the context's own (context.Canceled, context.DeadlineExceeded), and all their objects stay usable. Calls of a Decoder
and of a Trainer end alone. With a call of another object end all that run on the same Context at that moment, these
with ErrCancelled alone: what is to be spared has a Context of its own.

# Errors

Errors of this package are *Error. The statuses of the library are the sentinels: errors.Is(err, xformer.ErrNotFound).
Where the operating system said no, errors.Is also finds fs.ErrNotExist, fs.ErrPermission and their like.

# Processes

Objects must not be used in a process that was forked from theirs (ErrForked), which a Go program can't become by
itself.
*/
package xformer
