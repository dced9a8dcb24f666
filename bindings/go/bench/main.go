// Command bench measures translation through this package, for comparison with the other languages.
//
//	bench MODEL SENTENCES OUTPUT ROUNDS
//
// It translates the lines of SENTENCES in calls of 32, ROUNDS times, prints the seconds of each round, and writes the
// translations to OUTPUT.
//
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"libxformer.invalid/xformer"
)

const sentencesPerCall = 32

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: bench MODEL SENTENCES OUTPUT ROUNDS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, sentences, output, rounds string) error {
	count, err := strconv.Atoi(rounds)
	if err != nil || count < 1 {
		return fmt.Errorf("ROUNDS is %q, expected a number from 1", rounds)
	}
	c, err := xformer.NewContext(xformer.Options{"context.threads": 1})
	if err != nil {
		return err
	}
	defer c.Close()
	model, err := c.LoadModel(context.Background(), path)
	if err != nil {
		return err
	}
	defer model.Close()
	decoder, err := model.NewDecoder(nil)
	if err != nil {
		return err
	}
	defer decoder.Close()
	data, err := os.ReadFile(sentences)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var translations []string
	for round := 0; round < count; round++ {
		started := time.Now() // monotonic too
		if translations, err = translate(decoder, lines); err != nil {
			return err
		}
		fmt.Printf("%.6f\n", time.Since(started).Seconds())
	}
	return os.WriteFile(output, []byte(strings.Join(translations, "\n")+"\n"), 0o666)
}

func translate(decoder *xformer.Decoder, lines []string) ([]string, error) {
	translations := make([]string, 0, len(lines))
	for len(lines) > 0 {
		call := lines
		if len(call) > sentencesPerCall {
			call = call[:sentencesPerCall]
		}
		lines = lines[len(call):]
		texts, err := decoder.TranslateTexts(context.Background(), call)
		if err != nil {
			return nil, err
		}
		translations = append(translations, texts...)
	}
	return translations, nil
}
