// The files of a corpus that is stored as a folder.
//
// Spark and Hadoop write data sets as folders of part-00000, part-00001, and so on, next to _SUCCESS and
// .part-00000.crc. Therefore names that begin with "_" or "." are ignored.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace xf {

// Returns the files of a folder, sorted by the bytes of their names, which gives the same order on every machine. If
// the path is not a folder, returns the path. XF_ERROR_DATA for a folder without files, XF_ERROR_IO if the path does
// not exist or cannot be read.
std::vector<std::string> list_files(const std::string &path);

}  // namespace xf
