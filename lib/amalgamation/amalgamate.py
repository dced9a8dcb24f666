#!/usr/bin/env python3
"""Writes the library as a few files: see "Copying the sources" in docs/guide/install.md.

    lib/amalgamation/amalgamate.py OUTPUT.tar.gz --utf8proc FOLDER|system [--rapidjson FOLDER]

FOLDER contains the sources of utf8proc (Debian: apt-get source utf8proc), and the headers of RapidJSON
(/usr/include). With `--utf8proc system`, programs link utf8proc themselves.

The sources and their options come from CMake, which is configured once for each platform. A source that only some
platforms compile becomes conditional. A source of kernels becomes a file that requests its instructions with a pragma.
The reference backend becomes a file, because it uses another type of xf_num (lib/backend/plugin_abi.h). All other
sources become xformer.cpp.

The same sources give the same bytes. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import email.utils
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Each platform: its name in CMake, and what compilers define for its system and its processor. As in CMake, every
# unknown system is treated as Linux.
LINUX = "!(defined(__APPLE__) || defined(__EMSCRIPTEN__))"
X86, ARM = "defined(__x86_64__)", "defined(__aarch64__)"
PLATFORMS = [
    ("Linux", "x86_64", LINUX, X86),
    ("Linux", "aarch64", LINUX, ARM),
    ("Darwin", "x86_64", "defined(__APPLE__)", X86),
    ("Darwin", "arm64", "defined(__APPLE__)", ARM),
    ("Emscripten", "wasm32", "defined(__EMSCRIPTEN__)", "defined(__wasm__)"),
]

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
CONDITION = re.compile(r"\s*#\s*(if|endif)")
MACRO = re.compile(r"\s*#\s*define\s+(\w+)")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def configure(folder, platform):
    """Returns the sources of the library on this platform: {name: options}."""
    system, processor = platform[:2]
    build = os.path.join(folder, f"{system}-{processor}")
    off = ["BUILD_SHARED_LIBS", "XF_BUILD_TESTS", "XF_BUILD_EXAMPLES", "XF_INSTALL", "XF_CUDA", "XF_MPI", "XF_NCCL"]
    on = ["CMAKE_EXPORT_COMPILE_COMMANDS", "CMAKE_C_COMPILER_FORCED", "CMAKE_CXX_COMPILER_FORCED"]
    if system == "Emscripten":  # a toolchain file would set these
        system = "Linux"
        on.append("EMSCRIPTEN")
    command = ["cmake", "-S", ROOT, "-B", build, "-G", "Unix Makefiles", "-DXF_OPENBLAS=BUILTIN",
               f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={processor}"]
    command += [f"-D{name}=OFF" for name in off] + [f"-D{name}=ON" for name in on]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"amalgamate.py: CMake failed for {system} on {processor}:\n{done.stdout}")
    sources = {}
    for entry in json.loads(read(build, "compile_commands.json")):
        name = os.path.relpath(entry["file"], ROOT)
        if not name.startswith(".."):
            sources[name] = shlex.split(entry["command"])
    return sources


def condition_of(present):
    """Returns the condition for #if of a source that these platforms compile, or None for all platforms."""
    if len(present) == len(PLATFORMS):
        return None
    for part in (2, 3):  # all platforms with certain systems, or with certain processors
        values = list(dict.fromkeys(platform[part] for platform in present))
        if all((platform[part] in values) == (platform in present) for platform in PLATFORMS):
            others = dict.fromkeys(platform[part] for platform in PLATFORMS if platform[part] not in values)
            return f"!({' || '.join(others)})" if LINUX in values else " || ".join(values)
    return " || ".join(f"({platform[2]} && {platform[3]})" for platform in present)


