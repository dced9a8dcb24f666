// Reading of compressed text.
//
// Corpora are often distributed as .gz or .zst. The libraries that decompress them, zlib and Zstandard, are loaded when
// the first such file is read, so that neither building nor running this library requires them otherwise.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/line_reader.h"

namespace xf {

// Returns a source of the text in `source`. Data is decompressed if it begins like a gzip or Zstandard file; other data
// is unchanged. Text never begins like such a file, which is not valid UTF-8 or has a control character (0x18). A file
// may consist of several compressed parts, as parallel compressors and `cat` write them. path: for messages. read()
// throws XF_ERROR_CORRUPT if the data is damaged or incomplete, XF_ERROR_UNSUPPORTED if the library that it needs is
// not installed, or if a Zstandard file has a dictionary or needs a window above 128 MiB.
std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source, const std::string &path);

}  // namespace xf
