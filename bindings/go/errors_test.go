// Status, native code, and message of errors; hostile files and arguments.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The numbers of status.h, which never change.
var statuses = map[Status]string{
	0: "XF_OK", 1: "XF_DONE",
	-1: "XF_ERROR_INVALID_ARGUMENT", -2: "XF_ERROR_NO_MEMORY", -3: "XF_ERROR_NOT_FOUND", -4: "XF_ERROR_OUT_OF_RANGE",
	-5: "XF_ERROR_BUFFER_TOO_SMALL", -6: "XF_ERROR_STATE", -7: "XF_ERROR_BUSY",
	-20: "XF_ERROR_IO", -21: "XF_ERROR_CORRUPT", -22: "XF_ERROR_LIMIT", -23: "XF_ERROR_VERSION", -24: "XF_ERROR_DATA",
	-40: "XF_ERROR_UNSUPPORTED", -41: "XF_ERROR_BACKEND", -42: "XF_ERROR_NONFINITE", -43: "XF_ERROR_FORKED",
	-60: "XF_ERROR_CANCELLED", -61: "XF_ERROR_CALLBACK", -62: "XF_ERROR_DEADLINE",
	-80: "XF_ERROR_PEER", -81: "XF_ERROR_DESYNC",
	-99: "XF_ERROR_INTERNAL",
}

func TestStatuses(t *testing.T) {
	named := []Status{StatusOK, StatusDone, ErrInvalidArgument, ErrNoMemory, ErrNotFound, ErrOutOfRange,
		ErrBufferTooSmall, ErrState, ErrBusy, ErrIO, ErrCorrupt, ErrLimit, ErrVersion, ErrData, ErrUnsupported, ErrBackend,
		ErrNonfinite, ErrForked, ErrCancelled, ErrCallback, ErrDeadline, ErrPeer, ErrDesync, ErrInternal}
	if len(named) != len(statuses) {
		t.Errorf("%d statuses, expected %d", len(named), len(statuses))
	}
	for _, status := range named {
		if status.String() != statuses[status] || status.Error() != statuses[status] {
			t.Errorf("%d is %v, expected %v", int32(status), status, statuses[status])
		}
		for _, other := range named {
			if errors.Is(newError(status, 0, "a sentence"), other) != (status == other) {
				t.Errorf("an error of %v matches %v", status, other)
			}
		}
	}
	unknown := newError(-12345, 7, "something new")
	if unknown.Status.String() != "XF_STATUS_UNKNOWN" || unknown.NativeCode != 7 || unknown.Unwrap() != nil ||
		unknown.Error() != "xformer: something new" || !errors.Is(unknown, Status(-12345)) ||
		errors.Is(unknown, ErrInternal) {
		t.Errorf("%#v", unknown)
	}
}

func TestInvalidArguments(t *testing.T) {
	w := newWorld(t)
	_, err := NewConfig("", Options{"model.d_model": "wide"})
	refused(t, ErrInvalidArgument, err)
	_, err = NewConfig("", Options{"model.d_model": []int{1}})
	refused(t, ErrInvalidArgument, err)
	_, err = NewConfig("", Options{"model.d_model": uint64(math.MaxUint64)})
	refused(t, ErrOutOfRange, err)
	_, err = NewConfig("", Options{"model.d_model": true})
	refused(t, ErrInvalidArgument, err)
	_, err = w.config.Bool("model.d_model")
	refused(t, ErrInvalidArgument, err)
	_, err = w.model.NewDecoder(Options{"decode.beam": 2, "decode.n_best": 3})
	refused(t, ErrInvalidArgument, err)
	_, err = NewContext(nil, WithLog(77, func(LogLevel, string, string) {}))
	refused(t, ErrInvalidArgument, err)
	_, err = w.decoder.Translate(background, sources(), &Params{Prefixes: []string{"eins"}})
	refused(t, ErrInvalidArgument, err)
	_, err = w.context.LoadModel(background, FromReader(nil, -1), nil)
	refused(t, ErrInvalidArgument, err)
	_, err = w.context.InspectModel(FromReader(bytes.NewReader(nil), -1), nil)
	refused(t, ErrInvalidArgument, err)
	_, err = w.corpus.NewBatcher(background, nil, nil)
	refused(t, ErrInvalidArgument, err)
	_, err = w.context.TrainTokenizer(background, nil, nil)
	refused(t, ErrInvalidArgument, err)
	refused(t, ErrInvalidArgument, w.batcher.Resume(background, nil))
	_, err = w.model.Encode(0, "one", nil)
	refused(t, ErrInvalidArgument, err)
	refused(t, ErrInvalidArgument, w.trainer.Train(background, nil, 1, nil))
	_, err = w.context.AverageModels(background)
	refused(t, ErrInvalidArgument, err)
	for _, call := range []func([]string, []string) error{
		func(a, b []string) error { _, err := BLEU(a, b, BLEU13a); return err },
		func(a, b []string) error { _, err := ChrF(a, b); return err },
	} {
		refused(t, ErrInvalidArgument, call(nil, nil))
		refused(t, ErrInvalidArgument, call([]string{"a"}, nil))
		must(t, call([]string{"a\x00b"}, []string{"a"})) // NUL is text
	}
	_, err = BLEU([]string{"a"}, []string{"a"}, 9)
	refused(t, ErrOutOfRange, err)
}