class File:
    """A file of the result: sources in which each #include of another source is replaced by that source."""

    def __init__(self, folders):
        self.folders = folders  # of other projects: {how the name of a header begins: folder}
        self.lines = []
        self.included = set()  # headers that are included unconditionally
        self.guarded = set()  # headers that were included under a condition
        self.macros = []  # of the current source

    def find(self, name, quoted, folder):
        """Returns the path of an included file that becomes a part of the result, or None."""
        if name.startswith("xformer/"):  # public headers remain files
            return None
        others = [self.folders[start] for start in self.folders if name.startswith(start)]
        for parent in ([folder, ROOT + "/lib", ROOT + "/cpu"] if quoted else []) + others:
            path = os.path.normpath(os.path.join(parent, name))
            if os.path.isfile(path):
                return path
        return None

    def add_source(self, path, condition):
        """Appends a source. Its macros end with it."""
        self.macros = []
        if condition:
            self.lines.append(f"#if {condition}")
        self.add(path, 1 if condition else 0)
        self.lines += [f"#undef {macro}" for macro in dict.fromkeys(self.macros)]
        if condition:
            self.lines.append("#endif")

    def add(self, path, depth=0):
        """Appends a file. `depth` is the number of #if that surround it."""
        parent = next((folder for folder in [ROOT, *self.folders.values()] if path.startswith(folder + "/")), ROOT)
        name = os.path.relpath(path, parent)
        header = path.endswith(".h")
        if header and path in self.included:
            return
        # A header that is included under a condition can be included again.
        guard = "XF_ONCE_" + re.sub(r"\W", "_", name).upper() if header and (depth or path in self.guarded) else None
        if header:
            (self.guarded if depth else self.included).add(path)
        self.lines.append(f"// ---------- {name}")
        if guard:
            self.lines += [f"#ifndef {guard}", f"#define {guard}"]
        text = third_party(name, read(path))
        if '#include "simd.inl"' in text:  # the pragma follows all headers, so that it applies only to kernels
            text = text.replace("namespace xf::openblas {\n", "XF_TARGET_BEGIN\nnamespace xf::openblas {\n", 1)
        if header and re.match(r"(?:#pragma|[^#])*#ifndef (\w+)\n#define \1\n", text):
            depth -= 1  # the guard of the header is not a condition
        for line in text.splitlines():
            condition, macro, include = CONDITION.match(line), MACRO.match(line), INCLUDE.match(line)
            if condition:
                depth += 1 if condition[1] == "if" else -1
            if macro and not header:
                self.macros.append(macro[1])
            if include:
                self.include(line.strip(), include[2], include[1] == '"', path, depth)
            elif line.strip() != "#pragma once":
                self.lines.append(line.rstrip())
        if guard:
            self.lines.append("#endif")

    def include(self, line, name, quoted, path, depth):
        found = self.find(name, quoted, os.path.dirname(path))
        if name == "kernels.inl":
            self.lines.append('#include "xformer_kernels.inl"')
        elif found:
            self.add(found, depth)
        elif line not in self.included:
            self.lines.append(line)
            if depth == 0:
                self.included.add(line)

    def text(self):
        return "\n".join(self.lines) + "\n"


def third_party(name, text):
    """Returns the text of a file. Makes utf8proc C++ with internal linkage, so that a program may have another copy."""
    if name == "utf8proc.h":
        text, count = re.subn(r"#ifdef UTF8PROC_STATIC\n.*?\n#endif\n\n",
                              "#define UTF8PROC_DLLEXPORT [[maybe_unused]] static\n\n", text, flags=re.DOTALL)
        text, tables = re.subn(r"UTF8PROC_DLLEXPORT extern const utf8proc_int8_t utf8proc_utf8class\[256\];\n",
                               "", text)
        text, types = re.subn(r"} utf8proc_option_t;\n", r"\g<0>" + OPTION_OPERATORS, text)
        if (count, tables, types) != (1, 1, 1):
            sys.exit("amalgamate.py: this version of utf8proc.h is unknown")
    return text


START = """\
// libxformer VERSION. Written by lib/amalgamation/amalgamate.py; README.md has the line that compiles it.
// SPDX-License-Identifier: Apache-2.0
#if __cplusplus < 202002L
#error "libxformer needs C++20: compile with -std=c++20"
#endif
#if !defined(__GNUC__)
#error "libxformer needs GCC or clang"
#endif
#if defined(_WIN32)
#error "for Windows, build libxformer from its complete sources, with CMake"
#endif
#if defined(__FAST_MATH__)
#error "-ffast-math changes the results of libxformer: compile without it"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "this compiler rounds results twice, which changes them: on 32-bit x86, compile with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wunused-function"  // the functions of headers
#else
#pragma GCC optimize("fp-contract=off")
#endif
"""

