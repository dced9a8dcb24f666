// Command translate translates its input, line by line, with a model; Ctrl-C ends it between two words.
//
//	translate [-beam N] MODEL <input >output
//
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"libxformer.invalid/xformer"
)

// Lines that are translated in one call: many are quicker, few come sooner.
const linesPerCall = 32

func main() {
	beam := flag.Int("beam", 4, "how many `hypotheses` to pursue")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: translate [-beam N] MODEL <input >output")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, flag.Arg(0), *beam, os.Stdin, os.Stdout)
	if errors.Is(err, xformer.ErrCancelled) || errors.Is(err, context.Canceled) {
		os.Exit(130)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, beam int, input io.Reader, output io.Writer) error {
	c, err := xformer.NewContext(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	model, err := c.LoadModel(ctx, path)
	if err != nil {
		return err
	}
	defer model.Close()
	decoder, err := model.NewDecoder(xformer.Options{"decode.beam": beam})
	if err != nil {
		return err
	}
	defer decoder.Close()

	lines := read(input)
	var texts []string
	for {
		// Waiting for a line must not keep Ctrl-C waiting.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, more := <-lines:
			if more && line.err == nil {
				if texts = append(texts, line.text); len(texts) < linesPerCall {
					continue
				}
			}
			if err := write(ctx, decoder, texts, output); err != nil || !more {
				return err
			}
			if line.err != nil {
				return line.err
			}
			texts = texts[:0]
		}
	}
}

// A line of the input, or why there is no further one.
type line struct {
	text string
	err  error
}

func read(input io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(input)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines <- line{text: scanner.Text()}
		}
		if err := scanner.Err(); err != nil {
			lines <- line{err: err}
		}
	}()
	return lines
}

func write(ctx context.Context, decoder *xformer.Decoder, texts []string, output io.Writer) error {
	answers, err := decoder.Translate(ctx, texts, nil)
	if err != nil {
		return err
	}
	for i, all := range answers {
		if all.Err != nil { // the line stays empty, and the others are translated
			fmt.Fprintf(os.Stderr, "%q: %v\n", texts[i], all.Err)
		}
		if _, err := fmt.Fprintln(output, all.Best().Text); err != nil {
			return err
		}
	}
	return nil
}
