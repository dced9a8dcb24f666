//! Compares the declarations with the installed C headers. A C compiler checks each prototype, written in C from the Rust
//! declaration, and a C program prints sizes, offsets, and constants.
//
// SPDX-License-Identifier: Apache-2.0

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::path::PathBuf;
use std::process::Command;
use std::ptr::addr_of;
use std::{env, fs};

use xformer_sys::*;

/// The declarations of abi_table.inl.
struct Table {
    /// (C expression, value in Rust) of constants, sizes, and offsets.
    values: Vec<(String, i64)>,
    /// Name, parameter types, and result type of each function.
    functions: BTreeMap<String, (Vec<String>, String)>,
}

fn table() -> Table {
    let (mut values, mut functions) = (Vec::new(), BTreeMap::new());
    macro_rules! table {
        (
            constants { $($constant:ident),* }
            structs { $($name:ident { $($field:ident),* })* }
            functions { $($function:ident($($type:ty),*) $(-> $out:ty)?;)* }
        ) => {{
            $(values.push((stringify!($constant).to_string(), $constant as i64));)*
            $(
                values.push((format!("sizeof({})", stringify!($name)), size_of::<$name>() as i64));
                let value = MaybeUninit::<$name>::uninit();
                let base = value.as_ptr();
                $(
                    // SAFETY: addr_of computes an address within `value` and reads nothing.
                    let offset = unsafe { addr_of!((*base).$field) as usize } - base as usize;
                    let field = stringify!($field).trim_end_matches('_'); // `type` is a keyword in Rust
                    values.push((format!("offsetof({}, {})", stringify!($name), field), offset as i64));
                )*
            )*
            $(
                // Fails to compile if the function has other types.
                let _: unsafe extern "C" fn($($type),*) $(-> $out)? = $function;
                let types = vec![$(spaced(stringify!($type))),*];
                let result = spaced([$(stringify!($out),)? "()"][0]);
                functions.insert(stringify!($function).to_string(), (types, result));
            )*
        }};
    }
    include!("abi_table.inl");
    Table { values, functions }
}

fn headers() -> String {
    let folder = PathBuf::from(env!("XFORMER_INCLUDE")).join("xformer");
    let mut text = String::new();
    for entry in fs::read_dir(&folder).expect("the folder of the headers") {
        let path = entry.expect("an entry").path();
        if path.extension().map_or(false, |extension| extension == "h") {
            text += &fs::read_to_string(path).expect("a header");
        }
    }
    without_comments(&text)
}

fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or("").to_string();
    pieces.fold(first, |sum, piece| sum + piece.split_once("*/").expect("the end of a comment").1)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A type as it is usually written; the spaces that stringify! inserts differ between compilers.
fn spaced(rust: &str) -> String {
    rust.replace("* ", "*")
}

/// Converts a Rust type to C.
fn c_type(rust: &str) -> String {
    if let Some(to) = rust.strip_prefix("*const ") {
        return format!("{} const *", c_type(to));
    }
    if let Some(to) = rust.strip_prefix("*mut ") {
        return format!("{} *", c_type(to));
    }
    let name = rust.rsplit("::").next().unwrap_or(rust);
    match name {
        "()" | "c_void" => "void".to_string(),
        "c_char" => "char".to_string(),
        "usize" => "size_t".to_string(),
        "i32" => "int32_t".to_string(),
        "i64" => "int64_t".to_string(),
        "u64" => "uint64_t".to_string(),
        "f32" => "float".to_string(),
        "f64" => "double".to_string(),
        _ => name.to_string(),
    }
}

fn prototypes() -> String {
    let prototype = |(name, (parameters, result)): (String, (Vec<String>, String))| {
        let parameters: Vec<String> = parameters.iter().map(|p| c_type(p)).collect();
        let list = if parameters.is_empty() { "void".to_string() } else { parameters.join(", ") };
        format!("extern {} {}({});\n", c_type(&result), name, list)
    };
    table().functions.into_iter().map(prototype).collect()
}

