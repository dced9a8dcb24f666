// Cancelling a call by its context.Context.
//
// The library has one cancel flag for a context: the first long call on that context which looks at it takes it, and
// one that nobody takes waits for the next call. A context.Context belongs to one call. So this file keeps the flag
// up only while a call that is to end runs, and makes good what another call loses:
//
//   - The flag goes up when the context.Context of a running call is done, and down again, if it was not taken, when no
//     such call runs any more. A cancel that comes too late never meets a later call.
//   - A call that takes the flag and was not meant waits until it is down, and begins anew: translating, scoring and
//     training steps can, for an error changes nothing. That happens to a call once; from then on the flag waits for
//     its end. Calls that come while the flag is up wait too.
//   - For calls that can't begin anew (a corpus may be read from a pipe, waiting gradients would be lost), or that
//     would lose much, the flag always waits.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"sync"
)

type canceller struct {
	sync.Mutex
	context *C.xf_context // lives while a call runs
	calls   map[*longCall]struct{}
	raised  bool      // the flag is up, or was, for one who is to end and has not left yet
	lowered sync.Cond // raised is no more, or one who waits for that is to end
}

// begin makes the canceller of a context.
func (c *canceller) begin(context *C.xf_context) {
	c.context = context
	c.calls = make(map[*longCall]struct{})
	c.lowered.L = c
}

type longCall struct {
	wanted  bool // its context.Context is done
	yields  bool // it may be asked to begin anew
	waiting bool // it is not in C
	over    bool
}

// settle raises the flag or takes it down, as those who run now have it. The lock is held.
func (c *canceller) settle() {
	wanted, blocked := false, false
	for l := range c.calls {
		if !l.waiting {
			wanted = wanted || l.wanted
			blocked = blocked || !l.wanted && !l.yields
		}
	}
	switch {
	case wanted && !blocked:
		// Again, when it is up already: another call may have taken it that has not told yet.
		C.xf_context_cancel(c.context)
		c.raised = true
	case c.raised:
		c.raised = C.xfgo_take_cancel(c.context) < 0
		c.lowered.Broadcast()
	}
}

// wait keeps a call out of C while the flag is up, unless it is to end itself. The lock is held.
func (c *canceller) wait(l *longCall) {
	for c.raised && !l.wanted {
		c.lowered.Wait()
	}
}

// enter notes a call that is about to begin; false when it is to end before.
func (c *canceller) enter(l *longCall) bool {
	c.Lock()
	defer c.Unlock()
	if l.yields {
		c.wait(l)
	}
	if l.wanted {
		l.over = true
		return false
	}
	c.calls[l] = struct{}{}
	if !l.yields {
		c.settle()
	}
	return true
}

// want is called when the context.Context of a call is done; the call may have ended by then, or not have begun.
func (c *canceller) want(l *longCall) {
	c.Lock()
	defer c.Unlock()
	if !l.over {
		l.wanted = true
		c.settle()
		c.lowered.Broadcast()
	}
}

// leave takes a call that returned from the others, and tells whether its own context.Context ended it; or keeps it,
// when it is to begin anew because it took the flag of another.
func (c *canceller) leave(l *longCall, cancelled bool) (again, wanted bool) {
	c.Lock()
	defer c.Unlock()
	if cancelled && !l.wanted && l.yields {
		l.yields = false
		l.waiting = true
		c.settle()
		c.wait(l)
		l.waiting = false
		if !l.wanted {
			return true, false
		}
	}
	l.over = true
	delete(c.calls, l)
	c.settle()
	return false, l.wanted
}

// run makes one call that ctx may end.
func (c *canceller) run(ctx context.Context, yields bool, f native,
	e *C.xf_error) (status C.enum_xf_status, wanted bool) {
	l := &longCall{yields: yields}
	if done := ctx.Done(); done != nil {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-done:
				c.want(l)
			case <-ended:
			}
		}()
	}
	if !c.enter(l) {
		return C.XF_ERROR_CANCELLED, true
	}
	for {
		status = f(e)
		again, wanted := c.leave(l, status == C.XF_ERROR_CANCELLED)
		if !again {
			return status, wanted
		}
	}
}

// longRunning is call for a function of the library that can be cancelled.
func longRunning(ctx context.Context, yields bool, f native, uses ...use) error {
	if err := ctx.Err(); err != nil {
		return cancelledError(err)
	}
	cancels := &uses[0].handle.family.cancels
	wanted := false
	err := call(func(e *C.xf_error) (status C.enum_xf_status) {
		status, wanted = cancels.run(ctx, yields, f, e)
		return status
	}, uses...)
	if failed, ok := err.(*Error); ok && failed.Status == ErrCancelled && wanted {
		return cancelledError(ctx.Err())
	}
	return err
}
