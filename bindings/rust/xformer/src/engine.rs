//! Decoding for servers and editors: requests that arrive at any time, partial results, and replacing the model.
//
// All receivers of an engine share one table of requests. One of them at a time waits in the library and stores each
// event for the request that it belongs to; the others wait for the table to change. No lock is held while code of the
// program runs: wakers, constraints, and the drop of either.
//
// SPDX-License-Identifier: Apache-2.0

use std::any::Any;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::mem::{replace, take, ManuallyDrop};
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr::null;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, process};

use xformer_sys as sys;

use crate::experimental::{partials, Partial};
use crate::handle::Handle;
#[cfg(doc)]
use crate::Decoder;
use crate::{call, config, host, Config, DecodeModels, Error, Hypotheses, Model, Result, Status};

/// The longest wait in the library, so that a receiver sees what other threads have done.
const SLICE: Duration = Duration::from_millis(20);

mirror! {
    /// State and counters of an engine.
    pub struct EngineInfo = xf_engine_info XF_ENGINE_INFO_INIT {
        /// Requests that have not begun.
        waiting: i64,
        /// Requests in the search.
        active: i64,
        /// Events that the library has and that were not received.
        events: i64,
        /// Requests since the engine was created.
        submitted: i64,
        /// Requests that ended without an error.
        completed: i64,
        /// Requests that ended with [`Status::Cancelled`].
        cancelled: i64,
        /// Requests that ended with another error.
        failed: i64,
        /// Steps of the search.
        steps: i64,
        /// Hypotheses of the active requests, summed over all steps; `rows / steps` is the mean batch size.
        rows: i64,
        /// Passes of the encoder.
        encoder_passes: i64,
        /// Requests that began again because memory was exhausted.
        restarts: i64,
        /// Hash of the options and weights of the current model. Equal models have equal hashes.
        model_hash: u64,
        /// Models in use: the current one, and earlier ones with active requests.
        model_count: i32,
        /// File descriptor that is readable while the library has an event, for `poll` and `epoll`: then call
        /// [`Engine::next`] with a timeout of zero until it returns `None`. -1 on systems without pipes. Not for programs
        /// that also use futures, whose events another thread receives.
        descriptor: i32,
    }
}

