//! Functions outside the stability guarantee: everything in this module may change or disappear in any minor version.
//! It contains training in several processes, constraints on hypotheses, attention weights, and gradients.
//!
//! # Ranks
//!
//! A training job may have several ranks: processes, usually one per GPU, or threads with a context each. Together they
//! make the same steps as a single rank, bit for bit. MPI is selected with the option "context.comm". Other transports
//! are passed to [`Host::comm`](crate::Host::comm): the loopback of this module connects threads, and a program may
//! implement [`Transport`].
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_void};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use xformer_sys as sys;

use crate::handle::{borrowed, fill};
use crate::host::{run_callback, run_constraint};
use crate::{call, version, Batch, Decoder, Error, Result, Status, Trainer};
#[cfg(doc)]
use crate::{Context, DecodeParams, Model};

/// The transport of one rank, for [`Host::comm`](crate::Host::comm).
pub struct Comm {
    raw: sys::xf_comm,
    /// A context was created with it and closes it.
    given: AtomicBool,
}

debug! { Comm, }

// SAFETY: the functions of a transport are called one at a time, on any thread.
unsafe impl Send for Comm {}
// SAFETY: a shared reference gives no access to the transport.
unsafe impl Sync for Comm {}

impl Comm {
    fn own(raw: sys::xf_comm) -> Self {
        Comm { raw, given: AtomicBool::new(false) }
    }

    /// Connects threads of this process as ranks, through memory. Each rank needs its own context and its own thread.
    /// [`Status::OutOfRange`]: `size` is not from 1 to 1024.
    pub fn loopback(size: usize) -> Result<Vec<Comm>> {
        version::check()?;
        let count = match i32::try_from(size) {
            Ok(count @ 1..=1024) => count,
            _ => return Err(Error::new(Status::OutOfRange, format!("{} ranks, expected 1 to 1024", size))),
        };
        let mut raws = vec![sys::XF_COMM_INIT; size];
        call!(xf_comm_loopback(raws.as_mut_ptr(), count))?;
        Ok(raws.into_iter().map(Comm::own).collect())
    }

    /// Wraps a transport of the program as `rank` of `size` ranks.
    pub fn new(rank: usize, size: usize, transport: impl Transport + 'static) -> Self {
        let ranks_per_machine = transport.ranks_per_machine();
        let user: *mut Box<dyn Transport> = Box::into_raw(Box::new(Box::new(transport)));
        Comm::own(sys::xf_comm {
            user: user.cast(),
            rank: i32::try_from(rank).unwrap_or(i32::MAX),
            size: i32::try_from(size).unwrap_or(i32::MAX),
            exchange: Some(exchange),
            abort: Some(abort),
            close: Some(close),
            ranks_per_machine: i32::try_from(ranks_per_machine).unwrap_or(i32::MAX),
            ..sys::XF_COMM_INIT
        })
    }

    pub(crate) fn raw(&self) -> *const sys::xf_comm {
        &self.raw
    }

    /// Creates a context, which closes the transport if it was created.
    pub(crate) fn give<T>(&self, create: impl FnOnce() -> Result<T>) -> Result<T> {
        self.given.store(true, Ordering::Relaxed);
        let result = create();
        self.given.store(result.is_ok(), Ordering::Relaxed);
        result
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if let (false, Some(close)) = (self.given.load(Ordering::Relaxed), self.raw.close) {
            // SAFETY: the transport is closed once, and no context uses it.
            unsafe { close(self.raw.user) }
        }
    }
}

/// A memory block to send to another rank.
#[derive(Debug)]
#[non_exhaustive]
pub struct SendPart<'a> {
    /// The other rank.
    pub rank: usize,
    /// The bytes to send.
    pub data: &'a [u8],
}

/// A memory block to receive from another rank.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReceivePart<'a> {
    /// The other rank.
    pub rank: usize,
    /// Receives the bytes; as many as the other rank sends.
    pub data: &'a mut [u8],
}

