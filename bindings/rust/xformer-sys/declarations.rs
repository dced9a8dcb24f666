//! For the build script: declarations of Rust from the C headers. What they are written in is regular, and
//! tests/abi.rs holds the result against a C compiler: enumerations and numbers by `#define`, structures with an
//! initialiser, opaque types, types of functions, functions.
//
// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// What is made: the declarations, and their names for the macro `table!` of the tests.
#[derive(Default)]
pub struct Made {
    pub declarations: String,
    constants: String,
    structs: String,
    functions: String,
}

impl Made {
    pub fn table(&self) -> String {
        let Made { constants, structs, functions, .. } = self;
        format!("table! {{\nconstants {{\n{constants}}}\nstructs {{\n{structs}}}\nfunctions {{\n{functions}}}\n}}\n")
    }
}

pub fn of_headers(folder: &Path) -> io::Result<Made> {
    let mut made = Made::default();
    let paths: io::Result<Vec<_>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".h") || name == "export.h" {
            continue; // C++, or what compilers alone need
        }
        let documented = format!("#[doc = \"Documented in `xformer/{name}`.\"]\n");
        made.header(&documented, &without_comments(&fs::read_to_string(&path)?));
    }
    Ok(made)
}

fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or("").to_string();
    pieces.fold(first, |sum, piece| sum + piece.split_once("*/").expect("the end of a comment").1)
}

impl Made {
    fn header(&mut self, documented: &str, text: &str) {
        let text = text.replace("extern \"C\" {", "").replace("__cplusplus\n}", "").replace("\\\n", " ");
        let (defines, code): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let mut structs = BTreeMap::new();
        for declaration in declarations(&code.join("\n")) {
            let made = self.declaration(documented, declaration, &mut structs);
            made.unwrap_or_else(|| panic!("the headers declare in a new way: {declaration}"));
        }
        for define in defines {
            let mut words = define.splitn(3, ' ');
            if let (Some("#define"), Some(name), Some(value)) = (words.next(), words.next(), words.next()) {
                let (kind, value) = match value.split_once("sizeof(") {
                    Some((_, values)) => initialiser(values, &structs).expect("an initialiser of a structure above it"),
                    None => {
                        (if name.ends_with("_SIZE") { "usize" } else { "i32" }.to_string(), bare(value).to_string())
                    }
                };
                self.constant(documented, name, &kind, &value);
            }
        }
    }

    fn constant(&mut self, documented: &str, name: &str, kind: &str, value: &str) {
        self.declarations += &format!("{documented}pub const {name}: {kind} = {value};\n");
        if !name.ends_with("_INIT") {
            self.constants += &format!("{name},\n");
        }
    }

    fn declaration(
        &mut self,
        documented: &str,
        text: &str,
        structs: &mut BTreeMap<String, Vec<(String, String)>>,
    ) -> Option<()> {
        let (keyword, rest) = text.split_once(' ')?;
        match (keyword, rest.strip_prefix("struct "), rest.split_once('{')) {
            ("enum", _, Some((name, values))) => {
                let name = name.trim();
                let kind = if values.contains('-') { "c_int" } else { "c_uint" };
                self.declarations += &format!("{documented}pub type {name} = {kind};\n");
                for value in values.trim_end_matches('}').split(',') {
                    let (constant, value) = value.split_once('=')?;
                    self.constant(documented, constant.trim(), name, value.trim());
                }
            }
            ("typedef", Some(_), Some((name, members))) => {
                let (name, members) = (name.strip_prefix("struct ")?.trim(), members.split_once('}')?.0);
                let members: Vec<_> = declarations(members).map(declared).collect();
                let each = |(name, kind): &(String, String)| format!("{documented}pub {name}: {kind},\n");
                let (fields, names): (String, Vec<_>) = members.iter().map(|m| (each(m), m.0.as_str())).unzip();
                self.declarations += &format!(
                    "{documented}#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {name} {{\n{fields}}}\n"
                );
                self.structs += &format!("{name} {{ {} }}\n", names.join(", "));
                structs.insert(name.to_string(), members);
            }
            ("typedef", Some(names), None) => {
                let members = "bytes: [u8; 0], marker: PhantomData<(*mut u8, PhantomPinned)>";
                let name = names.split(' ').next()?;
                self.declarations +=
                    &format!("{documented}#[repr(C)]\n#[derive(Debug)]\npub struct {name} {{ {members} }}\n");
            }
            ("typedef", None, None) => {
                let (name, kind) = declared(rest);
                self.declarations += &format!("{documented}pub type {name} = {kind};\n");
            }
            ("XF_API", _, None) => {
                let (head, list) = rest.split_once('(')?;
                let ((name, result), list) = (declared(head), parameters(list));
                let arguments: Vec<_> = list.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
                let kinds: Vec<_> = list.into_iter().map(|(_, kind)| kind).collect();
                self.declarations += &format!(
                    "extern \"C\" {{\n{documented}pub fn {name}({}){};\n}}\n",
                    arguments.join(", "),
                    returned(&result)
                );
                self.functions += &format!("{name}({}){};\n", kinds.join(", "), returned(&result));
            }
            _ => return None,
        }
        Some(())
    }
}

