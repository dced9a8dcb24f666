//! Options by name.
//
// SPDX-License-Identifier: Apache-2.0

use std::ffi::{CStr, CString};
use std::fmt;
use std::ptr::null;

use xformer_sys as sys;

use crate::handle::{call, create, Handle};
use crate::strings::{c_string, fixed};
use crate::{version, Error, Result, Status};

/// Type of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OptionType {
    /// 64-bit signed integer.
    I64,
    /// Floating-point number.
    F64,
    /// True or false.
    Bool,
    /// Text; one of a list of words where the table says so.
    Str,
    /// A type of a library newer than this crate.
    Unknown(i32),
}

/// One row of the table of all options.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OptionInfo {
    /// Such as "train.label_smoothing".
    pub key: &'static str,
    /// Type of its value.
    pub option_type: OptionType,
    /// The default as text.
    pub default_value: &'static str,
    /// Smallest value allowed, of a number.
    pub minimum: f64,
    /// Largest value allowed, of a number.
    pub maximum: f64,
    /// The allowed words of a text, or none when any text is allowed.
    pub choices: Vec<&'static str>,
    /// One sentence on what it does, with its unit.
    pub doc: &'static str,
    /// Where the paper speaks of it, such as "s. 5.4", or "".
    pub paper: &'static str,
    /// Version that brought the option, "0.1".
    pub since: &'static str,
}

/// The table of all options.
///
/// ```
/// let options = xformer::options()?;
/// let beam = options.iter().find(|option| option.key == "decode.beam").unwrap();
/// assert_eq!((beam.default_value, beam.minimum), ("4", 1.0));
/// # Ok::<(), xformer::Error>(())
/// ```
///
/// # Errors
///
/// [`Status::Version`] of a library that does not go with this crate.
pub fn options() -> Result<Vec<OptionInfo>> {
    version::check()?;
    // SAFETY: a number, from any thread.
    let count = unsafe { sys::xf_option_count() };
    (0..count).map(option).collect()
}

fn option(index: usize) -> Result<OptionInfo> {
    let mut row = sys::XF_OPTION_INFO_INIT;
    // SAFETY: `row` has its size; all its strings are static, "choices" may be NULL.
    unsafe {
        call(|error| sys::xf_option_get(index, &mut row, error))?;
        let text = |text| fixed(text).map(|text| text.unwrap_or(""));
        Ok(OptionInfo {
            key: text(row.key)?,
            option_type: match row.type_ as sys::xf_option_type {
                sys::XF_OPTION_I64 => OptionType::I64,
                sys::XF_OPTION_F64 => OptionType::F64,
                sys::XF_OPTION_BOOL => OptionType::Bool,
                sys::XF_OPTION_STR => OptionType::Str,
                _ => OptionType::Unknown(row.type_),
            },
            default_value: text(row.default_value)?,
            minimum: row.minimum,
            maximum: row.maximum,
            choices: fixed(row.choices)?.map_or_else(Vec::new, |words| words.split('|').collect()),
            doc: text(row.doc)?,
            paper: text(row.paper)?,
            since: text(row.since)?,
        })
    }
}

/// A value for [`Config::set`], made from the types of Rust by `into()`.
///
/// ```
/// use xformer::Value;
///
/// assert_eq!(Value::from(3), Value::I64(3));
/// assert_eq!(Value::from("post"), Value::Str("post"));
/// ```
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
///
/// A text belongs to the config and ends when the config changes:
///
/// ```compile_fail,E0502
/// # let mut config = xformer::Config::new().unwrap();
/// let norm = config.get_str("model.norm").unwrap();
/// config.set("model.norm", "pre").unwrap();
/// println!("{}", norm);
/// ```
pub struct Config {
    handle: Handle<sys::xf_config>,
}

impl Config {
    /// A config in which every option has its default.
    ///
    /// # Errors
    ///
    /// [`Status::NoMemory`]; [`Status::Version`] of a library that does not go with this crate.
    pub fn new() -> Result<Self> {
        version::check()?;
        // SAFETY: `out` and `error` are valid.
        create(None, |out, error| unsafe { sys::xf_config_create(out, error) }).map(|handle| Config { handle })
    }

    /// Another config with the same values.
    ///
    /// # Errors
    ///
    /// [`Status::NoMemory`].
    pub fn try_clone(&self) -> Result<Self> {
        // SAFETY: the config is alive and is read.
        unsafe { Config::copy_of(self.handle.get()) }
    }

    /// A copy of a config that belongs to another object.
    ///
    /// # Safety
    ///
    /// `config` lives during the call, and no other call changes it.
    pub(crate) unsafe fn copy_of(config: *const sys::xf_config) -> Result<Self> {
        // SAFETY: as the caller promises; `out` and `error` are valid.
        create(None, |out, error| unsafe { sys::xf_config_copy(config, out, error) }).map(|handle| Config { handle })
    }