func TestNULBytes(t *testing.T) {
	w := newWorld(t)
	const name = "a\x00b"
	calls := map[string]func() error{
		"key":    func() error { return w.config.Set(name, 1) },
		"get":    func() error { _, err := w.config.Text(name); return err },
		"value":  func() error { return w.config.Set("model.norm", name) },
		"preset": func() error { return w.config.Preset(name) },
		"about":  func() error { return w.model.SetMetadata("about", name) },
		"save":   func() error { return w.model.Save(background, Path(name), nil) },
		"words":  func() error { return w.tokenizer.Save(background, Path(name)) },
		"run":    func() error { return w.trainer.Save(background, Path(name), nil) },
		"load":   func() error { _, err := w.context.LoadModel(background, Path(name), nil); return err },
		"resume": func() error { _, err := w.context.ResumeTrainer(background, Path(name), nil); return err },
		"read":   func() error { _, err := w.context.LoadTokenizer(background, Path(name)); return err },
		"open":   func() error { _, err := w.context.OpenCorpus(background, name, nil); return err },
		"two":    func() error { _, err := w.context.OpenParallelCorpus(background, "a", name, nil); return err },
		"mean":   func() error { _, err := w.context.AverageModels(background, Path(name)); return err },
	}
	for title, call := range calls {
		if failed := refused(t, ErrInvalidArgument, call()); !strings.Contains(failed.Message, "NUL") {
			t.Errorf("%s: %q", title, failed.Message)
		}
	}
}

func TestOutOfRange(t *testing.T) {
	w := newWorld(t)
	_, err := NewConfig("", Options{"model.norm": "sideways"})
	refused(t, ErrOutOfRange, err)
	_, err = NewConfig("", Options{"train.dropout": 2})
	if failed := refused(t, ErrOutOfRange, err); !strings.Contains(failed.Message, "0.95") {
		t.Errorf("%q does not name the bound", failed.Message)
	}
	far, err := NewBatch([][]int32{{5000, tokenEnd}}, [][]int32{{2, tokenEnd}})
	w.must(err)
	results, err := w.decoder.Decode(background, far, nil)
	w.must(err)
	refused(t, ErrOutOfRange, results[0].Err)
	_, err = w.trainer.Step(background, far)
	refused(t, ErrOutOfRange, err)
	_, err = w.tokenizer.Decode([]int32{1 << 30})
	refused(t, ErrOutOfRange, err)
	_, err = w.tokenizer.Piece(-1)
	refused(t, ErrOutOfRange, err)
	_, err = w.corpus.Pair(len(testPairs))
	refused(t, ErrOutOfRange, err)
	refused(t, ErrOutOfRange, w.batcher.SeekTo(background, 0, 1<<40))
	if w.trainer.Steps() != 0 {
		t.Errorf("%d steps, expected none", w.trainer.Steps())
	}
}

