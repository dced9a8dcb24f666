// The engine: requests that arrive at any time, partial results, and replacing the model.
//
// While an engine has requests, one goroutine receives its events and sends them to the channels of the requests. It
// refers to the handle, so the collector does not free an engine with requests.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Request is one sentence to decode. Either Text or SourceIDs is set.
type Request struct {
	// Text is translated; white space around it is ignored. Prefix is the text with which its translation begins.
	Text, Prefix string
	// SourceIDs are source ids including the end symbol. PrefixIDs are the ids with which their hypotheses begin, without
	// start and end symbol.
	SourceIDs, PrefixIDs []int32
	// Settings are options of the groups "decode." and "text." that override those of the engine.
	Settings Settings
	// Constraint restricts the tokens that may follow a hypothesis. The engine calls it on its thread until the last event
	// of the request; Partial.Sentence is 0. An error or a panic ends the request with ErrCallback. It must not close the
	// engine. Experimental: may change in any minor version.
	Constraint Constraint
	// Priority is from -1000 to 1000; 0 is normal. A request with a higher priority begins earlier.
	Priority int
	// Stream requests partial events, which report the beginning of the result as soon as it is certain.
	Stream bool
}

// Event is an event of a request.
type Event struct {
	// ID identifies the request.
	ID uint64
	// Last reports whether this is the last event of the request; otherwise it is a partial one.
	Last bool
	// Result of a partial event has one hypothesis: all tokens that are certain so far, and their text. Later events of
	// the request repeat this beginning. The last event has the hypotheses, or the reason why the request failed.
	Result Result
	// ModelHash is EngineInfo.ModelHash of the model that decodes the request; 0 if it never began.
	ModelHash uint64
}

// Engine decodes requests that arrive at any time, many at once, with one copy of the weights. Between two steps of the
// search, waiting requests begin and finished ones leave. A result has the same bits as that of Decoder.Translate for
// only this text. All methods may be called by any goroutine at any time.
//
// The engine computes on a separate thread. With the option "engine.thread" set to false, it computes in Step.
type Engine struct {
	object
	requests *requests
}

// requests are those of an engine that have no last event yet. It does not refer to the handle of the engine, which could
// otherwise not be finalized.
type requests struct {
	mu        sync.Mutex
	pending   map[*pending]struct{}
	submitted int           // those of pending that the engine has accepted
	receiving bool          // the goroutine runs
	call      *C.xfgo_call  // of the wait for events; nil after the engine was freed
	freed     chan struct{} // closed after the engine was freed
}

// pending is a request that has no last event yet.
type pending struct {
	ctx        context.Context
	events     chan Event // of capacity 1: it contains the newest event
	ended      chan struct{}
	handle     cgo.Handle
	constraint constraint
	failure    atomic.Pointer[error] // of the constraint
}

// NewEngine creates an engine. It reads the options of the groups "engine.", "decode.", and "text.". While an engine uses
// a model, the model cannot be trained; train a copy (ErrBusy: the model is being trained). ErrInvalidArgument: also
// models that cannot decode together, or an ensemble with a draft.
func (m *Model) NewEngine(settings Settings, more ...ModelOption) (*Engine, error) {
	r := &requests{pending: map[*pending]struct{}{}, freed: make(chan struct{})}
	r.call = (*C.xfgo_call)(C.calloc(1, C.sizeof_xfgo_call))
	if r.call == nil {
		return nil, newError(ErrNoMemory, 0, "out of memory for an engine")
	}
	r.call.call = C.xf_call{struct_size: C.sizeof_xf_call, cancelled: &r.call.cancelled}
	wrap := func(h *handle) *Engine {
		h.after = r.free
		return &Engine{object{h}, r}
	}
	engine, err := create(context.Background(), m.h, kindEngine, wrap, func(c *call, p **C.xf_engine) status {
		return C.xf_engine_create(m.in(c), c.models(more), c.config(settings), p, &c.err)
	})
	if engine == nil {
		C.free(unsafe.Pointer(r.call))
	}
	return engine, err
}

func (e *Engine) in(c *call) *C.xf_engine {
	return (*C.xf_engine)(c.hold(e.h))
}

// Close frees the engine and waits until running calls have ended. Requests that have not ended get a last event with the
// error ErrClosed. It must not be called by a Constraint. Close may be called repeatedly, and always returns nil.
func (e *Engine) Close() error {
	e.h.close()
	e.requests.mu.Lock()
	if e.requests.call != nil {
		atomic.StoreInt32((*int32)(unsafe.Pointer(&e.requests.call.cancelled)), 1)
	}
	e.requests.mu.Unlock()
	<-e.requests.freed
	return nil
}

// free ends the requests of an engine that was freed.
func (r *requests) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	closed := &Error{Status: ErrState, Message: "the engine is closed", cause: ErrClosed}
	for p := range r.pending {
		r.end(p, Event{Last: true, Result: Result{Err: closed}})
	}
	C.free(unsafe.Pointer(r.call))
	r.call = nil
	close(r.freed)
}

// send replaces an event that was not received.
func (p *pending) send(event Event) {
	select {
	case <-p.events:
	default:
	}
	p.events <- event
}