type ConstraintFn = dyn FnMut(&mut [Partial<'_>]) -> ControlFlow<()> + Send;

/// One sentence to decode, for an [`Engine`].
///
/// ```
/// # use std::time::Duration;
/// # use xformer::{Config, Engine, Request, Result};
/// # fn submit(engine: &Engine, config: &Config) -> Result<()> {
/// let request = Request::text("one two").config(config).prefix("eins").priority(1).deadline(Duration::from_secs(2));
/// let id = engine.submit(request)?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "it has no effect before it is submitted"]
pub struct Request<'a> {
    text: Option<&'a [u8]>,
    prefix: Option<&'a [u8]>,
    ids: Option<&'a [i32]>,
    prefix_ids: Option<&'a [i32]>,
    config: Option<&'a Config>,
    constraint: Option<Box<ConstraintFn>>,
    deadline: Option<Duration>,
    priority: i32,
    stream: bool,
}

debug! { Request<'_>, }

impl<'a> Request<'a> {
    /// A text to translate. White space around it is ignored.
    pub fn text<S: AsRef<[u8]> + ?Sized>(text: &'a S) -> Self {
        Request { text: Some(text.as_ref()), ..Request::default() }
    }

    /// Source ids, including the end symbol.
    pub fn ids(ids: &'a [i32]) -> Self {
        Request { ids: Some(ids), ..Request::default() }
    }

    /// For a text: the text with which the translation begins.
    pub fn prefix<S: AsRef<[u8]> + ?Sized>(mut self, prefix: &'a S) -> Self {
        self.prefix = Some(prefix.as_ref());
        self
    }

    /// For ids: the ids with which the hypotheses begin, without start and end symbol.
    pub fn prefix_ids(mut self, prefix: &'a [i32]) -> Self {
        self.prefix_ids = Some(prefix);
        self
    }

    /// Options of the groups "decode." and "text." that are set in the config override those of the engine.
    pub fn config(mut self, config: &'a Config) -> Self {
        self.config = Some(config);
        self
    }

    /// Restricts the tokens that may follow a hypothesis, as [`Constraint`](crate::experimental::Constraint) describes;
    /// [`Partial::sentence`] is 0. The closure is called on the thread that computes and is dropped after the last event.
    /// `Break` or a panic ends the request with [`Status::Callback`]. A closure that owns the engine keeps it alive until
    /// the last event was received. Experimental.
    pub fn constraint(mut self, closure: impl FnMut(&mut [Partial<'_>]) -> ControlFlow<()> + Send + 'static) -> Self {
        self.constraint = Some(Box::new(closure));
        self
    }

    /// Ends the request when this time has passed since its submission: with its best hypotheses so far
    /// ([`complete`](crate::Hypothesis::complete) is false), or with [`Status::Deadline`] if it has not begun.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// From -1000 to 1000; 0 is normal. A request with a higher priority begins earlier.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// With `true`, partial events report the beginning of the result as soon as it is certain.
    pub fn stream(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }
}

/// An event of a request that was passed to [`Engine::submit`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Event {
    /// The request.
    pub id: u64,
    /// True for the last event of the request; otherwise a partial event.
    pub last: bool,
    /// [`EngineInfo::model_hash`] of the model that decodes the request; 0 if it never began.
    pub model_hash: u64,
    /// One sentence, or the reason why the request failed. A partial event has one hypothesis: all tokens that are
    /// certain so far, and their text. Later events of the request repeat this beginning.
    pub result: Result<Hypotheses>,
}

/// A closure that the library calls until the last event of its request.
struct Callback {
    closure: Mutex<Box<ConstraintFn>>,
    panic: Mutex<Option<String>>,
}

thread_local! {
    /// A constraint of an engine is running.
    static CONSTRAINED: Cell<bool> = const { Cell::new(false) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
///
/// `user` points to the callback of the request; `step` is as the headers say.
unsafe extern "C" fn constrain(user: *mut c_void, step: *const sys::xf_constraint_step) -> i32 {
    // SAFETY: as the caller promises; the callback lives until the last event.
    let (callback, mut partials) = unsafe { (&*user.cast::<Callback>(), partials(step)) };
    let mut closure = lock(&callback.closure);
    let suspended = call::suspend();
    let outer = CONSTRAINED.with(|constrained| constrained.replace(true));
    let flow = catch_unwind(AssertUnwindSafe(|| closure(&mut partials)));
    CONSTRAINED.with(|constrained| constrained.set(outer));
    drop(suspended);
    match flow {
        Ok(flow) => i32::from(flow.is_break()),
        Err(panic) => {
            let payload: &(dyn Any + Send) = &*panic;
            let text = payload.downcast_ref::<&str>().copied().map(String::from);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            *lock(&callback.panic) = Some(text.unwrap_or_else(|| "a value that is not text".to_string()));
            1
        }
    }
}

/// A request of which the program has not received the last event.
#[derive(Default)]
struct Slot {
    /// Its events are for [`Engine::next`].
    queued: bool,
    /// The newest event that the program has not received.
    event: Option<Event>,
    waker: Option<Waker>,
    /// No thread waits for its events, so the receiver thread does: a future was polled, or the translation was dropped.
    awaited: bool,
    /// The translation was dropped.
    abandoned: bool,
    callback: Option<Box<Callback>>,
}

#[derive(Default)]
struct State {
    slots: HashMap<usize, Slot>,
    last_key: usize,
    /// Requests with an event for [`Engine::next`], the oldest first.
    queue: VecDeque<usize>,
    /// A thread waits in the library.
    receiving: bool,
    /// Number of slots that are awaited.
    awaited: usize,
    /// Number of waits that [`Context::cancel`](crate::Context::cancel) has ended.
    cancellations: u64,
    closing: bool,
    receiver: Option<JoinHandle<()>>,
}

impl State {
    fn take(&mut self, key: usize) -> Option<Event> {
        let event = self.slots.get_mut(&key)?.event.take()?;
        if event.last {
            self.slots.remove(&key);
        }
        Some(event)
    }

    fn take_queued(&mut self) -> Option<Event> {
        self.queue.pop_front().and_then(|key| self.take(key))
    }
}

struct Inner {
    handle: ManuallyDrop<Handle<sys::xf_engine>>,
    process: u32,
    state: Mutex<State>,
    changed: Condvar,
}

/// A wait in the library.
struct Receiving<'a> {
    inner: &'a Inner,
    first: bool,
}

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        lock(&self.inner.state).receiving &= !self.first;
        self.inner.changed.notify_all(); // another thread waits in the library
    }
}

impl Inner {
    /// Waits for an event in the library and stores it.
    fn next_event(&self, timeout: Duration) -> Result<()> {
        let mut raw = sys::XF_EVENT_INIT;
        let timeout_ms = ((timeout.as_micros() + 999) / 1000) as i64;
        let status = call!(xf_engine_next(self.handle.enter()?, timeout_ms, call::current(), &mut raw))?;
        if status == sys::XF_DONE {
            return Ok(());
        }
        let hypotheses = Hypotheses::new(Handle::new(raw.hypotheses, self.handle.context())?);
        let failure = if raw.status < 0 { hypotheses.best(0).err() } else { None };
        let mut event = Event {
            id: raw.id,
            last: raw.last != 0,
            model_hash: raw.model_hash,
            result: failure.map_or(Ok(hypotheses), Err),
        };

        let (mut state, key) = (lock(&self.state), raw.user as usize);
        let State { slots, queue, awaited, .. } = &mut *state;
        let slot = match slots.get_mut(&key) {
            Some(slot) => slot,
            None => return Ok(()),
        };
        let (waker, mut unused, mut ended) = (slot.waker.take(), None, None);
        if event.last {
            *awaited -= usize::from(take(&mut slot.awaited));
            ended = slot.callback.take();
            let panic = ended.as_ref().and_then(|callback| lock(&callback.panic).take());
            if let (Err(error), Some(panic)) = (&mut event.result, panic) {
                *error = Error::new(error.status(), format!("the constraint panicked: {}", panic));
            }
        }
        let last = event.last;
        let old = slot.event.replace(event);
        if slot.queued && old.is_none() {
            queue.push_back(key);
        }
        if slot.abandoned {
            unused = slot.event.take();
            if last {
                slots.remove(&key);
            }
        }
        self.changed.notify_all();
        drop(state);
        drop((old, unused, ended));
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Receives events until `ready` returns a value. Returns `None` after the timeout.
    fn receive<T>(
        &self,
        timeout: Option<Duration>,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<Option<T>> {
        self.check_process()?;
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let (before, mut tried) = (lock(&self.state).cancellations, false);
        loop {
            let mut state = lock(&self.state);
            if let Some(found) = ready(&mut state) {
                return Ok(Some(found));
            }
            if state.cancellations != before {
                return Err(Error::new(Status::Cancelled, "the context was cancelled"));
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE));
            if tried && left.is_zero() {
                return Ok(None);
            }
            tried = true;
            // A call with a cancel token or a deadline always waits in the library, which checks them.
            let (first, plain) = (!state.receiving, call::current().is_null());
            if !first && plain {
                drop(self.changed.wait_timeout(state, left));
                continue;
            }
            state.receiving = true;
            drop(state);
            let receiving = Receiving { inner: self, first };
            if let Err(error) = self.next_event(left) {
                lock(&self.state).cancellations += u64::from(plain && error.status() == Status::Cancelled);
                return Err(error);
            }
            drop(receiving);
        }
    }

    fn submit(&self, mut request: Request<'_>, queued: bool) -> Result<(usize, u64)> {
        self.check_process()?;
        let closure = request.constraint.take();
        let callback = closure.map(|closure| Callback { closure: Mutex::new(closure), panic: Mutex::default() });
        let callback = callback.map(Box::new);
        let user = callback.as_deref().map_or(null(), |callback| callback as *const Callback);
        let constraint =
            sys::xf_constraint { function: Some(constrain), user: user as *mut c_void, ..sys::XF_CONSTRAINT_INIT };
        let key = {
            let mut state = lock(&self.state);
            state.last_key += 1;
            let key = state.last_key;
            state.slots.insert(key, Slot { queued, callback, ..Slot::default() });
            key
        };
        // A length of 0 means that the text ends with NUL.
        let text = |text: Option<&[u8]>| -> (*const c_char, usize) {
            text.map_or((null(), 0), |text| (if text.is_empty() { b"\0" } else { text }.as_ptr().cast(), text.len()))
        };
        let ids = |ids: Option<&[i32]>| ids.map_or((null(), 0), |ids| (ids.as_ptr(), ids.len()));
        let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1);
        let mut raw = sys::xf_request {
            config: config::pointer(request.config),
            constraint: if user.is_null() { null() } else { &constraint },
            deadline_ms: request.deadline.map_or(0, milliseconds),
            priority: request.priority,
            stream: i32::from(request.stream),
            user: key as *mut c_void,
            ..sys::XF_REQUEST_INIT
        };
        (raw.text, raw.text_length) = text(request.text);
        (raw.prefix, raw.prefix_length) = text(request.prefix);
        (raw.source_ids, raw.source_id_count) = ids(request.ids);
        (raw.prefix_ids, raw.prefix_id_count) = ids(request.prefix_ids);
        let mut id = 0;
        let outcome = self.handle.enter().and_then(|engine| call!(xf_engine_submit(engine, &raw, &mut id)));
        if let Err(error) = outcome {
            let refused = lock(&self.state).slots.remove(&key);
            drop(refused);
            return Err(error);
        }
        Ok((key, id))
    }

    /// Lets the receiver thread wait for a request.
    fn await_slot(self: &Arc<Self>, state: &mut State, key: usize) -> Result<()> {
        if state.receiver.is_none() && !state.closing {
            let inner = Arc::clone(self);
            let thread = thread::Builder::new().name("xformer-events".into()).spawn(move || inner.serve());
            let failed = |error| Error::new(Status::Io, format!("the receiver thread cannot be started: {}", error));
            state.receiver = Some(thread.map_err(failed)?);
        }
        if let Some(slot) = state.slots.get_mut(&key).filter(|slot| !slot.awaited) {
            slot.awaited = true;
            state.awaited += 1;
            self.changed.notify_all();
        }
        Ok(())
    }

    /// The receiver thread.
    fn serve(&self) {
        loop {
            let idle = |state: &mut State| state.awaited == 0 && !state.closing;
            let state = self.changed.wait_while(lock(&self.state), idle).unwrap_or_else(PoisonError::into_inner);
            if state.closing {
                return;
            }
            drop(state);
            let unused = |state: &mut State| (state.closing || state.awaited == 0).then_some(());
            if self.receive(None, unused).is_err() {
                thread::sleep(SLICE); // the context was cancelled, or memory is exhausted: the events remain
            }
        }
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.closing = true;
        let receiver = state.receiver.take();
        self.changed.notify_all();
        drop(state);
        // A waker may drop the engine on the receiver thread, which then ends by itself.
        if let Some(thread) = receiver.filter(|thread| thread.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }

    /// In a forked child, the receiver thread does not exist and may have held the lock.
    fn is_forked(&self) -> bool {
        process::id() != self.process
    }

    fn check_process(&self) -> Result<()> {
        if self.is_forked() {
            return Err(Error::new(
                Status::Forked,
                "the engine was created in the parent of this process; create another",
            ));
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the handle is not used afterwards.
        let handle = unsafe { ManuallyDrop::take(&mut self.handle) };
        let slots = take(&mut self.state.get_mut().unwrap_or_else(PoisonError::into_inner).slots);
        let context = handle.context().cloned();
        host::free(context.as_ref(), move || {
            drop(handle);
            drop(slots); // the engine called their callbacks until now
        });
    }
}

/// Ends the receiver thread, and with it the engine, when the last user is dropped.
struct Owner {
    inner: ManuallyDrop<Arc<Inner>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        let inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        if inner.is_forked() {
            return;
        }
        let close = move || {
            inner.close();
            drop(inner);
        };
        if CONSTRAINED.try_with(Cell::get).unwrap_or(false) {
            drop(thread::spawn(close)); // the engine waits for its constraint
        } else {
            close();
        }
    }
}

/// Decodes requests that arrive at any time, many at once. Clones share it.
///
/// Between two steps of the search, waiting requests begin and finished ones leave. A result has the same bits as that of
/// [`Decoder::translate`] for only this text. All methods may be called by any thread at any time.
///
/// A request is passed to [`translate`](Engine::translate), which returns a [`Translation`]: a future, an iterator over
/// partial results, or a value to wait for. Programs with their own table of requests use [`submit`](Engine::submit) and
/// receive the events of all these requests with [`next`](Engine::next).
///
/// The engine computes on a separate thread. With the option "engine.thread" set to false, it computes in
/// [`step`](Engine::step). It ends when it and all its translations have been dropped; requests that have not ended get
/// no event.
///
/// ```
/// # use xformer::{Engine, Model, Request, Result};
/// # async fn serve(model: &Model) -> Result<()> {
/// let engine = Engine::new(model, None)?;
/// let (one, two) = (engine.translate(Request::text("one"))?, engine.translate(Request::text("two"))?);
/// println!("{} {}", one.await?.texts()?[0], two.await?.texts()?[0]);
/// for partial in engine.translate(Request::text("three four").stream(true))? {
///     println!("so far: {}", partial?.texts()?[0]); // the last one is the result
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    owner: Arc<Owner>,
}

debug! { Engine, }

impl Engine {
    /// Creates an engine and its thread. Reads the options of the groups "engine.", "decode.", and "text.". While an
    /// engine uses a model, the model cannot be trained; train a copy. [`Status::Busy`]: the model is being trained.
    pub fn new<'a>(model: &Model, config: impl Into<Option<&'a Config>>) -> Result<Self> {
        Engine::with_models(model, DecodeModels::new(), config)
    }

    /// As [`new`](Engine::new), with an ensemble or a draft. [`Status::InvalidArgument`]: also models that cannot decode
    /// together, or an ensemble with a draft.
    pub fn with_models<'a>(
        model: &Model,
        more: DecodeModels<'_>,
        config: impl Into<Option<&'a Config>>,
    ) -> Result<Self> {
        let (first, config) = (model.enter()?, config::pointer(config));
        let handle = more.pass(|more| make!(model.context(), xf_engine_create(first, more, config)))?;
        let (handle, process) = (ManuallyDrop::new(handle), process::id());
        let inner = Inner { handle, process, state: Mutex::default(), changed: Condvar::new() };
        Ok(Engine { owner: Arc::new(Owner { inner: ManuallyDrop::new(Arc::new(inner)) }) })
    }

    fn inner(&self) -> &Inner {
        &self.owner.inner
    }

    /// Submits a request and returns its translation. Never waits for the computation. A text that cannot be decoded is
    /// accepted; its result is the error. [`Status::Busy`]: the engine has "engine.max_requests" requests with events
    /// that were not received. [`Status::OutOfRange`]: the priority.
    pub fn translate(&self, request: Request<'_>) -> Result<Translation> {
        let (key, id) = self.inner().submit(request, false)?;
        Ok(Translation { owner: Arc::clone(&self.owner), key, id, model_hash: 0, ended: false })
    }

    /// As [`translate`](Engine::translate), for a request whose events [`next`](Engine::next) returns. Returns its id;
    /// ids begin with 1 and increase.
    pub fn submit(&self, request: Request<'_>) -> Result<u64> {
        self.inner().submit(request, true).map(|(_, id)| id)
    }

    /// Returns the next event of the requests that were passed to [`submit`](Engine::submit), and waits for it if
    /// necessary; `None` after the timeout. `None` as timeout is no limit. Of several events of a request, only the newest
    /// is kept. Within [`Call::run`](crate::Call::run), the wait also ends with [`Status::Cancelled`] or
    /// [`Status::Deadline`].
    pub fn next(&self, timeout: impl Into<Option<Duration>>) -> Result<Option<Event>> {
        self.inner().receive(timeout.into(), State::take_queued)
    }

    /// Cancels a request. Its last event then has the error [`Status::Cancelled`]. Returns whether it had not ended.
    /// [`Status::NotFound`]: no request had this id.
    pub fn cancel(&self, id: u64) -> Result<bool> {
        Ok(call!(xf_engine_cancel(self.inner().handle.enter()?, id))? == sys::XF_OK)
    }

    /// Computes one step on this thread. Returns whether requests are left. [`Status::State`]: the engine has a thread.
    /// [`Status::Busy`]: another thread computes a step.
    pub fn step(&self) -> Result<bool> {
        Ok(call!(xf_engine_step(self.inner().handle.enter()?))? == sys::XF_OK)
    }

    /// Replaces the model by another one of the same context. Requests that begin afterwards use it; active ones continue
    /// with theirs, and the earlier model is in use until they have ended. [`Status::Busy`]: the model is being trained,
    /// or requests use seven earlier models.
    pub fn set_model(&self, model: &Model) -> Result<()> {
        self.set_models(model, DecodeModels::new())
    }

    /// As [`set_model`](Engine::set_model), with an ensemble or a draft. [`Status::InvalidArgument`]: models that cannot
    /// decode together, or an ensemble with a draft.
    pub fn set_models(&self, model: &Model, more: DecodeModels<'_>) -> Result<()> {
        let (engine, first) = (self.inner().handle.enter()?, model.enter()?);
        more.pass(|more| call!(xf_engine_set_model(engine, first, more))).map(drop)
    }

    /// Reports the state of the engine.
    pub fn info(&self) -> Result<EngineInfo> {
        read!(EngineInfo, xf_engine_get_info(self.inner().handle.enter()?))
    }
}

