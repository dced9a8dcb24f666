//! Who uses a model: many calls that read it, or one that changes it.
//!
//! The headers give a trainer exclusive use of its model while one of its calls runs. Trainers, decoders and the model
//! are objects of their own that any thread may hold, so this is known only when a call begins. A call that can't be
//! beside the others is refused and never waits: waiting could not be cancelled, and who goes first is the program's
//! to say.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Error, Result};

const WRITING: usize = usize::MAX;

/// The number of readers, or WRITING.
#[derive(Debug, Default)]
pub(crate) struct Usage(AtomicUsize);

/// Keeps writers away until it is dropped.
#[derive(Debug)]
pub(crate) struct Reading<'a>(&'a Usage);

/// Keeps everyone away until it is dropped.
#[derive(Debug)]
pub(crate) struct Writing<'a>(&'a Usage);

impl Usage {
    pub(crate) fn read(&self) -> Result<Reading<'_>> {
        // Acquire, and Release at the end: what one call wrote the next call sees.
        let more = |readers| if readers < WRITING - 1 { Some(readers + 1) } else { None };
        match self.0.fetch_update(Ordering::Acquire, Ordering::Relaxed, more) {
            Ok(_) => Ok(Reading(self)),
            Err(_) => Err(Error::busy("the model is changed by a call of another thread")),
        }
    }

    pub(crate) fn write(&self) -> Result<Writing<'_>> {
        match self.0.compare_exchange(0, WRITING, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Writing(self)),
            Err(WRITING) => Err(Error::busy("the model is changed by a call of another thread")),
            Err(_) => Err(Error::busy("the model is read by a call of another thread")),
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        (self.0).0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        (self.0).0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_readers_or_one_writer() {
        let usage = Usage::default();
        let (one, two) = (usage.read().expect("a reader"), usage.read().expect("another"));
        assert!(usage.write().expect_err("there are readers").is_busy());
        drop((one, two));
        let writing = usage.write().expect("nobody is there");
        assert!(usage.read().expect_err("there is a writer").is_busy());
        assert!(usage.write().expect_err("there is a writer").is_busy());
        drop(writing);
        drop(usage.write().expect("nobody is there"));
        drop(usage.read().expect("nobody is there"));
    }
}
