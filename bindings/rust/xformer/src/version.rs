//! Which library this is.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::atomic::{AtomicBool, Ordering};

use xformer_sys as sys;

use crate::mirror::lossy;
use crate::{Error, Result, Status};

/// The version of the loaded library, such as "0.1.0".
pub fn version() -> String {
    // SAFETY: a static string, from any thread.
    unsafe { lossy(sys::xf_version()) }
}

/// The version of the loaded library as one number 0xXXYYZZ, which grows with each release.
pub fn version_num() -> i32 {
    // SAFETY: a number, from any thread.
    unsafe { sys::xf_version_num() }
}

/// How the library was built: one line for bug reports, whose form may change.
pub fn build_info() -> String {
    // SAFETY: a static string, from any thread.
    unsafe { lossy(sys::xf_build_info()) }
}

/// Refuses a library that is not of the version this crate was written for. All that needs no other object begins here.
/// While the major version is 0 a minor version may break the ABI; from 1 on only add to it.
pub(crate) fn check() -> Result<()> {
    static CHECKED: AtomicBool = AtomicBool::new(false);
    if CHECKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let (found, own) = (version_num() >> 8, sys::XF_VERSION_NUM >> 8);
    let right = if own >> 8 == 0 { found == own } else { found >> 8 == own >> 8 && found >= own };
    if !right {
        let expected = format!("{}.{}", sys::XF_VERSION_MAJOR, sys::XF_VERSION_MINOR);
        let message = format!("the library that was loaded is version {}, expected {}", version(), expected);
        return Err(Error::new(Status::Version, message));
    }
    CHECKED.store(true, Ordering::Relaxed);
    Ok(())
}
