//! For the build script: declarations of Rust from the C headers. What they are written in is regular, and
//! tests/abi.rs holds the result against a C compiler: enumerations and numbers by `#define`, structures with an
//! initialiser, opaque types, types of functions, functions.
//
// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// Name and type in Rust.
type Member = (String, String);

/// What is made: the declarations, and their names for the macro `table!` of the tests.
#[derive(Default)]
pub struct Made {
    pub declarations: String,
    documented: String,
    constants: Vec<String>,
    structs: BTreeMap<String, Vec<Member>>,
    functions: String,
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
        made.documented = format!("#[doc = \"Documented in `xformer/{name}`.\"]\n");
        made.header(&without_comments(&fs::read_to_string(&path)?));
    }
    Ok(made)
}

fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or("").to_string();
    pieces.fold(first, |sum, piece| sum + piece.split_once("*/").expect("the end of a comment").1)
}

impl Made {
    pub fn table(&self) -> String {
        let of = |(name, members): (&String, &Vec<Member>)| format!("{name} {{ {} }}\n", names(members));
        let structs: String = self.structs.iter().map(of).collect();
        let (constants, functions) = (self.constants.join(",\n"), &self.functions);
        format!("table! {{\nconstants {{\n{constants}}}\nstructs {{\n{structs}}}\nfunctions {{\n{functions}}}\n}}\n")
    }

    fn add(&mut self, declaration: String) {
        self.declarations += &format!("{}{declaration}\n", self.documented);
    }

    fn constant(&mut self, name: &str, kind: &str, value: &str) {
        self.add(format!("pub const {name}: {kind} = {value};"));
        self.constants.push(name.to_string());
    }

    fn header(&mut self, text: &str) {
        let text = text.replace("extern \"C\" {", "").replace("__cplusplus\n}", "").replace("\\\n", " ");
        let (defines, code): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        for declaration in declarations(&code.join("\n")) {
            self.declaration(declaration).unwrap_or_else(|| panic!("the headers declare in a new way: {declaration}"));
        }
        for define in defines.iter().filter_map(|line| line.strip_prefix("#define ")) {
            match define.split_once(' ') {
                Some((name, value)) if name.ends_with("_INIT") => {
                    let (kind, value) = self.initialiser(value).expect("an initialiser of a structure above it");
                    self.add(format!("pub const {name}: {kind} = {kind} {{ {value} }};"));
                }
                Some((name, value)) => {
                    self.constant(name, if name.ends_with("_SIZE") { "usize" } else { "i32" }, bare(value));
                }
                None => (), // a guard
            }
        }
    }

    fn declaration(&mut self, text: &str) -> Option<()> {
        let (keyword, rest) = text.split_once(' ')?;
        match (keyword, rest.strip_prefix("struct "), rest.split_once('{')) {
            ("enum", _, Some((name, values))) => {
                let name = name.trim();
                self.add(format!("pub type {name} = {};", if values.contains('-') { "c_int" } else { "c_uint" }));
                for value in values.trim_end_matches('}').split(',') {
                    let (constant, value) = value.split_once('=')?;
                    self.constant(constant.trim(), name, value.trim());
                }
            }
            ("typedef", Some(named), Some((_, members))) => {
                let (name, members) = (named.split(' ').next()?, members.split_once('}')?.0);
                let members: Vec<_> = declarations(members).map(declared).collect();
                let field = |(name, kind): &Member| format!("{}pub {name}: {kind},\n", self.documented);
                let fields: String = members.iter().map(field).collect();
                self.add(format!("#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {name} {{\n{fields}}}"));
                self.structs.insert(name.to_string(), members);
            }
            ("typedef", Some(named), None) => {
                let (name, marker) = (named.split(' ').next()?, "PhantomData<(*mut u8, PhantomPinned)>");
                let members = format!("bytes: [u8; 0], marker: {marker}");
                self.add(format!("#[repr(C)]\n#[derive(Debug)]\npub struct {name} {{ {members} }}"));
            }
            ("typedef", None, None) => {
                let (name, kind) = declared(rest);
                self.add(format!("pub type {name} = {kind};"));
            }
            ("XF_API", _, None) => {
                let (head, list) = rest.split_once('(')?;
                let ((name, result), list) = (declared(head), parameters(list));
                let kinds: Vec<_> = list.iter().map(|(_, kind)| kind.as_str()).collect();
                self.functions += &format!("{name}({}){};\n", kinds.join(", "), returned(&result));
                let declared = format!("pub fn {name}({}){};", arguments(&list), returned(&result));
                self.declarations += &format!("extern \"C\" {{\n{}{declared}\n}}\n", self.documented);
            }
            _ => return None,
        }
        Some(())
    }

    /// Name and members of an initialiser.
    fn initialiser(&self, text: &str) -> Option<(String, String)> {
        let (name, _) = text.split_once("sizeof(")?.1.split_once(')')?;
        let value = |((member, kind), value): (&Member, &str)| {
            let value = match kind.split(' ').next()? {
                _ if member == "struct_size" => format!("size_of::<{name}>()"),
                "*const" => "null()".to_string(),
                "*mut" => "null_mut()".to_string(),
                function if function.starts_with("Option<") || function.ends_with("_fn") => "None".to_string(),
                array if array.starts_with('[') => format!("[0 as {}", &kind[1..]),
                _ => format!("{} as {kind}", value.trim_matches(|c| " {}".contains(c))),
            };
            Some(format!("{member}: {value}"))
        };
        let members: Option<Vec<_>> = self.structs.get(name)?.iter().zip(text.split(',')).map(value).collect();
        Some((name.to_string(), members?.join(", ")))
    }
}

fn names(members: &[Member]) -> String {
    members.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn arguments(list: &[Member]) -> String {
    list.iter().map(|(name, kind)| format!("{name}: {kind}")).collect::<Vec<_>>().join(", ")
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

/// Name and type in Rust of "const char *name", "double name[4]" or "void (*name)(int32_t a)".
fn declared(text: &str) -> Member {
    if let Some((result, rest)) = text.split_once("(*") {
        let (name, list) = rest.split_once(")(").expect("parameters of a function");
        let (list, result) = (arguments(&parameters(list)), returned(&rust_type(result)));
        return (name.to_string(), format!("Option<unsafe extern \"C\" fn({list}){result}>"));
    }
    if let Some((member, size)) = text.split_once('[') {
        let (name, kind) = declared(member);
        return (name, format!("[{kind}; {}", size));
    }
    let (kind, name) = text.split_at(text.rfind([' ', '*']).map_or(0, |at| at + 1));
    (if name == "type" { "type_" } else { name }.to_string(), rust_type(kind))
}

fn parameters(list: &str) -> Vec<Member> {
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
