// Command translate translates its input, line by line, with a model. Ctrl-C cancels it.
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
	"os"
	"os/signal"

	"libxformer.invalid/xformer"
)

// Lines per call: more lines increase the throughput, fewer lines reduce the latency.
const linesPerCall = 32

func main() {
	beam := flag.Int("beam", 4, "beam size, a number of `hypotheses`")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: translate [-beam N] MODEL <input >output")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result := make(chan error, 1)
	go func() { result <- run(ctx, flag.Arg(0), *beam) }()
	select {
	case err := <-result:
		if err == nil {
			return
		}
		if !errors.Is(err, xformer.ErrCancelled) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case <-ctx.Done(): // do not wait for the next line of the input
	}
	os.Exit(130)
}

func run(ctx context.Context, path string, beam int) error {
	c, err := xformer.NewContext(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	model, err := c.LoadModel(ctx, xformer.Path(path), nil)
	if err != nil {
		return err
	}
	defer model.Close()
	decoder, err := model.NewDecoder(xformer.Options{"decode.beam": beam})
	if err != nil {
		return err
	}
	defer decoder.Close()

	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for full := true; full; {
		var texts []string
		for len(texts) < linesPerCall && lines.Scan() {
			texts = append(texts, lines.Text())
		}
		full = len(texts) == linesPerCall
		results, err := decoder.Translate(ctx, texts, nil)
		if err != nil {
			return err
		}
		for i, result := range results {
			if result.Err != nil { // the output line is empty; the other lines are translated
				fmt.Fprintf(os.Stderr, "%q: %v\n", texts[i], result.Err)
			}
			if _, err := fmt.Println(result.Best().Text); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}