/// What ends with a semicolon, those within braces left in.
fn declarations(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let pieces = text.split_terminator(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ';' && depth == 0
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty())
}

/// Without parentheses around all of it.
fn bare(value: &str) -> &str {
    value.strip_prefix('(').and_then(|value| value.strip_suffix(')')).unwrap_or(value)
}

/// Type and value of an initialiser, of which the values begin with the name of the structure and a parenthesis.
fn initialiser(values: &str, structs: &BTreeMap<String, Vec<(String, String)>>) -> Option<(String, String)> {
    let name = values.split(')').next()?;
    let value = |((member, kind), value): (&(String, String), &str)| {
        let value = match kind.split(' ').next()? {
            "usize" if member == "struct_size" => format!("size_of::<{name}>()"),
            "*const" => "null()".to_string(),
            "*mut" => "null_mut()".to_string(),
            function if function.starts_with("Option<") || function.ends_with("_fn") => "None".to_string(),
            array if array.starts_with('[') => format!("[0 as {}", &kind[1..]),
            _ => format!("{} as {kind}", value.trim_matches([' ', '{', '}'])),
        };
        Some(format!("{member}: {value}"))
    };
    let members: Option<Vec<_>> = structs.get(name)?.iter().zip(values.split(',')).map(value).collect();
    Some((name.to_string(), format!("{name} {{ {} }}", members?.join(", "))))
}

/// Name and type in Rust of "const char *name", "double name[4]" or "void (*name)(int32_t a)".
fn declared(text: &str) -> (String, String) {
    if let Some((result, rest)) = text.split_once("(*") {
        let (name, list) = rest.split_once(")(").expect("parameters of a function");
        let list: Vec<_> = parameters(list).iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
        let kind = format!("Option<unsafe extern \"C\" fn({}){}>", list.join(", "), returned(&rust_type(result)));
        return (name.to_string(), kind);
    }
    if let Some((member, size)) = text.split_once('[') {
        let (name, kind) = declared(member);
        return (name, format!("[{kind}; {}", size));
    }
    let (kind, name) = text.split_at(text.rfind([' ', '*']).map_or(0, |at| at + 1));
    (if name == "type" { "type_" } else { name }.to_string(), rust_type(kind))
}

fn parameters(list: &str) -> Vec<(String, String)> {
    let list = list.trim_end_matches(')');
    list.split(',').filter(|parameter| *parameter != "void").map(|parameter| declared(parameter.trim())).collect()
}

fn returned(kind: &str) -> String {
    if kind == "c_void" {
        String::new()
    } else {
        format!(" -> {kind}")
    }
}

fn rust_type(c: &str) -> String {
    let levels: Vec<&str> = c.split('*').collect();
    let name = levels[0].split_whitespace().find(|word| !["const", "enum"].contains(word)).unwrap_or_default();
    let rust = match name {
        "void" => "c_void",
        "char" => "c_char",
        "size_t" => "usize",
        "int32_t" => "i32",
        "uint32_t" => "u32",
        "int64_t" => "i64",
        "uint64_t" => "u64",
        "float" => "f32",
        "double" => "f64",
        own => own,
    };
    let pointer = |to: &str| if to.contains("const") { "*const" } else { "*mut" };
    levels[..levels.len() - 1].iter().fold(rust.to_string(), |kind, to| format!("{} {kind}", pointer(to)))
}
