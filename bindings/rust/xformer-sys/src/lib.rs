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
#![allow(non_camel_case_types)]

use std::marker::{PhantomData, PhantomPinned};
use std::mem::{size_of, transmute};
use std::os::raw::{c_char, c_int, c_uint, c_void};

/// What the documentation of a row says: where its manual is.
macro_rules! see {
    ($header:literal) => {
        concat!("Documented in `xformer/", $header, "`.")
    };
}

macro_rules! constants {
    ($($header:literal $type:ident $(: $alias:ty)? { $($name:ident = $value:expr),* $(,)? })*) => {$(
        $(
            #[doc = see!($header)]
            pub type $type = $alias;
        )?
        $(
            #[doc = see!($header)]
            pub const $name: $type = $value;
        )*
    )*};
}

/// Structures; those with an initialiser get their struct_size, and a constant that stands for it.
macro_rules! structs {
    ($($header:literal $name:ident $(= $init:ident($($set:ident = $to:expr)?))? {
        $($($field:ident),+: $type:ty;)*
    })*) => {$(
        structs!(@struct $header $name $($init)? { $($($field: $type,)+)* });
        $(
            #[doc = concat!("`", stringify!($name), "` with its struct_size and nothing else.")]
            pub const $init: $name = {
                // SAFETY: every member is an integer, a floating-point number, a pointer, an optional function or an
                // array of those, for all of which zero bits are a value.
                #[allow(unused_mut)]
                let mut value = unsafe { transmute::<[u8; size_of::<$name>()], $name>([0; size_of::<$name>()]) };
                value.struct_size = size_of::<$name>();
                $(value.$set = $to;)?
                value
            };
        )?
    )*};
    (@struct $header:literal $name:ident $init:ident { $($field:ident: $type:ty,)* }) => {
        structs!(@struct $header $name { struct_size: usize, $($field: $type,)* });
    };
    (@struct $header:literal $name:ident { $($field:ident: $type:ty,)* }) => {
        #[doc = see!($header)]
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $(
                #[doc = see!($header)]
                pub $field: $type,
            )*
        }
    };
}

macro_rules! functions {
    ($($header:literal: $($kind:ident $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?;)*)*) => {
        $($(functions!(@$kind $header $name($($arg: $type),*) $(-> $out)?);)*)*
    };
    (@try $header:literal $name:ident($($arg:ident: $type:ty),*)) => {
        functions!(@fn $header $name($($arg: $type,)* err: *mut xf_error) -> xf_status);
    };
    (@fn $header:literal $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)?) => {
        extern "C" {
            #[doc = see!($header)]
            pub fn $name($($arg: $type),*) $(-> $out)?;
        }
    };
}

/// Types that only the library looks into: neither Send nor Sync, not to be made or moved by Rust.
macro_rules! opaque {
    ($($header:literal $name:ident,)*) => {$(
        #[doc = see!($header)]
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            bytes: [u8; 0],
            marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    "config.h" xf_config,
    "context.h" xf_context,
    "data.h" xf_corpus,
    "data.h" xf_tokenizer,
    "data.h" xf_batcher,
    "model.h" xf_model,
    "train.h" xf_trainer,
    "decode.h" xf_decoder,
    "decode.h" xf_hypotheses,
}

/// Receives log lines; must not unwind. See `xformer/context.h`.
pub type xf_log_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, level: xf_log_level, component: *const c_char, message: *const c_char),
>;
/// Hears how far a long call has come; must not unwind. See `xformer/context.h`.
pub type xf_progress_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, task: *const c_char, done: i64, total: i64) -> i32>;
/// One piece of parallel work, given to an `xf_parallel_fn`.
pub type xf_task_fn = Option<unsafe extern "C" fn(arg: *mut c_void, index: i32)>;
/// The host's executor; must not unwind. See `xformer/context.h`.
pub type xf_parallel_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, count: i32, task: xf_task_fn, arg: *mut c_void)>;
/// Says which tokens may follow a hypothesis; must not unwind. See `xformer/decode.h`.
pub type xf_constraint_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, prefix: *const xf_prefix, allowed: *mut u32) -> i32>;

include!("constants.rs");
include!("structs.rs");
include!("functions.rs");
