//! Options by name.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;
use std::ptr::null;

use xformer_sys as sys;

use crate::handle::{c_string, Handle};
use crate::mirror::IntoRust;
use crate::{version, Error, Result, Status};

given! {
    /// Type of an option's value.
    pub enum OptionType {
        /// 64-bit signed integer.
        I64 = XF_OPTION_I64,
        /// Floating-point number.
        F64 = XF_OPTION_F64,
        /// True or false.
        Bool = XF_OPTION_BOOL,
        /// Text; one of a list of words where the table says so.
        Str = XF_OPTION_STR,
    }
}

mirror! {
    /// One row of the table of all options. `type_` is the type of its value.
    pub struct OptionInfo = xf_option_info XF_OPTION_INFO_INIT {
        /// Such as "train.label_smoothing".
        key: &'static str,
        /// Type of its value.
        type_: OptionType,
        /// The default as text.
        default_value: &'static str,
        /// Smallest value allowed, of a number.
        minimum: f64,
        /// Largest value allowed, of a number.
        maximum: f64,
        /// The allowed words of a text, or none when any text is allowed.
        choices: Vec<&'static str>,
        /// One sentence on what it does, with its unit.
        doc: &'static str,
        /// Where the paper speaks of it, such as "s. 5.4", or "".
        paper: &'static str,
        /// Version that brought the option, "0.1".
        since: &'static str,
    }
}

/// Of the option table alone, whose texts are static.
impl IntoRust<&'static str> for *const c_char {
    fn into_rust(self) -> &'static str {
        if self.is_null() {
            return "";
        }
        // SAFETY: a C string that is never freed.
        unsafe { CStr::from_ptr(self) }.to_str().unwrap_or("")
    }
}

impl IntoRust<Vec<&'static str>> for *const c_char {
    fn into_rust(self) -> Vec<&'static str> {
        let words: &'static str = self.into_rust();
        words.split('|').filter(|word| !word.is_empty()).collect()
    }
}

/// The table of all options.
///
/// ```
/// let options = xformer::options()?;
/// let beam = options.iter().find(|option| option.key == "decode.beam").unwrap();
/// assert_eq!((beam.default_value, beam.minimum), ("4", 1.0));
/// # Ok::<(), xformer::Error>(())
/// ```
pub fn options() -> Result<Vec<OptionInfo>> {
    version::check()?;
    // SAFETY: a number, from any thread.
    (0..unsafe { sys::xf_option_count() }).map(|index| read!(OptionInfo, xf_option_get(index))).collect()
}

/// A value for [`Config::set`], made from the types of Rust by `into()`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// For an integer or a floating-point option.
    I64(i64),
    /// For a floating-point option.
    F64(f64),
    /// For a boolean option.
    Bool(bool),
    /// For an option of any type, in the form of a command line.
    Str(&'a str),
}

macro_rules! values {
    ($($type:ty => $value:ident,)*) => {$(
        impl<'a> From<$type> for Value<'a> {
            fn from(value: $type) -> Self {
                Value::$value(value.into())
            }
        }
    )*};
}

values! {
    i32 => I64, u32 => I64, i64 => I64, f32 => F64, f64 => F64, bool => Bool, &'a str => Str,
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Str(value)
    }
}

/// A set of option values, in which what was not set has its default. Objects read it when they are made.
///
/// ```
/// use xformer::Config;
///
/// let mut config = Config::new()?;
/// config.preset("tiny")?.set("train.dropout", 0.2)?.set("train.warmup_steps", 100)?.set("model.norm", "pre")?;
/// assert_eq!(config.get_i64("model.d_model")?, 64);
/// assert_eq!(config.get_str("train.dropout")?, "0.2");
/// # Ok::<(), xformer::Error>(())
/// ```
pub struct Config {
    handle: Handle<sys::xf_config>,
}

impl Config {
    /// A config of defaults. [`Status::Version`] of a library that does not go with this crate.
    pub fn new() -> Result<Self> {
        version::check()?;
        Ok(Config { handle: make!(None, xf_config_create())? })
    }

