//! Raw declarations of libxformer's C API, which trains and decodes the encoder-decoder Transformer of
//! [Attention Is All You Need](https://arxiv.org/abs/1706.03762). The safe crate `xformer` stands on it.
//!
//! Names are those of the C headers, which are the manual: `xformer/*.h` says of each function what it takes, gives and
//! owns, and which threads may call it. C enumerations are plain integers here, so a number that these headers do not
//! know is a number and nothing worse.
//!
//! # Safety
//!
//! All functions are unsafe: pointers have to be valid for what the headers say, handles of the right kind and not
//! freed.
//!
//! ```
//! use std::ptr::null_mut;
//! use xformer_sys::{xf_config, xf_config_create, xf_config_free, XF_OK};
//!
//! let mut config: *mut xf_config = null_mut();
//! // SAFETY: `out` is valid, a NULL error is allowed, and what was made is freed once.
//! unsafe {
//!     assert_eq!(xf_config_create(&mut config, null_mut()), XF_OK);
//!     xf_config_free(config);
//! }
//! ```
//!
//! # Building
//!
//! The build script asks `pkg-config` for `xformer`, or takes the folder in the environment variable `XFORMER_LIB_DIR`.
//! Build scripts of crates that depend on this one find `DEP_XFORMER_ROOT`, `DEP_XFORMER_INCLUDE`, `DEP_XFORMER_LIB`
//! and `DEP_XFORMER_VERSION` in their environment.
//
// SPDX-License-Identifier: Apache-2.0

#![deny(missing_docs)]
#![allow(non_camel_case_types, clippy::unnecessary_cast)]

use std::marker::{PhantomData, PhantomPinned};
use std::mem::size_of;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

// Made by the build script, see declarations.rs.
include!(concat!(env!("OUT_DIR"), "/declarations.rs"));
