//! Finds the installed library, checks its version and tells cargo how to link it.
//!
//! `XFORMER_LIB_DIR`, the folder of `libxformer.so`, comes first; then pkg-config (the program in `PKG_CONFIG`), which
//! looks into `PKG_CONFIG_PATH`. While the version is 0.x, only the minor version of these declarations will do: they are
//! made of the headers in `include`, which belong to this crate.
//
// SPDX-License-Identifier: Apache-2.0

use std::path::{Path, PathBuf};
use std::process::{exit, Command};
use std::{env, fs};

mod declarations;

struct Found {
    version: String,
    root: PathBuf,
    lib: PathBuf,
    include: PathBuf,
    libraries: Vec<String>,
    folders: Vec<String>,
}

fn main() {
    for name in ["XFORMER_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    for path in ["build.rs", "declarations.rs", "include"] {
        println!("cargo:rerun-if-changed={}", path);
    }
    let made = declarations::of_headers(Path::new("include")).expect("the headers of this crate");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("a folder, from cargo"));
    fs::write(out.join("declarations.rs"), &made.declarations).expect("a place to write");
    fs::write(out.join("table.rs"), made.table()).expect("a place to write"); // for tests/abi.rs
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation needs no library, and there is none
    }
    let found = match env::var_os("XFORMER_LIB_DIR") {
        Some(folder) => in_folder(Path::new(&folder)),
        None => by_pkg_config(),
    };
    match found.and_then(checked) {
        Ok(found) => tell_cargo(&found),
        Err(message) => {
            eprintln!("{}", message);
            exit(1)
        }
    }
}

fn in_folder(lib: &Path) -> Result<Found, String> {
    let names = ["libxformer.so", "libxformer.so.0", "libxformer.dylib"];
    if !names.iter().any(|name| lib.join(name).exists()) {
        return Err(format!("XFORMER_LIB_DIR is {}, in which there is no libxformer.so", lib.display()));
    }
    // PREFIX/lib, or PREFIX/lib/x86_64-linux-gnu.
    let root = lib.ancestors().skip(1).take(2).find(|folder| folder.join("include/xformer/version.h").exists());
    let root = root.ok_or_else(|| {
        format!("XFORMER_LIB_DIR is {}; its headers are not in ../include or ../../include", lib.display())
    })?;
    let (include, lib, libraries) = (root.join("include"), lib.to_path_buf(), vec!["xformer".to_string()]);
    let (version, folders) = (header_version(&include.join("xformer/version.h"))?, vec![lib.display().to_string()]);
    Ok(Found { version, root: root.to_path_buf(), lib, include, libraries, folders })
}

/// "0.1.0" from the three macros.
fn header_version(header: &Path) -> Result<String, String> {
    let text = fs::read_to_string(header).map_err(|error| format!("{}: {}", header.display(), error))?;
    let value = |name| text.lines().find_map(|line| line.strip_prefix("#define XF_VERSION_")?.strip_prefix(name));
    let part = |name| value(name).unwrap_or("?").trim();
    Ok(format!("{}.{}.{}", part("MAJOR "), part("MINOR "), part("PATCH ")))
}

fn by_pkg_config() -> Result<Found, String> {
    let version = pkg_config(&["--modversion", "xformer"])?;
    let variable = |name: &str| pkg_config(&[&format!("--variable={}", name), "xformer"]).map(PathBuf::from);
    let lib = variable("libdir")?;
    // Of a static installation the archive needs the private libraries too.
    let shared = ["libxformer.so", "libxformer.dylib"].iter().any(|name| lib.join(name).exists());
    let flags = pkg_config(if shared { &["--libs", "xformer"][..] } else { &["--static", "--libs", "xformer"] })?;
    let of = |prefix: &str| {
        flags.split_whitespace().filter_map(|flag| flag.strip_prefix(prefix)).map(String::from).collect()
    };
    let mut folders: Vec<String> = of("-L");
    folders.push(lib.display().to_string()); // pkg-config leaves out the system's own folders
    let (root, include, libraries) = (variable("prefix")?, variable("includedir")?, of("-l"));
    Ok(Found { version, root, lib, include, libraries, folders })
}

fn pkg_config(arguments: &[&str]) -> Result<String, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let output = Command::new(&program).args(arguments).output().map_err(|error| {
        format!(
            "can't run {}: {}; install pkg-config, or set XFORMER_LIB_DIR to the folder of libxformer.so",
            program, error
        )
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    Err(format!(
        "libxformer was not found; install libxformer-dev, or set PKG_CONFIG_PATH to the folder of xformer.pc \
         or XFORMER_LIB_DIR to that of libxformer.so\n{}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

fn checked(found: Found) -> Result<Found, String> {
    let own = header_version(Path::new("include/version.h"))?;
    let minor = |version: &str| version.rsplit_once('.').map(|(minor, _)| minor.to_string());
    match minor(&own) {
        expected if expected == minor(&found.version) => Ok(found),
        expected => Err(format!(
            "libxformer in {} is version {}, expected {}, for which this xformer-sys {} was written",
            found.lib.display(),
            found.version,
            expected.unwrap_or_default(),
            env!("CARGO_PKG_VERSION")
        )),
    }
}

fn tell_cargo(found: &Found) {
    for folder in &found.folders {
        println!("cargo:rustc-link-search=native={}", folder);
    }
    for library in &found.libraries {
        println!("cargo:rustc-link-lib={}", library);
    }
    println!("cargo:root={}", found.root.display());
    println!("cargo:lib={}", found.lib.display());
    println!("cargo:version={}", found.version);
    println!("cargo:include={}", found.include.display());
    println!("cargo:rustc-env=XFORMER_INCLUDE={}", found.include.display()); // for tests/abi.rs
}