/// Compiles a C source with the installed headers. Returns the path of the program, or the output of the compiler.
fn compile(name: &str, source: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (folder.join(name).with_extension("c"), folder.join(name));
    fs::write(&file, source).expect("write a file");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I", env!("XFORMER_INCLUDE"), "-o"])
        .args([&program, &file])
        .output()
        .expect("a C compiler, cc");
    if output.status.success() {
        Ok(program)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn program(prototypes: &str) -> String {
    let rows = table().values;
    let lines: String = rows.iter().map(|(c, _)| format!("    printf(\"%lld\\n\", (long long)({}));\n", c)).collect();
    let head =
        "#include <stddef.h>\n#include <stdio.h>\n#include <xformer/experimental.h>\n#include <xformer/xformer.h>\n";
    format!("{}{}int main(void) {{\n{}    return 0;\n}}\n", head, prototypes, lines)
}

#[test]
fn sizes_offsets_constants_and_prototypes() {
    let program = compile("layout", &program(&prototypes())).unwrap_or_else(|message| panic!("{}", message));
    let output = Command::new(program).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("numbers");
    let found: Vec<i64> = text.lines().map(|line| line.parse().expect("a number")).collect();
    let here = table().values;
    assert_eq!(found.len(), here.len());
    for ((name, value), c) in here.iter().zip(found) {
        assert_eq!(*value, c, "{}", name);
    }
}

#[test]
fn a_wrong_prototype_is_detected() {
    let right = "extern int32_t xf_version_num(void);\n";
    assert!(prototypes().contains(right));
    for wrong in ["extern int64_t xf_version_num(void);\n", "extern int32_t xf_version_num(int32_t);\n"] {
        let message = compile("wrong", &program(&prototypes().replace(right, wrong))).expect_err("a conflict");
        assert!(message.contains("xf_version_num"), "{}", message);
    }
}

#[test]
fn everything_in_the_headers_is_declared() {
    let headers = headers();
    let mut functions = BTreeSet::new();
    for piece in headers.split("XF_API ").skip(1) {
        let name = piece.split_once('(').and_then(|(head, _)| words(head).last());
        functions.extend(name.filter(|name| name.starts_with("xf_")).map(String::from));
    }
    assert!(functions.len() > 80, "{:?}", functions);
    assert_eq!(functions, table().functions.into_keys().collect());

    let structs: BTreeSet<String> = headers
        .split("typedef struct ")
        .skip(1)
        .filter(|piece| words(piece.split(';').next().unwrap_or("")).count() > 2)
        .map(|piece| words(piece).next().unwrap_or("").to_string())
        .collect();
    let values = table().values;
    let here = values.iter().filter_map(|(c, _)| Some(c.strip_prefix("sizeof(")?.trim_end_matches(')').to_string()));
    assert_eq!(structs, here.collect());

    let numbers: BTreeSet<&str> = words(&headers)
        .filter(|word| word.starts_with("XF_") && !word.ends_with("_H") && !word.ends_with("_INIT"))
        .filter(|word| !["XF_API", "XF_SOURCE_PATH", "XF_SINK_PATH"].contains(word))
        .collect();
    let here = values.iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("XF_"));
    assert_eq!(numbers, here.collect());
}

#[test]
fn initializers() {
    assert_eq!(size_of::<xf_error>(), 256);
    assert_eq!(XF_BATCH_INIT.struct_size, size_of::<xf_batch>());
    assert!(XF_BATCH_INIT.src_ids.is_null() && XF_BATCH_INIT.sentences == 0);
    assert_eq!(XF_BLEU_SCORE_INIT.struct_size, size_of::<xf_bleu_score>());
    assert_eq!((XF_SOURCE_INIT.kind, XF_HOST_INIT.log_level), (0, 0));
    assert!(XF_HOST_INIT.alloc.is_none() && XF_SOURCE_INIT.path.is_null());
}

#[test]
fn version_of_the_linked_library() {
    // SAFETY: the function has no arguments and may be called from any thread.
    let found = unsafe { xf_version_num() };
    assert_eq!(found >> 8, XF_VERSION_NUM >> 8);
}
