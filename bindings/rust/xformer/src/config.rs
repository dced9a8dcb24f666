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
        /// An integer.
        Integer = XF_OPTION_INTEGER,
        /// A floating-point number.
        Real = XF_OPTION_REAL,
        /// True or false.
        Bool = XF_OPTION_BOOL,
        /// Text; one of [`OptionInfo::choices`], unless that is empty.
        Text = XF_OPTION_TEXT,
    }
}

mirror! {
    /// One row of the option table.
    pub struct OptionInfo = xf_option_info XF_OPTION_INFO_INIT {
        /// For example "train.label_smoothing".
        key: &'static str,
        /// Type of the value.
        type_: OptionType,
        /// The default, as text.
        default_value: &'static str,
        /// Smallest allowed value of a number.
        minimum: f64,
        /// Largest allowed value of a number.
        maximum: f64,
        /// The allowed words of a text; empty if any text is allowed.
        choices: Vec<&'static str>,
        /// One or two sentences that describe the option, with its unit.
        doc: &'static str,
        /// Section of the paper, for example "s. 5.4", or "".
        paper: &'static str,
        /// Version that introduced the option, for example "0.1".
        since: &'static str,
    }
}

/// For the option table only, whose strings are static.
impl IntoRust<&'static str> for *const c_char {
    fn into_rust(self) -> &'static str {
        if self.is_null() {
            return "";
        }
        // SAFETY: a static C string.
        unsafe { CStr::from_ptr(self) }.to_str().unwrap_or("")
    }
}

impl IntoRust<Vec<&'static str>> for *const c_char {
    fn into_rust(self) -> Vec<&'static str> {
        let words: &'static str = self.into_rust();
        words.split('|').filter(|word| !word.is_empty()).collect()
    }
}

/// Returns the table of all options.
pub fn options() -> Result<Vec<OptionInfo>> {
    version::check()?;
    // SAFETY: the function may be called from any thread.
    (0..unsafe { sys::xf_option_count() }).map(|index| read!(OptionInfo, xf_option_get(index))).collect()
}

/// Returns the row of one option. [`Status::NotFound`]: the library has no such option; the message names the nearest
/// key.
///
/// ```
/// let beam = xformer::option("decode.beam")?;
/// assert_eq!((beam.default_value, beam.minimum), ("4", 1.0));
/// # Ok::<(), xformer::Error>(())
/// ```
pub fn option(key: &str) -> Result<OptionInfo> {
    version::check()?;
    read!(OptionInfo, xf_option_find(c_string("the key", key)?.as_ptr()))
}

/// A value for [`Config::set`]; numbers, booleans, and strings convert to it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// For a number.
    Integer(i64),
    /// For a number; a whole one if the option is an integer.
    Real(f64),
    /// For a boolean.
    Bool(bool),
    /// For an option of any type, as on a command line.
    Text(&'a str),
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
    i32 => Integer, u32 => Integer, i64 => Integer, f32 => Real, f64 => Real, bool => Bool, &'a str => Text,
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(value)
    }
}

/// A set of option values. An option that was not set has its default. Functions read a config during the call.
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
    /// Creates a config in which every option has its default. [`Status::Version`]: the loaded library does not fit this
    /// crate.
    pub fn new() -> Result<Self> {
        version::check()?;
        Ok(Config { handle: make!(None, xf_config_create())? })
    }

    /// Copies a config that another object may own.
    ///
    /// # Safety
    ///
    /// `config` is valid during the call.
    pub(crate) unsafe fn copy_of(config: *const sys::xf_config) -> Result<Self> {
        Ok(Config { handle: make!(None, xf_config_copy(config))? })
    }

    /// Sets the model and training options of a preset: "base", "big", "parsing", "small", or "tiny". Other options are
    /// unchanged. [`Status::NotFound`]: no such preset.
    pub fn preset(&mut self, name: &str) -> Result<&mut Self> {
        call!(xf_config_preset(self.handle.get(), c_string("the preset", name)?.as_ptr()))?;
        Ok(self)
    }

    /// Sets an option. [`Status::NotFound`]: no such option; the message names the nearest key.
    /// [`Status::OutOfRange`]: outside the bounds; values are never clamped. [`Status::InvalidArgument`]: not of the
    /// option's type.
    pub fn set<'a>(&mut self, key: &str, value: impl Into<Value<'a>>) -> Result<&mut Self> {
        let (config, key) = (self.handle.get(), c_string("the key", key)?);
        let text = match value.into() {
            Value::Real(value) => return call!(xf_config_set_number(config, key.as_ptr(), value)).map(|_| self),
            Value::Integer(value) => c_string("the value", value.to_string())?,
            Value::Bool(value) => c_string("the value", value.to_string())?, // a number would fit integers, too
            Value::Text(text) => c_string("the value", text)?,
        };
        call!(xf_config_set(config, key.as_ptr(), text.as_ptr())).map(|_| self)
    }

    /// Reads a number or a boolean as a floating-point number. [`Status::NotFound`]: no such option.
    /// [`Status::InvalidArgument`]: the option is text.
    pub fn get_f64(&self, key: &str) -> Result<f64> {
        let mut value = 0.0;
        call!(xf_config_get_number(self.handle.get(), c_string("the key", key)?.as_ptr(), &mut value))?;
        Ok(value)
    }

    /// Reads an integer option. As [`get_f64`](Config::get_f64), and [`Status::InvalidArgument`] for a fraction.
    pub fn get_i64(&self, key: &str) -> Result<i64> {
        let value = self.get_f64(key)?;
        if value.fract() != 0.0 {
            return Err(Error::invalid(format!("{} is {}, expected an integer", key, value)));
        }
        Ok(value as i64) // exact: the bounds of integers lie within 2^53
    }

    /// Reads a boolean option, as [`get_f64`](Config::get_f64).
    pub fn get_bool(&self, key: &str) -> Result<bool> {
        self.get_f64(key).map(|value| value != 0.0)
    }

    /// Reads an option of any type as text. [`Status::NotFound`]: no such option. [`Status::Data`]: the text is not UTF-8.
    pub fn get_str(&self, key: &str) -> Result<&str> {
        let mut text = null();
        call!(xf_config_get(self.handle.get(), c_string("the key", key)?.as_ptr(), &mut text))?;
        // SAFETY: a C string, valid until the config is changed or freed, which the borrow prevents.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_str().map_err(|error| Error::new(Status::Data, format!("the option's text is not UTF-8: {}", error)))
    }
}

/// # Panics
///
/// If memory cannot be allocated.
impl Clone for Config {
    fn clone(&self) -> Self {
        // SAFETY: the config is valid.
        unsafe { Config::copy_of(self.handle.get()) }.expect("copy a config")
    }
}

/// Prints the options that do not have their default.
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

/// The pointer for a parameter; NULL selects all defaults.
pub(crate) fn pointer<'a>(config: impl Into<Option<&'a Config>>) -> *const sys::xf_config {
    config.into().map_or(null(), |config| config.handle.get())
}
