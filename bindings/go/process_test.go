// The process: memory after many objects, forks, a library of another version.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"libxformer.invalid/xformer/internal/forked"
)

// resident returns the resident memory of the process in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	var size, pages int64
	_, err = fmt.Sscan(string(data), &size, &pages)
	must(t, err)
	return pages * int64(os.Getpagesize())
}

func TestNoLeak(t *testing.T) {
	w := newWorld(t)
	options := with(Options{"model.d_model": 64, "model.d_ff": 256, "model.encoder_layers": 2})
	expected, err := w.context.Memory()
	w.must(err)
	round := func() {
		model, err := w.context.NewModel(w.tokenizer, options)
		w.must(err)
		trainer, err := model.NewTrainer(options)
		w.must(err)
		batcher, err := w.corpus.NewBatcher(background, w.tokenizer, options)
		w.must(err)
		w.must(trainer.Train(background, batcher, 1, nil))
		decoder, err := model.NewDecoder(options)
		w.must(err)
		ask := func([]Partial, int) error { runtime.KeepAlive(decoder); return nil }
		_, err = decoder.Translate(background, sources()[:2], &Params{Settings: options, Constraint: ask})
		w.must(err)
		_, err = w.context.LoadModel(background, w.file("none"), nil)
		refused(t, ErrNotFound, err)
		var own *Context
		own, err = NewContext(options, WithLog(LogDebug, func(LogLevel, string, string) { runtime.KeepAlive(own) }))
		w.must(err)
		for _, object := range []closer{own, decoder, batcher, trainer, model} {
			w.must(object.Close())
		}
		if memory, err := w.context.Memory(); memory.Current != expected.Current || err != nil {
			t.Fatalf("%+v, %v, expected %+v", memory, err, expected)
		}
	}
	for i := 0; i < 20; i++ {
		round()
	}
	goroutines, before := runtime.NumGoroutine(), resident(t)
	for i := 0; i < 100; i++ {
		round()
	}
	idle(t, goroutines)
	// A model has 600 kB and a trainer 1.8 MB, so 100 lost models would be 60 MB.
	if grown := resident(t) - before; grown > 20<<20 {
		t.Errorf("%d bytes more after 100 rounds", grown)
	}
}

func TestForkedChild(t *testing.T) {
	w := newWorld(t)
	if status := Status(forked.Status(w.context.h.ptr)); status != ErrForked {
		t.Errorf("%v, expected %v", status, ErrForked)
	}
	w.train(1)
}

func TestVersions(t *testing.T) {
	number := VersionNum()
	if text := fmt.Sprintf("%d.%d.%d", number>>16, number>>8&0xFF, number&0xFF); text != Version() {
		t.Errorf("%s is %x", Version(), number)
	}
	if BuildInfo() == "" {
		t.Error("no build information")
	}
	must(t, checkVersion(HeaderVersion))
	must(t, checkVersion(HeaderVersion+1)) // a patch
	for _, found := range []int32{HeaderVersion + 0x100, HeaderVersion + 0x10000, HeaderVersion - 0x100} {
		refused(t, ErrVersion, checkVersion(found))
	}
}

// LD_PRELOAD loads a library that reports version 9.8.
func TestLibraryOfAnotherVersion(t *testing.T) {
	if os.Getenv("XFGO_OTHER_VERSION") != "" {
		_, err := NewContext(nil)
		failed := refused(t, ErrVersion, err)
		if !strings.Contains(failed.Message, "9.8") || !strings.Contains(failed.Message, "0.1") {
			t.Error(failed)
		}
		_, err = NewConfig("", nil)
		refused(t, ErrVersion, err)
		return
	}
	compiler, err := exec.LookPath("cc")
	if errors.Is(err, exec.ErrNotFound) {
		compiler = "gcc"
	}
	folder := t.TempDir()
	source, library := folder+"/other.c", folder+"/other.so"
	must(t, os.WriteFile(source, []byte("int xf_version_num(void) { return 0x090800; }\n"), 0o600))
	if output, err := exec.Command(compiler, "-shared", "-fPIC", source, "-o", library).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestLibraryOfAnotherVersion$")
	child.Env = append(os.Environ(), "XFGO_OTHER_VERSION=1", "LD_PRELOAD="+library)
	if output, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
