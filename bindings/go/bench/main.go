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
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"libxformer.invalid/xformer"
)

const sentencesPerCall = 32

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: bench MODEL SENTENCES OUTPUT ROUNDS")
	}
	rounds := must(strconv.Atoi(os.Args[4]))
	c := must(xformer.NewContext(xformer.Options{"context.threads": 1}))
	model := must(c.LoadModel(context.Background(), xformer.Path(os.Args[1]), nil))
	decoder := must(model.NewDecoder(nil))
	lines := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(os.Args[2]))), "\n"), "\n")
	var translations []string
	for ; rounds > 0; rounds-- {
		translations = translations[:0]
		started := time.Now()
		for rest := lines; len(rest) > 0; {
			size := sentencesPerCall
			if size > len(rest) {
				size = len(rest)
			}
			translations = append(translations, must(decoder.TranslateTexts(context.Background(), rest[:size]))...)
			rest = rest[size:]
		}
		fmt.Printf("%.6f\n", time.Since(started).Seconds())
	}
	if err := os.WriteFile(os.Args[3], []byte(strings.Join(translations, "\n")+"\n"), 0o666); err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
