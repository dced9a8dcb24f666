//! The version of the loaded library.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::atomic::{AtomicBool, Ordering};

use xformer_sys as sys;

use crate::mirror::lossy;
use crate::{Error, Result, Status};

/// Returns the version of the loaded library, such as "0.1.0".
pub fn version() -> String {
    // SAFETY: a static string; any thread may call the function.
    unsafe { lossy(sys::xf_version()) }
}

/// Returns the version of the loaded library as one number 0xXXYYZZ, which increases with each release.
pub fn version_num() -> i32 {
    // SAFETY: any thread may call the function.
    unsafe { sys::xf_version_num() }
}

/// Returns how the library was built: one line for bug reports, the form of which may change.
pub fn build_info() -> String {
    // SAFETY: a static string; any thread may call the function.
    unsafe { lossy(sys::xf_build_info()) }
}

/// Refuses a library of another version than this crate was written for. Every function that needs no other object calls
/// this. While the major version is 0, a minor version may break the ABI; from 1 on, it only adds functions.
pub(crate) fn check() -> Result<()> {
    static CHECKED: AtomicBool = AtomicBool::new(false);
    if CHECKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let (found, own) = (version_num() >> 8, sys::XF_VERSION_NUM >> 8);
    let right = if own >> 8 == 0 { found == own } else { found >> 8 == own >> 8 && found >= own };
    if !right {
        let expected = format!("{}.{}", sys::XF_VERSION_MAJOR, sys::XF_VERSION_MINOR);
        let message =
            format!("the loaded library has version {}, but this crate needs version {}", version(), expected);
        return Err(Error::new(Status::Version, message));
    }
    CHECKED.store(true, Ordering::Relaxed);
    Ok(())
}
