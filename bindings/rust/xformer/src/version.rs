//! Which library this is.
//
// SPDX-License-Identifier: Apache-2.0

use std::sync::atomic::{AtomicBool, Ordering};

use xformer_sys as sys;

use crate::strings::lossy;
use crate::{Error, Result, Status};

/// The version of the loaded library, such as "0.1.0".
///
/// ```
/// assert_eq!(xformer::version().split('.').count(), 3);
/// ```
pub fn version() -> String {
    // SAFETY: a static string, from any thread.
    unsafe { lossy(sys::xf_version()) }
}

/// The version of the loaded library as one number 0xXXYYZZ, which grows with each release.
///
/// ```
/// assert_eq!(xformer::version_num() >> 16, 0);
/// ```
pub fn version_num() -> i32 {
    // SAFETY: a number, from any thread.
    unsafe { sys::xf_version_num() }
}

/// How the library was built: one line for bug reports, whose form may change.
///
/// ```
/// assert!(!xformer::build_info().is_empty());
/// ```
pub fn build_info() -> String {
    // SAFETY: a static string, from any thread.
    unsafe { lossy(sys::xf_build_info()) }
}

/// Refuses a library that is not of the version this crate was written for. All that needs no other object begins here.
pub(crate) fn check() -> Result<()> {
    static CHECKED: AtomicBool = AtomicBool::new(false);
    if !CHECKED.load(Ordering::Relaxed) {
        compatible(version_num(), &version())?;
        CHECKED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// While the major version is 0 a minor version may break the ABI; from 1 on only add to it.
fn compatible(found: i32, name: &str) -> Result<()> {
    let own = sys::XF_VERSION_NUM;
    let right =
        if own >> 16 == 0 { found >> 8 == own >> 8 } else { found >> 16 == own >> 16 && found >> 8 >= own >> 8 };
    if right {
        return Ok(());
    }
    let expected = format!("{}.{}", sys::XF_VERSION_MAJOR, sys::XF_VERSION_MINOR);
    let message = format!("the library that was loaded is version {}, expected {}", name, expected);
    Err(Error::new(Status::Version, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_go_together() {
        assert_eq!(compatible(version_num(), &version()), Ok(()));
        assert_eq!(compatible(0x000163, "0.1.99"), Ok(()));
        for (number, name) in [(0x000200, "0.2.0"), (0x000009, "0.0.9"), (0x010100, "1.1.0"), (-1, "?")] {
            let error = compatible(number, name).expect_err(name);
            assert_eq!(error.status(), Status::Version);
            assert!(error.message().contains(&format!("is version {}, expected 0.1", name)), "{}", error);
        }
    }
}
