// The files of a corpus that was cut into several.
//
// Data sets that do not fit one file, or that several machines wrote, are folders: Spark and Hadoop write part-00000,
// part-00001 and so on, beside _SUCCESS and .part-00000.crc. So names that begin with "_" or "." are none of it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace xf {

// The path itself when it is no folder, or is not there. Of a folder its files, in the order of their names' bytes,
// which is the same on every machine. XF_ERROR_DATA when it has none, XF_ERROR_IO when it can't be read.
std::vector<std::string> files_of(const std::string &path);

}  // namespace xf