func TestWrongShapes(t *testing.T) {
	w := newWorld(t)
	for name, batch := range map[string]Batch{
		"no last offset":   {SrcIDs: []int32{1}, SrcOffsets: []int64{0}},
		"first is not 0":   {SrcIDs: []int32{1}, SrcOffsets: []int64{1, 1}},
		"no offsets":       {SrcIDs: []int32{1}},
		"beyond the ids":   {SrcIDs: []int32{1}, SrcOffsets: []int64{0, 2}},
		"falling":          {SrcIDs: []int32{1, 1}, SrcOffsets: []int64{0, 5, 2}},
		"negative":         {SrcIDs: []int32{1, 1}, SrcOffsets: []int64{0, -5, 2}},
		"no target offset": {SrcIDs: []int32{1}, SrcOffsets: []int64{0, 1}, TgtIDs: []int32{1}},
		"two targets":      {[]int32{1}, []int64{0, 1}, []int32{1, 1}, []int64{0, 1, 2}, nil},
	} {
		if _, err := w.trainer.Step(background, batch); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := w.decoder.Score(background, batch); !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sources, err := NewBatch([][]int32{{3, tokenEnd}}, nil)
	w.must(err)
	_, err = w.trainer.Step(background, sources)
	refused(t, ErrInvalidArgument, err)
	_, err = w.trainer.Step(background)
	refused(t, ErrInvalidArgument, err)
	_, err = w.trainer.Accumulate(background, sources)
	refused(t, ErrInvalidArgument, err)
	_, err = w.decoder.Evaluate(background, nil)
	refused(t, ErrInvalidArgument, err)
	_, err = NewBatch([][]int32{{1}}, [][]int32{})
	refused(t, ErrInvalidArgument, err)

	name := w.model.Tensors()[0].Name
	refused(t, ErrInvalidArgument, w.model.WriteTensor(name, nil))
	refused(t, ErrInvalidArgument, w.model.WriteTensor(name, []float32{1}))
	values, err := w.model.ReadTensor(name)
	w.must(err)
	values[0] = float32(math.NaN())
	if err := w.model.WriteTensor(name, values); err == nil {
		t.Error("WriteTensor accepted NaN")
	}
	refused(t, ErrNotFound, w.model.WriteTensor("none", nil))
	_, err = w.model.ReadTensor("none")
	refused(t, ErrNotFound, err)
	_, err = w.trainer.ReadGradient("none")
	refused(t, ErrNotFound, err)
}

func TestNamesAndFiles(t *testing.T) {
	w := newWorld(t)
	_, err := NewConfig("", Options{"model.d_modle": 3})
	if failed := refused(t, ErrNotFound, err); !strings.Contains(failed.Message, "model.d_model") {
		t.Errorf("%q does not name the nearest key", failed.Message)
	}
	_, err = w.config.Get("model.d_modle")
	refused(t, ErrNotFound, err)
	_, err = NewConfig("gigantic", nil)
	refused(t, ErrNotFound, err)
	_, err = NewContext(Options{"context.device": "cpu:none"})
	refused(t, ErrNotFound, err)
	for i, load := range []func(path string) error{
		func(path string) error { _, err := w.context.LoadModel(background, Path(path), nil); return err },
		func(path string) error { _, err := w.context.ResumeTrainer(background, Path(path), nil); return err },
		func(path string) error { _, err := w.context.LoadTokenizer(background, Path(path)); return err },
		func(path string) error { _, err := w.context.OpenCorpus(background, path, nil); return err },
	} {
		failed := refused(t, ErrNotFound, load(w.path("none")))
		if failed.NativeCode != int(syscall.ENOENT) || !errors.Is(failed, fs.ErrNotExist) {
			t.Errorf("%#v", failed)
		}
		if i < 3 {
			refused(t, ErrIO, load(w.folder))
		} else {
			refused(t, ErrData, load(w.folder)) // a corpus may be a folder, but this folder has no files
		}
	}
	refused(t, ErrNotFound, w.model.Save(background, w.file("no/folder"), nil))
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to every folder")
	}
	w := newWorld(t)
	w.must(os.Chmod(w.folder, 0o500))
	defer os.Chmod(w.folder, 0o700)
	failed := refused(t, ErrIO, w.model.Save(background, w.file("model.xf"), nil))
	if !errors.Is(failed, fs.ErrPermission) || failed.NativeCode != int(syscall.EACCES) {
		t.Errorf("%#v", failed)
	}
}

func TestDamagedFiles(t *testing.T) {
	w := newWorld(t)
	w.must(w.model.Save(background, w.file("model.xf"), nil))
	_, err := w.context.ResumeTrainer(background, w.file("model.xf"), nil)
	refused(t, ErrInvalidArgument, err)
	data, err := os.ReadFile(w.path("model.xf"))
	w.must(err)
	flipped := append([]byte(nil), data...)
	flipped[len(data)/2] ^= 1
	text := []byte(strings.Repeat("not a model, but text", 9))
	files := map[string][]byte{"flipped": flipped, "other": text, "empty": nil}
	for _, size := range []int{1, 7, 8, 9, 100, len(data) / 2, len(data) - 9, len(data) - 1} {
		files["cut"+strings.Repeat("x", len(files))] = data[:size]
	}
	for name, content := range files {
		w.must(os.WriteFile(w.path(name), content, 0o600))
		_, err := w.context.LoadModel(background, w.file(name), nil)
		if failed := refused(t, ErrCorrupt, err); failed.NativeCode != 0 {
			t.Errorf("%s: %#v", name, failed)
		}
		_, err = w.context.ResumeTrainer(background, w.file(name), nil)
		if name == "flipped" { // the header is read first: not a checkpoint
			refused(t, ErrInvalidArgument, err)
		} else {
			refused(t, ErrCorrupt, err)
		}
		_, err = w.context.AverageModels(background, w.file("model.xf"), w.file(name))
		refused(t, ErrCorrupt, err)
	}
	_, err = w.context.LoadTokenizer(background, w.file("other"))
	refused(t, ErrCorrupt, err)
}

