"""The parts that pyproject.toml cannot express. A tree that contains the library (xformer/lib, see build_wheel.sh) is
built as a wheel for its platform and any Python 3.

The platform tag is computed from the files. According to PEP 600, a wheel with the tag "manylinux_2_34_x86_64" runs on
systems with glibc 2.34 or newer and the libstdc++ of that time. The tag names the oldest glibc that has every symbol
version that the files require. A file that requires a library that not every such system has is an error.

SPDX-License-Identifier: Apache-2.0
"""
import glob
import os
import re
import struct
import subprocess

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
BINARIES = sorted(glob.glob(os.path.join(HERE, "xformer", "lib", "*.so*")))
DLLS = sorted(glob.glob(os.path.join(HERE, "xformer", "lib", "*.dll")))  # for Windows on x86-64

# Distributions with glibc 2.MINOR have at least these symbol versions of GCC's libraries. The first line is the lowest
# that is distinguished.
COMPANIONS = (
    (24, {"GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 10), "GCC": (4, 8, 0)}),
    (27, {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}),
    (31, {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (7, 0, 0)}),
    (34, {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}),
    (35, {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}),
    (39, {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)}),
)
#: Libraries of every manylinux system.
PRESENT = re.compile(r"(ld-linux[-\w]*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so\.\d+")
#: The machines of the ELF header that have a platform tag.
MACHINES = {62: "x86_64", 183: "aarch64"}


def readelf(option, path):
    environment = dict(os.environ, LC_ALL="C")
    return subprocess.check_output(["readelf", "-W", option, path], env=environment).decode()


def needed_libraries(path):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", path))


def needed_versions(path):
    """Returns the symbol versions that a file requires: {("GLIBC", (2, 34)), ...}."""
    _, _, needs = readelf("-V", path).partition("Version needs section")
    found = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", needs)
    return {(name, tuple(map(int, number.split(".")))) for name, number in found}


def machine_of(path):
    """Returns the machine of a file, which differs from that of this interpreter in a cross build."""
    with open(path, "rb") as file:
        (number,) = struct.unpack_from("<H", file.read(20), 18)
    if number not in MACHINES:
        raise SystemExit("%s is for the ELF machine %d; add its platform tag to MACHINES" % (path, number))
    return MACHINES[number]


def platform_tag(paths):
    machines = {machine_of(path) for path in paths}
    if len(machines) != 1:
        raise SystemExit("xformer/lib has files for %s, expected one machine" % " and ".join(sorted(machines)))
    beside = {os.path.basename(path) for path in paths}
    minor = 0
    for path in paths:
        for library in needed_libraries(path):
            if library not in beside and not PRESENT.fullmatch(library):
                raise SystemExit("%s needs %s, which not every system has; add it to xformer/lib" % (path, library))
        for name, version in sorted(needed_versions(path)):
            if name == "GLIBC":
                minor = max(minor, version[1])
                continue
            enough = [glibc for glibc, newest in COMPANIONS if version <= newest[name]]
            if not enough:
                found = ".".join(map(str, version))
                raise SystemExit("%s needs %s_%s; add it to COMPANIONS, which ends before it" % (path, name, found))
            if enough[0] != COMPANIONS[0][0]:
                minor = max(minor, enough[0])
    return "manylinux_2_%d_%s" % (max(minor, 5), machines.pop())


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", "win_amd64" if DLLS else platform_tag(BINARIES)


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


more = {"distclass": PlatformDistribution, "cmdclass": {"bdist_wheel": PlatformWheel}} if BINARIES + DLLS else {}
setup(
    packages=["xformer", "xformer.convert"] + (["xformer.lib"] if BINARIES + DLLS else []),
    package_data={"xformer": ["py.typed"], "xformer.lib": ["*"]},
    **more,
)