/// A transport that a program implements. Its methods must not use objects of the library.
pub trait Transport: Send {
    /// Sends and receives the given blocks concurrently, and returns when every receive is complete. Blocks from one
    /// rank to another arrive in the order in which they were sent. Returns an error with [`Status::Peer`] if
    /// nothing was transferred for `timeout` or the other rank is known to be gone, and with [`Status::Backend`] if the
    /// transport failed (see [`transport_error`]).
    fn exchange(&mut self, sends: &[SendPart<'_>], receives: &mut [ReceivePart<'_>], timeout: Duration) -> Result<()>;

    /// Abandons the other ranks. Their calls should then fail soon, with the reason as their message.
    fn abort(&mut self, _reason: &str) {}

    /// Returns how many ranks each machine has, if every machine has as many and their numbers are consecutive; 0 if this
    /// is not known. Gradients are then added within a machine before they are sent to others. The same on all ranks.
    fn ranks_per_machine(&self) -> usize {
        0
    }
}

/// Creates an error that a [`Transport`] returns.
pub fn transport_error(status: Status, message: &str) -> Error {
    Error::new(status, message)
}

/// # Safety
///
/// `user` is from [`Comm::new`]; the blocks and `err` are as the headers say.
unsafe extern "C" fn exchange(
    user: *mut c_void,
    sends: *const sys::xf_comm_part,
    send_count: usize,
    receives: *const sys::xf_comm_part,
    receive_count: usize,
    timeout: f64,
    err: *mut sys::xf_error,
) -> i32 {
    // SAFETY: as the caller promises. The blocks do not overlap, and the functions are called one at a time.
    let (transport, sends, mut receives) = unsafe {
        let send = |part: &sys::xf_comm_part| SendPart {
            rank: part.rank as usize,
            data: borrowed(part.data as *const u8, part.size),
        };
        let receive = |part: &sys::xf_comm_part| ReceivePart {
            rank: part.rank as usize,
            data: slice::from_raw_parts_mut(part.data.cast::<u8>(), part.size),
        };
        let sends: Vec<_> = borrowed(sends, send_count).iter().map(send).collect();
        let receives: Vec<_> = borrowed(receives, receive_count).iter().map(receive).collect();
        (&mut *user.cast::<Box<dyn Transport>>(), sends, receives)
    };
    let timeout = Duration::from_secs_f64(timeout.clamp(0.0, 1e9));
    let error = match run_callback(|| transport.exchange(&sends, &mut receives, timeout)) {
        Some(Ok(())) => return sys::XF_OK,
        Some(Err(error)) => error,
        None => Error::new(Status::Backend, "the transport panicked"),
    };
    // SAFETY: NULL or valid during this call.
    if let Some(err) = unsafe { err.as_mut() } {
        *err = crate::handle::NO_ERROR;
        err.status = error.status().code();
        err.native_code = error.native_code();
        let room = err.message.len() - 1;
        for (to, from) in err.message[..room].iter_mut().zip(error.message().bytes()) {
            *to = from as c_char;
        }
    }
    error.status().code()
}

/// # Safety
///
/// `user` is from [`Comm::new`]; `reason` is as the headers say.
unsafe extern "C" fn abort(user: *mut c_void, reason: *const c_char) {
    // SAFETY: as the caller promises.
    let (transport, reason) =
        unsafe { (&mut *user.cast::<Box<dyn Transport>>(), CStr::from_ptr(reason).to_string_lossy()) };
    run_callback(|| transport.abort(&reason));
}

/// # Safety
///
/// `user` is from [`Comm::new`], and this is the last use of it.
unsafe extern "C" fn close(user: *mut c_void) {
    // SAFETY: as the caller promises.
    let transport = unsafe { Box::from_raw(user.cast::<Box<dyn Transport>>()) };
    run_callback(|| drop(transport));
}

/// Exchanges one number between all ranks, so that they can decide together, for example to stop. Returns the numbers by
/// rank. Every rank makes this call at the same point. [`Status::Peer`]: a rank is gone.
pub fn all_gather(context: &crate::Context, value: i64) -> Result<Vec<i64>> {
    let mut values = vec![0; context.info()?.rank_count as usize];
    call!(xf_context_all_gather(context.enter()?, value, call::current(), values.as_mut_ptr()))?;
    Ok(values)
}

