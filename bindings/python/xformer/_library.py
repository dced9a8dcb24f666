"""Finds and opens libxformer.so, or xformer.dll on Windows.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import os
import sys
from typing import List

#: The file name of the library. The number in the soname changes when the ABI breaks.
SONAME = "xformer.dll" if sys.platform == "win32" else "libxformer.so.0"
#: Major and minor version of the headers from which _declarations.py was generated. Before 1.0 a minor version may
#: break the ABI.
ABI_VERSION = (0, 1)


def candidates() -> List[str]:
    """Returns the files to try: only $XFORMER_LIBRARY if it is set; otherwise that of a wheel, then the loader's."""
    named = os.environ.get("XFORMER_LIBRARY")
    if named:
        return [named]
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", SONAME)
    return [own, SONAME] if os.path.exists(own) else [SONAME]


def load() -> ctypes.CDLL:
    """Opens the library. An ImportError says which files were tried, or which version was found."""
    reasons = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            version = library.xf_version_num
        except AttributeError:
            reasons.append(path + " is not libxformer")
            continue
        version.restype = ctypes.c_int32
        number = version()
        found = (number >> 16, number >> 8 & 0xFF)
        if found != ABI_VERSION:
            raise ImportError("%s is libxformer %d.%d; this package requires %d.%d" % ((path,) + found + ABI_VERSION))
        return library
    raise ImportError(
        "libxformer was not found (%s); set the environment variable XFORMER_LIBRARY to its file" % "; ".join(reasons)
    )
