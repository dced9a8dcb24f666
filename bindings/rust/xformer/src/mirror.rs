//! Macros that define the structs and enumerations of the headers as Rust types.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::os::raw::c_char;

/// Converts a member of a C struct to its Rust type.
pub(crate) trait IntoRust<T> {
    fn into_rust(self) -> T;
}

impl<T> IntoRust<T> for T {
    fn into_rust(self) -> T {
        self
    }
}

impl IntoRust<bool> for i32 {
    fn into_rust(self) -> bool {
        self != 0
    }
}

/// A copy of a string in a struct that the library has just filled; "" for NULL.
impl IntoRust<String> for *const c_char {
    fn into_rust(self) -> String {
        // SAFETY: NULL or a C string, which is valid until the next call.
        unsafe { lossy(self) }
    }
}

/// The text before the first NUL.
impl<const N: usize> IntoRust<String> for [c_char; N] {
    fn into_rust(self) -> String {
        let bytes: Vec<u8> = self.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A copy of a C string; "" for NULL.
///
/// # Safety
///
/// `text` is NULL or a C string that is valid during the call.
pub(crate) unsafe fn lossy(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Implements Debug for types that contain closures: it prints only their names.
macro_rules! debug {
    ($($name:ident $(<$lifetime:lifetime>)?,)*) => {$(
        impl std::fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

/// A struct that the library fills; see `read!`.
macro_rules! mirror {
    ($(#[$doc:meta])* pub struct $name:ident = $raw:ident $init:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// The C struct to fill.
            pub(crate) const RAW: xformer_sys::$raw = xformer_sys::$init;

            /// Converts a struct that the library has just filled.
            pub(crate) fn from_raw(raw: xformer_sys::$raw) -> Self {
                $name { $($field: crate::mirror::IntoRust::into_rust(raw.$field),)* }
            }
        }
    };
}

/// An enumeration that the library returns; a number that this crate does not know is kept.
macro_rules! given {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A value of a library that is newer than this crate.
            Unknown(i32),
        }

        impl From<i32> for $name {
            #[allow(non_upper_case_globals)]
            fn from(code: i32) -> Self {
                $(const $variant: i32 = xformer_sys::$code;)*
                match code {
                    $($variant => $name::$variant,)*
                    _ => $name::Unknown(code),
                }
            }
        }

        impl From<$name> for i32 {
            fn from(value: $name) -> i32 {
                match value {
                    $($name::$variant => xformer_sys::$code,)*
                    $name::Unknown(code) => code,
                }
            }
        }

        impl crate::mirror::IntoRust<$name> for i32 {
            fn into_rust(self) -> $name {
                self.into()
            }
        }
    };
}
