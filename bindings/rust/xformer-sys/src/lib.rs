//! Raw declarations of the C API of libxformer, which trains and decodes the encoder-decoder Transformer of
//! [Attention Is All You Need](https://arxiv.org/abs/1706.03762). Programs usually need the safe crate `xformer` instead.
//!
//! All names are those of the C headers, which document each function, its thread rules, and who owns its results. The
//! declarations are generated from the headers, including `xformer/experimental.h`.
//!
//! # Safety
//!
//! All functions with pointers are unsafe. Pointers must be valid for the access that the headers describe, and handles
//! must be of the right kind and must not have been freed.
//!
//! ```
//! use std::ptr::null_mut;
//! use xformer_sys::{xf_config, xf_config_create, xf_config_free, XF_OK};
//!
//! let mut config: *mut xf_config = null_mut();
//! // SAFETY: `out` is valid, the error may be NULL, and the config is freed once.
//! unsafe {
//!     assert_eq!(xf_config_create(&mut config, null_mut()), XF_OK);
//!     xf_config_free(config);
//! }
//! ```
//!
//! # Building
//!
//! The build script finds the library with `pkg-config`, or in the folder that the environment variable
//! `XFORMER_LIB_DIR` names. Build scripts of dependent crates receive `DEP_XFORMER_ROOT`, `DEP_XFORMER_INCLUDE`,
//! `DEP_XFORMER_LIB`, and `DEP_XFORMER_VERSION`.
//
// SPDX-License-Identifier: Apache-2.0

#[rustfmt::skip] // generated
mod declarations;

pub use declarations::*;