    /// Sets the model and training options of a named preset; other options stay.
    ///
    /// "base" and "big" are the paper's, "small" and "tiny" this library's; `xformer/config.h` lists one for each row
    /// of the paper's Table 3, and "parsing" of its s. 6.3.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`]: there is no such preset, and nothing was changed.
    pub fn preset(&mut self, name: &str) -> Result<&mut Self> {
        let name = c_string("the preset", name.as_bytes())?;
        // SAFETY: the config is used by this call alone; the name is a C string.
        call(|error| unsafe { sys::xf_config_preset(self.handle.get_mut(), name.as_ptr(), error) })?;
        Ok(self)
    }

    /// Sets an option: text is read as from a command line, so it fits all types.
    ///
    /// # Errors
    ///
    /// Nothing was changed: [`Status::NotFound`] (no such option; the message has the nearest),
    /// [`Status::OutOfRange`] (never clamped), [`Status::InvalidArgument`] (not of the option's type).
    pub fn set<'a>(&mut self, key: &str, value: impl Into<Value<'a>>) -> Result<&mut Self> {
        let (key, value) = (c_string("the key", key.as_bytes())?, value.into());
        let text = match value {
            Value::Str(text) => c_string("the value", text.as_bytes())?,
            _ => CString::default(),
        };
        let (config, key) = (self.handle.get_mut(), key.as_ptr());
        // SAFETY: the config is used by this call alone; key and text are C strings.
        call(|error| unsafe {
            match value {
                Value::I64(value) => sys::xf_config_set_i64(config, key, value, error),
                Value::F64(value) => sys::xf_config_set_f64(config, key, value, error),
                Value::Bool(value) => sys::xf_config_set_i64(config, key, value.into(), error),
                Value::Str(_) => sys::xf_config_set(config, key, text.as_ptr(), error),
            }
        })?;
        Ok(self)
    }

    /// Reads an integer option.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`], or [`Status::InvalidArgument`] of an option of another type.
    pub fn get_i64(&self, key: &str) -> Result<i64> {
        let (key, mut value) = (c_string("the key", key.as_bytes())?, 0);
        // SAFETY: the config is read, the key is a C string, `value` is valid.
        call(|error| unsafe { sys::xf_config_get_i64(self.handle.get(), key.as_ptr(), &mut value, error) })?;
        Ok(value)
    }

    /// Reads a floating-point option.
    ///
    /// # Errors
    ///
    /// As [`get_i64`](Config::get_i64).
    pub fn get_f64(&self, key: &str) -> Result<f64> {
        let (key, mut value) = (c_string("the key", key.as_bytes())?, 0.0);
        // SAFETY: the config is read, the key is a C string, `value` is valid.
        call(|error| unsafe { sys::xf_config_get_f64(self.handle.get(), key.as_ptr(), &mut value, error) })?;
        Ok(value)
    }

    /// Reads a boolean option.
    ///
    /// # Errors
    ///
    /// As [`get_i64`](Config::get_i64).
    pub fn get_bool(&self, key: &str) -> Result<bool> {
        let (key, mut value) = (c_string("the key", key.as_bytes())?, 0);
        // SAFETY: the config is read, the key is a C string, `value` is valid.
        call(|error| unsafe { sys::xf_config_get_i64(self.handle.get(), key.as_ptr(), &mut value, error) })?;
        Ok(value != 0)
    }

    /// Reads an option of any type as text.
    ///
    /// # Errors
    ///
    /// [`Status::NotFound`]; [`Status::Data`] of a text that is not UTF-8.
    pub fn get_str(&self, key: &str) -> Result<&str> {
        let (key, mut value) = (c_string("the key", key.as_bytes())?, null());
        // SAFETY: the config is read, the key is a C string, `value` is valid; the text lives until the config is
        // changed or freed, for which the borrow has to end.
        let text = unsafe {
            call(|error| sys::xf_config_get(self.handle.get(), key.as_ptr(), &mut value, error))?;
            CStr::from_ptr(value)
        };
        text.to_str().map_err(|error| Error::new(Status::Data, format!("the option's text is not UTF-8: {}", error)))
    }
}

/// # Panics
///
/// When memory is out, as all of Rust does; [`Config::try_clone`] tells.
impl Clone for Config {
    fn clone(&self) -> Self {
        self.try_clone().expect("memory for a config")
    }
}

/// Shows the options that have not their default.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, defaults) = (options().map_err(|_| fmt::Error)?, Config::new().map_err(|_| fmt::Error)?);
        let values = rows.iter().filter_map(|row| {
            let value = self.get_str(row.key).ok()?;
            (defaults.get_str(row.key).ok()? != value).then_some((row.key, value))
        });
        f.debug_map().entries(values).finish()
    }
}

/// The pointer for a parameter that may be NULL: all defaults.
pub(crate) fn pointer(config: Option<&Config>) -> *const sys::xf_config {
    config.map_or(null(), |config| config.handle.get())
}
