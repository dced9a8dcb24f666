// Status, native code, and message of errors; hostile files and arguments.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

import (
	"context"
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

// Arguments that only Go accepts.
func TestInvalidArguments(t *testing.T) {
	w := newWorld(t)
	_, err := NewConfig("", Options{"model.d_model": []int{1}})
	refused(t, ErrInvalidArgument, err)
	_, err = NewConfig("", Options{"model.d_model": uint64(math.MaxUint64)})
	refused(t, ErrOutOfRange, err)
	_, err = NewConfig("", Options{"model.d_model": true})
	refused(t, ErrInvalidArgument, err)
	_, err = w.config.Bool("model.d_model")
	refused(t, ErrInvalidArgument, err)
	_, err = NewContext(nil, WithLog(77, func(LogLevel, string, string) {}))
	refused(t, ErrInvalidArgument, err)
	_, err = w.context.LoadModel(background, FromReader(nil, -1), nil)
	refused(t, ErrInvalidArgument, err)
	_, err = w.context.LoadModel(background, nil, nil)
	refused(t, ErrInvalidArgument, err)
	refused(t, ErrInvalidArgument, w.model.Save(background, nil, nil))
	_, err = w.context.TrainTokenizer(background, nil, nil)
	refused(t, ErrInvalidArgument, err)
	refused(t, ErrInvalidArgument, w.batcher.Resume(background, nil))
	_, err = w.model.Encode(0, "one", nil)
	refused(t, ErrInvalidArgument, err)
	_, err = w.tokenizer.Side(0)
	refused(t, ErrInvalidArgument, err)
	refused(t, ErrInvalidArgument, w.trainer.Train(background, nil, 1, nil))
	_, err = w.decoder.Evaluate(background, nil)
	refused(t, ErrInvalidArgument, err)
	_, err = BLEU([]string{"a"}, []string{"a"}, 9)
	refused(t, ErrOutOfRange, err)
	_, err = w.context.LoadModel(background, w.file("none"), nil)
	if failed := refused(t, ErrNotFound, err); !errors.Is(failed, fs.ErrNotExist) {
		t.Errorf("%#v", failed)
	}
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

func TestData(t *testing.T) {
	w := newWorld(t)
	_, err := w.model.Batch([]string{"one", "\xc0\xaf"}, nil, nil)
	if failed := refused(t, ErrData, err); !strings.HasPrefix(failed.Message, "text 1: ") {
		t.Errorf("%q", failed.Message)
	}
	_, err = w.decoder.TranslateTexts(background, []string{"one", "\xed\xa0\x80"})
	if failed := refused(t, ErrData, err); !strings.HasPrefix(failed.Message, "text 1: ") {
		t.Errorf("%q", failed.Message)
	}
}

func TestDoneBeforeTheCall(t *testing.T) {
	w := newWorld(t)
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, cancel := context.WithTimeout(background, -time.Second)
	defer cancel()
	_, err := w.decoder.Translate(cancelled, sources(), nil)
	if refused(t, ErrCancelled, err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err = w.decoder.Translate(late, sources(), nil)
	if refused(t, ErrDeadline, err); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