func TestAnotherFormatVersion(t *testing.T) {
	w := newWorld(t)
	w.must(w.model.Save(background, w.file("model.xf"), nil))
	data, err := os.ReadFile(w.path("model.xf"))
	w.must(err)
	const key, digest = `"format_version":"1"`, `"sha256":"`
	if !bytes.Contains(data, []byte(key)) {
		t.Fatal("the file has no format version")
	}
	data = bytes.Replace(data, []byte(key), []byte(`"format_version":"9"`), 1)
	at := bytes.Index(data, []byte(digest)) + len(digest)
	copy(data[at:], strings.Repeat("0", 64)) // docs/guide/files.md
	sum := sha256.Sum256(data)
	copy(data[at:], hex.EncodeToString(sum[:]))
	w.must(os.WriteFile(w.path("later.xf"), data, 0o600))
	_, err = w.context.LoadModel(background, w.file("later.xf"), nil)
	refused(t, ErrVersion, err)
}

func TestBudgetAndLimit(t *testing.T) {
	context, err := NewContext(with(Options{"context.memory_budget": 1 << 20}))
	must(t, err)
	defer context.Close()
	_, err = context.NewModel(nil, Options{"model.vocab_size": 9000})
	refused(t, ErrNoMemory, err)
	memory, err := context.Memory()
	if must(t, err); memory.Budget != 1<<20 || memory.Peak > memory.Budget {
		t.Errorf("%+v", memory)
	}
	_, err = context.NewModel(nil, Options{"model.vocab_size": 9000, "model.d_model": 65536, "model.max_length": 1 << 20})
	refused(t, ErrLimit, err)
	model, err := context.NewModel(nil, with(Options{"model.vocab_size": 9})) // the context remains usable
	must(t, err)
	must(t, model.Close())
}

func TestData(t *testing.T) {
	w := newWorld(t)
	_, err := w.tokenizer.Encode("a\xff")
	refused(t, ErrData, err)
	_, err = w.model.Batch([]string{"one", "\xc0\xaf"}, nil, nil)
	if failed := refused(t, ErrData, err); !strings.HasPrefix(failed.Message, "text 1: ") {
		t.Errorf("%q", failed.Message)
	}
	_, err = w.decoder.TranslateTexts(background, []string{"one", "\xed\xa0\x80"})
	if failed := refused(t, ErrData, err); !strings.HasPrefix(failed.Message, "text 1: ") {
		t.Errorf("%q", failed.Message)
	}
	_, err = w.textCorpus("nothing", nil, nil)
	refused(t, ErrData, err)
	_, err = w.textCorpus("bad", []byte("a\tb\nbad\n"), Options{"data.strict": true})
	refused(t, ErrData, err)
}

func TestUnsupported(t *testing.T) {
	options := Options{"context.device": "cpu:ref", "context.precision": "bf16"}
	_, err := NewContext(options)
	refused(t, ErrUnsupported, err)
}

func TestNonfinite(t *testing.T) {
	w := newWorld(t)
	for _, info := range w.model.Tensors() {
		if len(info.Shape) > 1 {
			values := make([]float32, info.Size())
			for i := range values {
				values[i] = 3e38
			}
			w.must(w.model.WriteTensor(info.Name, values))
		}
	}
	name := w.model.Tensors()[1].Name
	before, err := w.model.ReadTensor(name)
	w.must(err)
	_, err = w.trainer.Step(background, w.batch())
	refused(t, ErrNonfinite, err)
	after, err := w.model.ReadTensor(name)
	w.must(err)
	for i := range after {
		if after[i] != before[i] {
			t.Fatalf("%s changed at %d", name, i)
		}
	}
	if w.trainer.Steps() != 0 {
		t.Errorf("%d steps, expected none", w.trainer.Steps())
	}
}

