//! Constraints, which the library asks in the midst of beam search.
//
// SPDX-License-Identifier: Apache-2.0

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::slice;

use xformer_sys as sys;

/// A hypothesis whose next token is to be chosen: what a constraint is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prefix<'a> {
    /// Which sentence of the batch, or of the texts, it answers.
    pub sentence: usize,
    /// Its tokens so far, without the start symbol.
    pub ids: &'a [i32],
    /// Tokens that may follow, the end symbol counted; 1: what is not ended now is cut off.
    pub remaining: i64,
    /// V: how many ids there are.
    pub vocab_size: i32,
}

/// The ids that may follow a hypothesis: all of them, until a constraint takes some away.
///
/// # Panics
///
/// Its methods do, of an id that is not from 0 to V - 1.
#[derive(Debug)]
pub struct Allowed<'a> {
    words: &'a mut [u32],
    vocab_size: i32,
}

impl Allowed<'_> {
    fn place(&self, id: i32) -> (usize, u32) {
        assert!((0..self.vocab_size).contains(&id), "id {}, expected 0 to {}", id, self.vocab_size - 1);
        (id as usize / 32, 1 << (id as u32 % 32))
    }

    /// Whether an id may follow.
    pub fn contains(&self, id: i32) -> bool {
        let (word, bit) = self.place(id);
        self.words[word] & bit != 0
    }

    /// Takes an id away.
    pub fn forbid(&mut self, id: i32) {
        let (word, bit) = self.place(id);
        self.words[word] &= !bit;
    }

    /// Gives an id back.
    pub fn allow(&mut self, id: i32) {
        let (word, bit) = self.place(id);
        self.words[word] |= bit;
    }

    /// Takes all ids away but these.
    pub fn only(&mut self, ids: impl IntoIterator<Item = i32>) {
        self.words.fill(0);
        ids.into_iter().for_each(|id| self.allow(id));
    }
}

type Closure = dyn FnMut(&Prefix<'_>, &mut Allowed<'_>) -> ControlFlow<()> + Send;

/// A constraint in a place of its own, which the library knows.
pub(crate) struct Asked(NonNull<Asking>);

struct Asking {
    closure: Box<Closure>,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: the closure may go to other threads, and so may the payload of a panic.
unsafe impl Send for Asked {}
// SAFETY: nothing can be done with a shared reference but to show it.
unsafe impl Sync for Asked {}

impl Asked {
    pub(crate) fn new(closure: Box<Closure>) -> Self {
        // A raw pointer from the beginning: the library's and this one may not be told apart by who is unique.
        Asked(NonNull::from(Box::leak(Box::new(Asking { closure, panic: None }))))
    }

    /// What the library gives back to [`ask`].
    pub(crate) fn user(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }

    /// Lets the panic of the closure go on, when the call in which it happened has returned.
    pub(crate) fn after_call(&mut self) {
        // SAFETY: no call runs that could ask, as this is held by `&mut`.
        if let Some(panic) = unsafe { self.0.as_mut() }.panic.take() {
            resume_unwind(panic);
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // SAFETY: it was leaked by `new`; its decoder asks another or none by now, or is dropped too, and no call
        // follows.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

/// The function that the library calls.
///
/// # Safety
///
/// `user` is of an [`Asked`] that is in no other call; `prefix` and `allowed` are as the headers say.
pub(crate) unsafe extern "C" fn ask(user: *mut c_void, prefix: *const sys::xf_prefix, allowed: *mut u32) -> i32 {
    // SAFETY: the decoder, which is in one call at a time, is all that asks, and it asks once at a time.
    let asking = unsafe { &mut *user.cast::<Asking>() };
    if asking.panic.is_some() {
        return 1; // the caller has yet to hear of it
    }
    // SAFETY: valid during this call; there is a bit for each id. The pointer of no ids may be NULL.
    let (raw, ids, words) = unsafe {
        let raw = &*prefix;
        let ids: &[i32] = if raw.length > 0 { slice::from_raw_parts(raw.ids, raw.length as usize) } else { &[] };
        (raw, ids, slice::from_raw_parts_mut(allowed, (raw.vocab_size as usize + 31) / 32))
    };
    let (sentence, remaining, vocab_size) = (raw.sentence, raw.remaining, raw.vocab_size);
    let closure = &mut asking.closure;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        closure(&Prefix { sentence, ids, remaining, vocab_size }, &mut Allowed { words, vocab_size })
    }));
    match outcome {
        Ok(ControlFlow::Continue(())) => 0,
        Ok(ControlFlow::Break(())) => 1,
        Err(panic) => {
            asking.panic = Some(panic);
            1
        }
    }
}