    /// A copy, also of a config that belongs to another object.
    ///
    /// # Safety
    ///
    /// `config` lives during the call.
    pub(crate) unsafe fn copy_of(config: *const sys::xf_config) -> Result<Self> {
        Ok(Config { handle: make!(None, xf_config_copy(config))? })
    }

    /// Sets the model and training options of a named preset; other options stay. "base" and "big" are the paper's,
    /// "small" and "tiny" this library's; of another name it is [`Status::NotFound`].
    pub fn preset(&mut self, name: &str) -> Result<&mut Self> {
        call!(xf_config_preset(self.handle.get(), c_string("the preset", name)?.as_ptr()))?;
        Ok(self)
    }

    /// Sets an option: text is read as from a command line, so it fits all types. [`Status::NotFound`] when there is no
    /// such option (the message has the nearest), [`Status::OutOfRange`] outside its bounds (never clamped),
    /// [`Status::InvalidArgument`] when the value is not of its type.
    pub fn set<'a>(&mut self, key: &str, value: impl Into<Value<'a>>) -> Result<&mut Self> {
        let (config, key) = (self.handle.get(), c_string("the key", key)?);
        let text = match value.into() {
            Value::I64(value) => return call!(xf_config_set_i64(config, key.as_ptr(), value)).map(|_| self),
            Value::F64(value) => return call!(xf_config_set_f64(config, key.as_ptr(), value)).map(|_| self),
            Value::Bool(value) => c_string("the value", value.to_string())?, // as a number it would fit integers too
            Value::Str(text) => c_string("the value", text)?,
        };
        call!(xf_config_set(config, key.as_ptr(), text.as_ptr())).map(|_| self)
    }

    /// Reads an integer option. [`Status::NotFound`], or [`Status::InvalidArgument`] of an option of another type.
    pub fn get_i64(&self, key: &str) -> Result<i64> {
        let mut value = 0;
        call!(xf_config_get_i64(self.handle.get(), c_string("the key", key)?.as_ptr(), &mut value))?;
        Ok(value)
    }

    /// Reads a floating-point option, as [`get_i64`](Config::get_i64).
    pub fn get_f64(&self, key: &str) -> Result<f64> {
        let mut value = 0.0;
        call!(xf_config_get_f64(self.handle.get(), c_string("the key", key)?.as_ptr(), &mut value))?;
        Ok(value)
    }

    /// Reads a boolean option, as [`get_i64`](Config::get_i64).
    pub fn get_bool(&self, key: &str) -> Result<bool> {
        self.get_i64(key).map(|value| value != 0)
    }

    /// Reads an option of any type as text. [`Status::NotFound`]; [`Status::Data`] of a text that is not UTF-8.
    pub fn get_str(&self, key: &str) -> Result<&str> {
        let mut text = null();
        call!(xf_config_get(self.handle.get(), c_string("the key", key)?.as_ptr(), &mut text))?;
        // SAFETY: a C string that lives until the config is changed or freed, for which the borrow has to end.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_str().map_err(|error| Error::new(Status::Data, format!("the option's text is not UTF-8: {}", error)))
    }
}

/// # Panics
///
/// When memory is out, as all of Rust does.
impl Clone for Config {
    fn clone(&self) -> Self {
        // SAFETY: the config is alive.
        unsafe { Config::copy_of(self.handle.get()) }.expect("memory for a config")
    }
}

/// Shows the options that have not their default.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = options().map_err(|_| fmt::Error)?;
        let defaults = Config::new().map_err(|_| fmt::Error)?;
        let values = rows.iter().filter_map(|row| {
            let value = self.get_str(row.key).ok()?;
            (defaults.get_str(row.key).ok()? != value).then_some((row.key, value))
        });
        f.debug_map().entries(values).finish()
    }
}

/// The pointer for a parameter that may be NULL: all defaults.
pub(crate) fn pointer<'a>(config: impl Into<Option<&'a Config>>) -> *const sys::xf_config {
    config.into().map_or(null(), |config| config.handle.get())
}