func TestState(t *testing.T) {
	w := newWorld(t)
	_, err := w.trainer.Update()
	refused(t, ErrState, err)
	_, err = w.trainer.ReadGradient(w.model.Tensors()[0].Name)
	refused(t, ErrState, err)
	refused(t, ErrState, w.batcher.Resume(background, w.trainer))
	_, err = w.trainer.Accumulate(background, w.batch())
	w.must(err)
	refused(t, ErrState, w.trainer.Save(background, w.file("waiting"), nil))
	_, err = w.trainer.Step(background, w.batch())
	refused(t, ErrState, err)

	model, err := w.context.NewModel(nil, with(Options{"model.vocab_size": 9}))
	w.must(err)
	_, err = model.Tokenizer()
	refused(t, ErrState, err)
	decoder, err := model.NewDecoder(w.config)
	w.must(err)
	_, err = decoder.Translate(background, []string{"one"}, nil)
	refused(t, ErrState, err)
	batch, err := NewBatch([][]int32{{3, tokenEnd}}, nil)
	w.must(err)
	results, err := decoder.Decode(background, batch, nil)
	if w.must(err); results[0].Best().Text != "" || results[0].Err != nil {
		t.Errorf("%v, %v", results, err)
	}
}

func TestDoneBeforeTheCall(t *testing.T) {
	w := newWorld(t)
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, cancel := context.WithTimeout(background, -time.Second)
	defer cancel()
	var ctx context.Context
	batch := w.batch()
	for name, call := range map[string]func() error{
		"open":      func() error { _, err := w.context.OpenCorpus(ctx, "x", nil); return err },
		"parallel":  func() error { _, err := w.context.OpenParallelCorpus(ctx, "x", "y", nil); return err },
		"pairs":     func() error { _, err := w.context.NewCorpus(ctx, testPairs, nil); return err },
		"ids":       func() error { _, err := w.context.NewCorpusFromIDs(ctx, batch); return err },
		"read":      func() error { _, err := w.batcher.Next(ctx); return err },
		"seek":      func() error { return w.batcher.SeekTo(ctx, 0, 0) },
		"continue":  func() error { return w.batcher.Resume(ctx, w.trainer) },
		"copy":      func() error { _, err := w.model.Copy(ctx, nil, nil); return err },
		"words":     func() error { return w.tokenizer.Save(ctx, w.file("x")) },
		"mean":      func() error { _, err := w.trainer.CopyAverage(ctx); return err },
		"ranks":     func() error { _, err := w.context.AllGather(ctx, 1); return err },
		"texts":     func() error { _, err := w.decoder.ScoreTexts(ctx, testPairs); return err },
		"tokenizer": func() error { _, err := w.context.TrainTokenizer(ctx, w.corpus, nil); return err },
		"batcher":   func() error { _, err := w.corpus.NewBatcher(ctx, w.tokenizer, nil); return err },
		"files":     func() error { _, err := w.context.AverageModels(ctx, Path("x")); return err },
		"load":      func() error { _, err := w.context.LoadModel(ctx, Path("x"), nil); return err },
		"resume":    func() error { _, err := w.context.ResumeTrainer(ctx, Path("x"), nil); return err },
		"save":      func() error { return w.model.Save(ctx, w.file("x"), nil) },
		"ckpt":      func() error { return w.trainer.Save(ctx, w.file("x"), nil) },
		"next":      func() error { _, err := w.trainer.Next(ctx, w.batcher); return err },
		"step":      func() error { _, err := w.trainer.Step(ctx, batch); return err },
		"train":     func() error { return w.trainer.Train(ctx, w.batcher, 2, nil) },
		"add":       func() error { _, err := w.trainer.Accumulate(ctx, batch); return err },
		"translate": func() error { _, err := w.decoder.Translate(ctx, []string{"one"}, nil); return err },
		"decode":    func() error { _, err := w.decoder.Decode(ctx, batch, nil); return err },
		"score":     func() error { _, err := w.decoder.Score(ctx, batch); return err },
		"epoch":     func() error { _, err := w.decoder.Evaluate(ctx, w.batcher); return err },
	} {
		for _, done := range []struct {
			ctx    context.Context
			status Status
			cause  error
		}{{cancelled, ErrCancelled, context.Canceled}, {late, ErrDeadline, context.DeadlineExceeded}} {
			ctx = done.ctx
			if err := refused(t, done.status, call()); !errors.Is(err, done.cause) {
				t.Errorf("%s: %v, expected %v", name, err, done.cause)
			}
		}
	}
	w.train(1)
}