// end sends the last event of a request. The caller holds the mutex.
func (r *requests) end(p *pending, event Event) {
	delete(r.pending, p)
	p.handle.Delete()
	p.send(event)
	close(p.events)
	close(p.ended)
}

// Submit submits a request and returns its id and the channel of its events. It never waits for the computation. The
// channel is closed after the last event. It contains at most one event, the newest, so a slow receiver misses partial
// events.
//
// If ctx is cancelled, the request ends with an error that matches ErrCancelled and context.Canceled. When its deadline
// passes, the request ends after the current step: with its best hypotheses so far (Complete is false), or with
// ErrDeadline if it has not begun.
//
// A text that cannot be decoded is accepted; its last event has the error. ErrBusy: the engine has
// "engine.max_requests" requests. ErrOutOfRange: the priority.
func (e *Engine) Submit(ctx context.Context, request Request) (id uint64, events <-chan Event, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, contextError(err)
	}
	r, p := e.requests, &pending{ctx: ctx, events: make(chan Event, 1), ended: make(chan struct{})}
	p.constraint.f = request.Constraint
	p.handle = cgo.NewHandle(p)
	r.mu.Lock()
	r.pending[p] = struct{}{}
	r.mu.Unlock()
	var found C.uint64_t
	err = do(func(c *call) status {
		return C.xf_engine_submit(e.in(c), c.request(ctx, &request, p), &found, &c.err)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		delete(r.pending, p)
		p.handle.Delete()
		return 0, nil, err
	}
	// The request may already have ended, by its last event or because the engine was closed.
	if r.submitted++; r.submitted > 0 && !r.receiving && r.call != nil {
		r.receiving = true
		go r.receive(e.h)
	}
	if ctx.Done() != nil {
		go p.watch(e, uint64(found))
	}
	return uint64(found), p.events, nil
}

// request converts a request for C.
func (c *call) request(ctx context.Context, r *Request, p *pending) *C.xf_request {
	given := first(newArray[C.xf_request](c, 1))
	given.struct_size = C.sizeof_xf_request
	if r.Text != "" || r.SourceIDs == nil {
		given.text, given.text_length = c.bytes(r.Text)
	}
	if r.Prefix != "" {
		given.prefix, given.prefix_length = c.bytes(r.Prefix)
	}
	if r.SourceIDs != nil {
		given.source_ids, given.source_id_count = array[C.int32_t](c, r.SourceIDs), C.size_t(len(r.SourceIDs))
	}
	if r.PrefixIDs != nil {
		given.prefix_ids, given.prefix_id_count = array[C.int32_t](c, r.PrefixIDs), C.size_t(len(r.PrefixIDs))
	}
	given.config = c.config(r.Settings)
	if r.Constraint != nil {
		given.constraint = first(newArray[C.xf_constraint](c, 1))
		C.xfgo_set_request_constraint(given.constraint, C.uintptr_t(p.handle))
	}
	if deadline, limited := ctx.Deadline(); limited {
		given.deadline_ms = milliseconds(deadline)
	}
	given.priority = C.int32_t(math.MaxInt32)
	if int(int32(r.Priority)) == r.Priority {
		given.priority = C.int32_t(r.Priority)
	}
	if r.Stream {
		given.stream = 1
	}
	C.xfgo_set_request_user(given, C.uintptr_t(p.handle))
	return given
}

// bytes converts a string that may contain NUL.
func (c *call) bytes(value string) (*C.char, C.size_t) {
	copied := newArray[byte](c, len(value)+1)
	return as[C.char](copied), C.size_t(copy(copied, value))
}

// watch cancels a request if its context.Context is cancelled. After the deadline, the engine ends the request itself.
func (p *pending) watch(e *Engine, id uint64) {
	select {
	case <-p.ended:
	case <-p.ctx.Done():
		if p.ctx.Err() != context.DeadlineExceeded {
			e.Cancel(id) // an error means that the engine was closed
		}
	}
}