# Another namespace, so that a program may contain another copy. Assertions are off, as in a release build.
RAPIDJSON = """\
#define RAPIDJSON_NAMESPACE xf::rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace xf::rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#define RAPIDJSON_ASSERT(x) static_cast<void>(0)"""

# In C++, the result of an operation on enumerators is an integer.
OPTION_OPERATORS = """\
extern "C++" {
[[maybe_unused]] static constexpr utf8proc_option_t operator|(utf8proc_option_t a, utf8proc_option_t b) {
    return static_cast<utf8proc_option_t>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[maybe_unused]] static constexpr utf8proc_option_t operator&(utf8proc_option_t a, unsigned b) {
    return static_cast<utf8proc_option_t>(static_cast<unsigned>(a) & b);
}
[[maybe_unused]] static constexpr utf8proc_option_t operator&(utf8proc_option_t a, utf8proc_option_t b) {
    return a & static_cast<unsigned>(b);
}
}
"""

# Macros that clang defines for options, but not for attributes.
FEATURE_MACROS = {"dotprod": "__ARM_FEATURE_DOTPROD", "i8mm": "__ARM_FEATURE_MATMUL_INT8"}


def target_pragmas(options):
    """Returns lines that define XF_TARGET_BEGIN and XF_TARGET_END, which replace options for an instruction set."""
    gcc = [option[2:] for option in options if re.match(r"-m[a-z]", option)]
    clang = []
    for option in gcc:
        if "=" not in option:
            clang.append(option)
        elif option.startswith("arch="):
            clang += option.split("+")[1:]  # clang has no attribute for the other option, the preferred width
    if not gcc:
        return ["#define XF_TARGET_BEGIN", "#define XF_TARGET_END"]
    attribute = f'__attribute__((target(\\"{",".join(clang)}\\")))'
    lines = ["#if defined(__clang__)"]
    for feature in clang:
        if feature in FEATURE_MACROS:
            macro = FEATURE_MACROS[feature]
            lines += [f"#if !defined({macro})", f"#define {macro} 1", "#endif"]
    lines += [f'#define XF_TARGET_BEGIN _Pragma("clang attribute push({attribute}, apply_to = function)")',
              '#define XF_TARGET_END _Pragma("clang attribute pop")',
              "#else",
              f'#define XF_TARGET_BEGIN _Pragma("GCC target(\\"{",".join(gcc)}\\")")',
              "#define XF_TARGET_END"]
    lines += [f'#pragma GCC diagnostic ignored "-W{option[5:]}"' for option in options if option.startswith("-Wno-")]
    return lines + ["#endif"]


def amalgamate(platforms, folders, version):
    """Returns {name: text} of the sources, from the sources of each platform."""
    options = {}  # in the order of the first platform
    for sources in platforms:
        for name in sources:
            options.setdefault(name, sources[name])
    macros = {}
    for name in options:
        for option in options[name]:
            if option.startswith("-DXF_"):
                macro, _, value = option[2:].partition("=")
                macros[macro] = value
    start = START.replace("VERSION", version) + "".join(f"#define {name} {macros[name]}\n" for name in sorted(macros))
    core, reference, kernels = File(folders), File(folders), File(folders)
    core.lines.append(RAPIDJSON)
    files = {"xformer.cpp": core, "xformer_ref.cpp": reference, "xformer_kernels.inl": kernels}
    kernels.add(os.path.join(ROOT, "cpu/openblas/kernels.inl"))
    # Conditional sources are the last, so that most headers are included unconditionally.
    conditions = {name: condition_of([platform for platform, sources in zip(PLATFORMS, platforms) if name in sources])
                  for name in options}
    for name in sorted(options, key=lambda name: conditions[name] is not None):
        path, condition = os.path.join(ROOT, name), conditions[name]
        if not re.search(r"^#define XF_ISA_", read(path), re.MULTILINE):
            (reference if name.startswith("cpu/ref/") else core).add_source(path, condition)
            continue
        file = File(folders)
        file.lines += target_pragmas(options[name])
        file.add_source(path, None)
        file.lines.append("XF_TARGET_END")
        if condition:
            file.lines = [f"#if {condition}"] + file.lines + ["#endif"]
        files["xformer_" + os.path.basename(name).removeprefix("isa_")] = file
    if "utf8proc" in folders:
        core.add(os.path.join(folders["utf8proc"], "utf8proc.c"))
    return {name: ("" if name.endswith(".inl") else start) + file.text() for name, file in files.items()}