/// A hypothesis whose next token is about to be selected, and the set of tokens that may follow. The set contains all
/// tokens until the constraint removes some.
#[derive(Debug)]
#[non_exhaustive]
pub struct Partial<'a> {
    /// Index of its sentence in the batch or in the texts.
    pub sentence: usize,
    /// Its tokens so far, without the start symbol.
    pub ids: &'a [i32],
    /// Number of tokens that may still follow, including the end symbol; 1: without the end symbol it is cut off.
    pub remaining: usize,
    /// V: ids are 0 to V - 1.
    pub vocab_size: i32,
    allowed: &'a mut [u32],
}

impl Partial<'_> {
    fn bit(&self, id: i32) -> (usize, u32) {
        assert!((0..self.vocab_size).contains(&id), "id {}, expected 0 to {}", id, self.vocab_size - 1);
        (id as usize / 32, 1 << (id as u32 % 32))
    }

    /// Returns whether a token may follow. Panics if `id` is not from 0 to V - 1.
    pub fn allows(&self, id: i32) -> bool {
        let (word, bit) = self.bit(id);
        self.allowed[word] & bit != 0
    }

    /// Removes a token. Panics if `id` is not from 0 to V - 1.
    pub fn forbid(&mut self, id: i32) {
        let (word, bit) = self.bit(id);
        self.allowed[word] &= !bit;
    }

    /// Adds a token. Panics if `id` is not from 0 to V - 1.
    pub fn allow(&mut self, id: i32) {
        let (word, bit) = self.bit(id);
        self.allowed[word] |= bit;
    }

    /// Removes all tokens except these. Panics if an id is not from 0 to V - 1.
    pub fn allow_only(&mut self, ids: impl IntoIterator<Item = i32>) {
        self.allowed.fill(0);
        ids.into_iter().for_each(|id| self.allow(id));
    }
}

type ConstraintFn<'a> = dyn FnMut(&mut [Partial<'_>]) -> ControlFlow<()> + 'a;

/// Restricts the tokens that may follow each hypothesis, for example by a grammar or a lexicon; see
/// [`DecodeParams::constraint`].
///
/// The closure is called once per step of the search with the live hypotheses of all sentences, in an unspecified order.
/// `Break` ends the call with [`Status::Callback`]; a panic continues after the call has returned. The result must depend
/// only on the ids and the sentence.
///
/// A forbidden token is never selected. The remaining tokens compete as usual; probabilities are not renormalized. If no
/// hypothesis of a sentence remains, the sentence has one that is not finished and whose log-probability is minus infinity.
///
/// ```
/// # use std::ops::ControlFlow;
/// # use xformer::{experimental::Constraint, DecodeParams, Decoder, Result};
/// # fn longer(decoder: &mut Decoder, end_token: i32) -> Result<()> {
/// let constraint = Constraint::new(|partials| {
///     for partial in partials.iter_mut().filter(|partial| partial.ids.len() < 3) {
///         partial.forbid(end_token);
///     }
///     ControlFlow::Continue(())
/// });
/// let found = decoder.translate_with(&["one two"], DecodeParams::new().constraint(constraint))?;
/// # Ok(())
/// # }
/// ```
pub struct Constraint<'a>(Box<ConstraintFn<'a>>);

