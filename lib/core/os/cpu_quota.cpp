// cpu_quota(); see process.h.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "core/os/process.h"

namespace xf {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (size_t end = 0; end != std::string_view::npos;) {
        end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end != std::string_view::npos) text.remove_prefix(end + 1);
    }
    return parts;
}

// Returns the lines of a file; one empty line if the file cannot be opened.
std::vector<std::string> lines_of(const std::string &path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "re"), std::fclose);
    std::string text;
    char block[8192];
    for (size_t got = 1; file != nullptr && got > 0; text.append(block, got))
        got = std::fread(block, 1, sizeof block, file.get());
    const std::vector<std::string_view> lines = split(text, '\n');
    return {lines.begin(), lines.end()};
}

// The kernel writes a space in a path as \040.
std::string unescaped(std::string_view text) {
    std::string path;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool code = text[i] == '\\' && i + 3 < text.size();
        const auto digit = [&](size_t at) { return text[i + at] - '0'; };
        path += code ? char(digit(1) * 64 + digit(2) * 8 + digit(3)) : text[i];
        if (code) i += 3;
    }
    return path;
}

// An integer, or -1.
int64_t number_in(std::string_view text) {
    int64_t value = -1;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? value : -1;
}

int64_t number_of(const std::string &path) { return number_in(lines_of(path)[0]); }

constexpr int kNone = std::numeric_limits<int>::max();

int processors(int64_t quota, int64_t period) {
    if (quota <= 0 || period <= 0) return kNone;
    return std::clamp<int64_t>(quota / period + (quota % period > 0), 1, kNone);
}

int quota_of(const std::string &folder, bool unified) {
    if (!unified) return processors(number_of(folder + "/cpu.cfs_quota_us"), number_of(folder + "/cpu.cfs_period_us"));
    const std::string line = lines_of(folder + "/cpu.max")[0];
    const std::vector<std::string_view> words = split(line, ' ');
    return words.size() == 2 ? processors(number_in(words[0]), number_in(words[1])) : kNone;  // "max" is not a number
}

// The path of a group relative to the mounted group, "" for that group. A group elsewhere is not visible.
std::string below(std::string_view group, std::string_view mounted) {
    if (mounted == "/") mounted = "";
    if (group.substr(0, mounted.size()) != mounted) return {};
    group.remove_prefix(mounted.size());
    if (group.empty() || group[0] != '/' || group.find("/..") != std::string_view::npos) return {};
    return group == "/" ? std::string() : std::string(group);
}

bool lists(std::string_view list, std::string_view word) {
    const std::vector<std::string_view> words = split(list, ',');
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

int cpu_quota(const std::string &process, const std::string &root) {
    std::string groups[2];  // of this process: version 1 with the controller "cpu", and version 2
    for (const std::string &line : lines_of(process + "/cgroup")) {
        // 4:cpu,cpuacct:/docker/1234, or in version 2 0::/user.slice
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
        if (controllers.empty() || lists(controllers, "cpu")) groups[controllers.empty()] = line.substr(second + 1);
    }
    int least = kNone;
    for (const std::string &line : lines_of(process + "/mountinfo")) {
        // 32 31 0:29 /docker/1234 /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
        const std::vector<std::string_view> words = split(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
        const bool unified = dash[1] == "cgroup2";
        if (!unified && (dash[1] != "cgroup" || !lists(dash[3], "cpu"))) continue;
        if (groups[unified].empty()) continue;
        const std::string mount = root + unescaped(words[4]);
        std::string path = below(groups[unified], unescaped(words[3]));
        for (;; path.resize(path.rfind('/'))) {
            least = std::min(least, quota_of(mount + path, unified));
            if (path.empty()) break;
        }
    }
    return least == kNone ? 0 : least;
}

}  // namespace xf