/// The results of one request: partial ones if the request streams, then the last one.
///
/// A translation is an [`Iterator`] that waits for each result, and a [`Future`] of the last one, for any executor. Dropping
/// a translation cancels its request. A translation keeps the engine alive.
///
/// The engine starts a thread that receives events and wakes tasks when a future is polled for the first time, or when a
/// translation is dropped before its end.
pub struct Translation {
    owner: Arc<Owner>,
    key: usize,
    id: u64,
    model_hash: u64,
    ended: bool,
}

impl Translation {
    /// Returns the id of the request, for [`Engine::cancel`].
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns [`EngineInfo::model_hash`] of the model that decoded the last result that was received; 0 before.
    pub fn model_hash(&self) -> u64 {
        self.model_hash
    }

    /// Waits for the last result. Within [`Call::run`](crate::Call::run), a cancellation or the deadline ends the wait and
    /// cancels the request.
    pub fn wait(self) -> Result<Hypotheses> {
        let none = || Error::new(Status::State, "the last result of the request was already received");
        self.last().unwrap_or_else(|| Err(none()))
    }

    /// As [`Iterator::next`], without blocking: the function of an asynchronous stream.
    pub fn poll_next(&mut self, task: &mut TaskContext<'_>) -> Poll<Option<Result<Hypotheses>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let (inner, waker) = (&*self.owner.inner, task.waker().clone());
        let mut state = lock(&inner.state);
        if let Some(event) = state.take(self.key) {
            drop(state);
            return Poll::Ready(Some(self.received(event)));
        }
        if let Err(error) = inner.await_slot(&mut state, self.key) {
            return Poll::Ready(Some(Err(error)));
        }
        let old = state.slots.get_mut(&self.key).and_then(|slot| slot.waker.replace(waker));
        drop(state);
        drop(old);
        Poll::Pending
    }