debug! { Constraint<'_>, }

impl<'a> Constraint<'a> {
    /// Wraps a closure.
    pub fn new(closure: impl FnMut(&mut [Partial<'_>]) -> ControlFlow<()> + 'a) -> Self {
        Constraint(Box::new(closure))
    }

    /// The C struct, which is valid while the constraint is neither moved nor dropped.
    pub(crate) fn raw(&mut self) -> sys::xf_constraint {
        let user = (&mut self.0 as *mut Box<ConstraintFn<'a>>).cast();
        sys::xf_constraint { function: Some(constrain), user, ..sys::XF_CONSTRAINT_INIT }
    }
}

/// The hypotheses of one step.
///
/// # Safety
///
/// `step` is as the headers say, and valid for `'a`.
pub(crate) unsafe fn partials<'a>(step: *const sys::xf_constraint_step) -> Vec<Partial<'a>> {
    // SAFETY: as the caller promises; a bit exists for each id.
    unsafe {
        let step = &*step;
        let words = (step.vocab_size as usize + 31) / 32;
        let partial = |raw: &*const sys::xf_partial| {
            let raw = &**raw;
            Partial {
                sentence: raw.sentence,
                ids: borrowed(raw.ids, raw.id_count),
                remaining: raw.remaining,
                vocab_size: step.vocab_size,
                allowed: slice::from_raw_parts_mut(raw.allowed, words),
            }
        };
        borrowed(step.partials, step.count).iter().map(partial).collect()
    }
}

/// # Safety
///
/// `user` is from [`Constraint::raw`]; `step` is as the headers say.
unsafe extern "C" fn constrain(user: *mut c_void, step: *const sys::xf_constraint_step) -> i32 {
    // SAFETY: as the caller promises. The library calls this once at a time, during the call that borrows the closure.
    let (closure, mut partials) = unsafe { (&mut *user.cast::<Box<ConstraintFn<'_>>>(), partials(step)) };
    let flow = run_constraint(|| closure(&mut partials));
    i32::from(!matches!(flow, Some(ControlFlow::Continue(()))))
}

/// The three uses of attention (paper s. 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum AttentionKind {
    /// Encoder self-attention: queries and keys are the source tokens.
    Encoder = sys::XF_ATTENTION_ENCODER,
    /// Decoder self-attention: queries and keys are the target positions; a query attends only to earlier positions.
    Decoder = sys::XF_ATTENTION_DECODER,
    /// Encoder-decoder attention: queries are the target positions, keys the source tokens.
    Cross = sys::XF_ATTENTION_CROSS,
}

/// Attention weights of one layer, from [`attention_weights`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attention {
    /// Number of attention heads.
    pub heads: usize,
    /// Number of queries.
    pub queries: usize,
    /// Number of keys.
    pub keys: usize,
    /// [heads, queries, keys] weights.
    pub values: Vec<f32>,
}

impl Attention {
    /// Returns the weights of the keys for one query; their sum is 1.
    ///
    /// # Panics
    ///
    /// If the head or the query does not exist.
    pub fn row(&self, head: usize, query: usize) -> &[f32] {
        assert!(head < self.heads && query < self.queries, "head {} and query {} of {:?}", head, query, self);
        let begin = (head * self.queries + query) * self.keys;
        &self.values[begin..begin + self.keys]
    }
}

/// Computes the attention weights of one layer, from 0, the lowest, for a batch of one pair. Position i of the decoder
/// predicts target token i. [`Status::OutOfRange`]: a layer or an id. [`Status::InvalidArgument`]: not exactly one pair.
pub fn attention_weights(
    decoder: &mut Decoder,
    pair: &Batch<'_>,
    kind: AttentionKind,
    layer: usize,
) -> Result<Attention> {
    let (decoder, raw, layer) = (decoder.enter()?, pair.raw(), i32::try_from(layer).unwrap_or(i32::MAX));
    let (source, target) = (pair.src_ids().len(), pair.tgt_ids().map_or(0, <[i32]>::len));
    let (queries, keys) = match kind {
        AttentionKind::Encoder => (source, source),
        AttentionKind::Decoder => (target, target),
        AttentionKind::Cross => (target, source),
    };
    let values: Vec<f32> = fill(0, |weights, capacity, count| {
        call!(xf_attention_weights(decoder, &raw, kind as i32, layer, weights, capacity, count))
    })?;
    Ok(Attention { heads: values.len() / (queries * keys).max(1), queries, keys, values })
}

/// Copies a pending gradient, that of the mean loss per target token so far, of the tensor with this index; see
/// [`Trainer::accumulate`] and [`Model::tensors`]. [`Status::State`]: no gradients are pending.
pub fn read_gradient(trainer: &mut Trainer, index: usize) -> Result<Vec<f32>> {
    let mut values = trainer.model().room(index);
    call!(xf_trainer_read_gradient(trainer.enter()?, index, values.as_mut_ptr(), values.len()))?;
    Ok(values)
}
