//! Finds the installed library, checks its version, and passes the link arguments to cargo.
//!
//! The folder in `XFORMER_LIB_DIR` is used first, then pkg-config (the program in `PKG_CONFIG`), which searches
//! `PKG_CONFIG_PATH`. While the major version is 0, the minor version of the library must be that of the declarations.
//
// SPDX-License-Identifier: Apache-2.0

use std::path::{Path, PathBuf};
use std::process::{exit, Command};
use std::{env, fs};

const DECLARATIONS: &str = "src/declarations.rs";

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
    for path in ["build.rs", DECLARATIONS] {
        println!("cargo:rerun-if-changed={}", path);
    }
    if env::var_os("DOCS_RS").is_some() {
        return; // docs.rs does not have the library, and the documentation does not need it
    }
    let found = match env::var_os("XFORMER_LIB_DIR") {
        Some(folder) => in_folder(Path::new(&folder)),
        None => by_pkg_config(),
    };
    match found.and_then(checked) {
        Ok(found) => print_for_cargo(&found),
        Err(message) => {
            eprintln!("{}", message);
            exit(1)
        }
    }
}

fn in_folder(lib: &Path) -> Result<Found, String> {
    let names = ["libxformer.so", "libxformer.so.0", "libxformer.dylib"];
    if !names.iter().any(|name| lib.join(name).exists()) {
        return Err(format!("XFORMER_LIB_DIR is {}, which contains no libxformer.so", lib.display()));
    }
    // PREFIX/lib, or PREFIX/lib/x86_64-linux-gnu.
    let root = lib.ancestors().skip(1).take(2).find(|folder| folder.join("include/xformer/version.h").exists());
    let root = root.ok_or_else(|| {
        format!("XFORMER_LIB_DIR is {}, but the headers are not in ../include or ../../include", lib.display())
    })?;
    let (include, lib, libraries) = (root.join("include"), lib.to_path_buf(), vec!["xformer".to_string()]);
    let (version, folders) =
        (version_of(&include.join("xformer/version.h"), "#define XF_VERSION_")?, vec![lib.display().to_string()]);
    Ok(Found { version, root: root.to_path_buf(), lib, include, libraries, folders })
}

/// Returns a version such as "0.1.0" from the three constants of a file, the names of which follow this prefix.
fn version_of(path: &Path, prefix: &str) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {}", path.display(), error))?;
    let value = |name| {
        let line = text.lines().find_map(|line| line.strip_prefix(prefix)?.strip_prefix(name))?;
        line.trim_end_matches(';').rsplit(' ').next()
    };
    let part = |name| value(name).unwrap_or("?");
    Ok(format!("{}.{}.{}", part("MAJOR"), part("MINOR"), part("PATCH")))
}

fn by_pkg_config() -> Result<Found, String> {
    let version = pkg_config(&["--modversion", "xformer"])?;
    let variable = |name: &str| pkg_config(&[&format!("--variable={}", name), "xformer"]).map(PathBuf::from);
    let lib = variable("libdir")?;
    // A static library also needs the private libraries.
    let shared = ["libxformer.so", "libxformer.dylib"].iter().any(|name| lib.join(name).exists());
    let flags = pkg_config(if shared { &["--libs", "xformer"][..] } else { &["--static", "--libs", "xformer"] })?;
    let of = |prefix: &str| {
        flags.split_whitespace().filter_map(|flag| flag.strip_prefix(prefix)).map(String::from).collect()
    };
    let mut folders: Vec<String> = of("-L");
    folders.push(lib.display().to_string()); // pkg-config omits the folders of the system
    let (root, include, libraries) = (variable("prefix")?, variable("includedir")?, of("-l"));
    Ok(Found { version, root, lib, include, libraries, folders })
}

fn pkg_config(arguments: &[&str]) -> Result<String, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let output = Command::new(&program).args(arguments).output().map_err(|error| {
        format!(
            "cannot run {}: {}; install pkg-config, or set XFORMER_LIB_DIR to the folder of libxformer.so",
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
    let own = version_of(Path::new(DECLARATIONS), "pub const XF_VERSION_")?;
    let minor = |version: &str| version.rsplit_once('.').map(|(minor, _)| minor.to_string());
    match minor(&own) {
        expected if expected == minor(&found.version) => Ok(found),
        expected => Err(format!(
            "libxformer in {} is version {}, but xformer-sys {} needs version {}",
            found.lib.display(),
            found.version,
            env!("CARGO_PKG_VERSION"),
            expected.unwrap_or_default()
        )),
    }
}

fn print_for_cargo(found: &Found) {
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