def version_of(header):
    """Returns the version that the macros of a header define."""
    parts = [re.search(rf"#\s*define \w+_{part}\w* (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(parts)


def licenses(rapidjson, utf8proc):
    """Returns the licenses of all parts. That of RapidJSON is in lib/debian/copyright."""
    text = read(ROOT, "LICENSE")
    copyright_file = read(ROOT, "lib/debian/copyright")
    holder = re.search(r"code of the RapidJSON headers, (Copyright.*?);", copyright_file, re.DOTALL)[1]
    expat = re.search(r"^License: Expat\n(.*?)\n\n", copyright_file, re.DOTALL | re.MULTILINE)[1]
    version = version_of(read(rapidjson, "rapidjson/rapidjson.h"))
    text += f"\n{'-' * 80}\nRapidJSON {version}: parts are in xformer.cpp\n\n"
    text += re.sub(r"\s+", " ", holder) + "\n\n" + re.sub(r"^ \.?", "", expat, flags=re.MULTILINE) + "\n"
    if utf8proc:
        version = version_of(read(utf8proc, "utf8proc.h"))
        text += f"\n{'-' * 80}\nutf8proc {version}: it is in xformer.cpp, changed to compile as C++\n\n"
        text += read(utf8proc, "LICENSE.md")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--utf8proc", required=True)
    parser.add_argument("--rapidjson", default="/usr/include")
    arguments = parser.parse_args()
    utf8proc = None if arguments.utf8proc == "system" else os.path.abspath(arguments.utf8proc)
    rapidjson = os.path.abspath(arguments.rapidjson)
    for folder, name in [(utf8proc, "utf8proc_data.c"), (rapidjson, "rapidjson/reader.h")]:
        if folder and not os.path.isfile(os.path.join(folder, name)):
            sys.exit(f"amalgamate.py: {folder} does not contain {name}")
    folders = {"rapidjson/": rapidjson, **({"utf8proc": utf8proc} if utf8proc else {})}
    version = re.search(r"project\(xformer VERSION ([0-9.]+)", read(ROOT, "CMakeLists.txt"))[1]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        platforms = list(pool.map(lambda platform: configure(folder, platform), PLATFORMS))

    files = amalgamate(platforms, folders, version)
    for name in sorted(os.listdir(os.path.join(ROOT, "include/xformer"))):
        files["xformer/" + name] = read(ROOT, "include/xformer", name)
    files["LICENSE"] = licenses(rapidjson, utf8proc)
    files["xformer.map"] = read(ROOT, "lib/xformer.map")
    files["example.c"] = read(ROOT, "examples/first/first.c")
    for folder, _, names in os.walk(HERE):
        for name in names:
            if name != os.path.basename(__file__) and "__pycache__" not in folder:
                path = os.path.relpath(os.path.join(folder, name), HERE)
                files[path.removesuffix(".in")] = read(HERE, path).replace("@VERSION@", version)
    for name in "CMakeLists.txt", "use.c", "use.cpp":  # the programs that test the package
        files["test_package/" + name] = read(ROOT, "tests/surfaces/install/consumer", name)

    # All members have the date of the newest entry of the changelog, as the Debian packages.
    date = re.search(r"^ -- .*>  (.*)$", read(ROOT, "lib/debian/changelog"), re.MULTILINE)[1]
    date = int(os.environ.get("SOURCE_DATE_EPOCH", email.utils.parsedate_to_datetime(date).timestamp()))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            data = files[name].encode()
            member = tarfile.TarInfo(f"xformer-amalgamation-{version}/{name}")
            member.size, member.mtime, member.mode = len(data), date, 0o644
            tar.addfile(member, io.BytesIO(data))
    with open(arguments.output, "wb") as output:
        with gzip.GzipFile("", "wb", 9, output, mtime=date) as compressed:
            compressed.write(buffer.getvalue())


if __name__ == "__main__":
    main()