    fn received(&mut self, event: Event) -> Result<Hypotheses> {
        self.ended = event.last;
        self.model_hash = event.model_hash;
        event.result
    }

    /// Cancels the request; its events are dropped.
    fn abandon(&mut self) {
        let inner = &*self.owner.inner;
        if replace(&mut self.ended, true) || inner.is_forked() {
            return;
        }
        let mut state = lock(&inner.state);
        let mut event = state.take(self.key);
        let mut waker = None;
        if let Some(slot) = state.slots.get_mut(&self.key) {
            (slot.abandoned, waker) = (true, slot.waker.take());
            event = slot.event.take().or(event);
            // If no thread can be started, another receiver takes the event.
            let _ = inner.await_slot(&mut state, self.key);
        }
        drop(state);
        drop((event, waker));
        // SAFETY: the engine is valid. The request may have ended.
        unsafe { sys::xf_engine_cancel(inner.handle.get(), self.id, std::ptr::null_mut()) };
    }
}

impl Iterator for Translation {
    type Item = Result<Hypotheses>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let key = self.key;
        match self.owner.inner.receive(None, |state| state.take(key)) {
            Ok(event) => event.map(|event| self.received(event)),
            Err(error) => {
                self.abandon();
                Some(Err(error))
            }
        }
    }
}

/// # Panics
///
/// If it is polled after it has returned the last result.
impl Future for Translation {
    type Output = Result<Hypotheses>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        loop {
            match self.poll_next(task) {
                Poll::Ready(Some(result)) if self.ended || result.is_err() => return Poll::Ready(result),
                Poll::Ready(Some(_)) => (), // a partial result
                Poll::Ready(None) => panic!("the translation was polled after its end"),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for Translation {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl fmt::Debug for Translation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Translation").field("id", &self.id).field("ended", &self.ended).finish_non_exhaustive()
    }
}