// receive receives events until no requests are left or the engine is closed.
func (r *requests) receive(h *handle) {
	for {
		r.mu.Lock()
		if r.submitted <= 0 {
			r.receiving = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		err := do(func(c *call) status {
			engine := (*C.xf_engine)(c.hold(h)) // keeps r.call, too
			event := first(newArray[C.xf_event](c, 1))
			event.struct_size = C.sizeof_xf_event
			found := C.xf_engine_next(engine, -1, &r.call.call, event, &c.err)
			if found == C.XF_OK {
				r.received(event)
				C.xf_hypotheses_free(event.hypotheses)
			}
			return found
		})
		if errors.Is(err, ErrClosed) {
			return
		}
		if err != nil && !errors.Is(err, ErrCancelled) { // Context.Cancel also ends the wait
			time.Sleep(10 * time.Millisecond) // memory is exhausted; the events remain
		}
	}
}

func (r *requests) received(e *C.xf_event) {
	p := cgo.Handle(C.xfgo_event_user(e)).Value().(*pending)
	event := Event{uint64(e.id), e.last != 0, readResult(e.hypotheses, 0), uint64(e.model_hash)}
	if failed, ok := event.Result.Err.(*Error); ok {
		if failed.Status == ErrCancelled {
			failed.cause = p.ctx.Err()
		} else if err := p.failure.Load(); err != nil {
			failed.Message, failed.cause = failed.Message+": "+(*err).Error(), *err
		}
	}
	if !event.Last {
		p.send(event)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.submitted--
	r.end(p, event)
}

//export xfgoConstrainRequest
func xfgoConstrainRequest(user C.uintptr_t, step *C.xf_constraint_step) (stop C.int32_t) {
	p := cgo.Handle(user).Value().(*pending)
	returned := false
	var err error
	defer func() {
		if !returned {
			err = fmt.Errorf("the constraint panicked: %v", recover())
		}
		if err != nil {
			p.failure.Store(&err)
			stop = 1
		}
	}()
	err = p.constraint.step(step)
	returned = true
	return 0
}

// Translate submits a request and waits for its last event. It ends as Submit describes; after a cancellation, it returns
// immediately. The error is also that of the result.
func (e *Engine) Translate(ctx context.Context, request Request) (Result, error) {
	return e.Stream(ctx, request, nil)
}

// Stream is Translate with partial results: it calls fn with a hypothesis that contains all tokens that are certain so
// far, and their text. Each call has more of the result than the one before. If fn returns an error, Stream cancels the
// request and returns that error unchanged. Greedy search ("decode.beam" 1) makes each token certain at once.
func (e *Engine) Stream(ctx context.Context, request Request, fn func(partial Hypothesis) error) (Result, error) {
	request.Stream = fn != nil
	id, events, err := e.Submit(ctx, request)
	if err != nil {
		return Result{Err: err}, err
	}
	for done := ctx.Done(); ; {
		select {
		case event := <-events:
			if event.Last {
				return event.Result, event.Result.Err
			}
			if err := fn(event.Result.Best()); err != nil {
				e.Cancel(id)
				return Result{Err: err}, err
			}
		case <-done:
			if ctx.Err() != context.DeadlineExceeded {
				e.Cancel(id)
				err := &Error{Status: ErrCancelled, Message: "the request was cancelled", cause: ctx.Err()}
				return Result{Err: err}, err
			}
			done = nil
		}
	}
}

// Cancel cancels a request. Its last event then has the error ErrCancelled. It reports whether the request had not ended.
// ErrNotFound: no request had this id.
func (e *Engine) Cancel(id uint64) (bool, error) {
	var found status
	err := do(func(c *call) status {
		found = C.xf_engine_cancel(e.in(c), C.uint64_t(id), &c.err)
		return found
	})
	return found == C.XF_OK && err == nil, err
}

// Step computes one step on this goroutine and reports whether requests are left. ErrState: the engine has a thread.
// ErrBusy: another goroutine computes a step.
func (e *Engine) Step() (more bool, err error) {
	var found status
	err = do(func(c *call) status {
		found = C.xf_engine_step(e.in(c), &c.err)
		return found
	})
	return found == C.XF_OK && err == nil, err
}

// SetModel replaces the model by another one of the same Context, and the ensemble or the draft by those of the options.
// Requests that begin afterwards use the new models; active ones continue with theirs, which are in use until then.
// ErrBusy: a model is being trained, or requests use seven earlier models. ErrInvalidArgument: also models that cannot
// decode together, or an ensemble with a draft.
func (e *Engine) SetModel(model *Model, more ...ModelOption) error {
	return do(func(c *call) status { return C.xf_engine_set_model(e.in(c), model.in(c), c.models(more), &c.err) })
}

// EngineInfo contains the state and the counters of an engine.
type EngineInfo struct {
	// Waiting is the number of requests that have not begun, Active that of requests in the search, and Events that of
	// events that the library has and that were not received.
	Waiting, Active, Events int64
	// Submitted is the number of requests since the engine was created. Completed, Cancelled, and Failed are those that
	// ended without an error, with ErrCancelled, and with another error.
	Submitted, Completed, Cancelled, Failed int64
	// Steps counts steps of the search, EncoderPasses passes of the encoder, and Restarts requests that began again because
	// memory was exhausted. Rows counts the hypotheses of the active requests in all steps; Rows / Steps is the mean batch
	// size.
	Steps, Rows, EncoderPasses, Restarts int64
	// ModelHash is a hash of the options and weights of the current model. Equal models have equal hashes.
	ModelHash uint64
	// Models is the number of models in use: the current one, and earlier ones with active requests.
	Models int
}

// Info returns the state of the engine.
func (e *Engine) Info() (EngineInfo, error) {
	i := C.xf_engine_info{struct_size: C.sizeof_xf_engine_info}
	err := do(func(c *call) status { return C.xf_engine_get_info(e.in(c), &i, &c.err) })
	return EngineInfo{int64(i.waiting), int64(i.active), int64(i.events), int64(i.submitted), int64(i.completed),
		int64(i.cancelled), int64(i.failed), int64(i.steps), int64(i.rows), int64(i.encoder_passes), int64(i.restarts),
		uint64(i.model_hash), int(i.model_count)}, err
}
