// Kills processes that save a file on Windows, at random times: the file that remains is complete, and the next save
// deletes what the killed processes left.
//
//     windows_kills [KILLS]
//
// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "core/atomic_file.h"
#include "support/temp_folder.hpp"

namespace {

constexpr size_t kBytes = 300'000;

// Saves a file of equal bytes again and again, until the process is killed.
[[noreturn]] void save_forever(const std::string &path) {
    for (int i = 0;; ++i) {
        xf::AtomicFile file(path);
        const std::string text(kBytes / 10, static_cast<char>('a' + i % 26));
        for (int part = 0; part < 10; ++part) file.write(text.data(), text.size());
        file.commit();
    }
}

bool is_complete(const std::string &path) {
    const std::string text = xf::read_all(xf::InputFile(path), kBytes);
    return text.size() == kBytes && text.find_first_not_of(text[0]) == std::string::npos;
}

int count_temps(const xf_test::TempFolder &folder) {
    int count = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
        count += entry.path().filename().string().starts_with(".");
    return count;
}

void kill_one(const std::string &program, const std::string &path, int milliseconds) {
    std::string command = "\"" + program + "\" --save \"" + path + "\"";
    STARTUPINFOA start{};
    start.cb = sizeof start;
    PROCESS_INFORMATION child;
    if (!CreateProcessA(program.c_str(), command.data(), nullptr, nullptr, FALSE, 0, nullptr, nullptr, &start, &child))
        throw std::runtime_error("cannot start a process");
    // Its start takes longer than a save, so the time is counted from its first file.
    const auto before = [&] {
        std::error_code ignored;
        return std::filesystem::last_write_time(path, ignored);
    };
    const auto old = before();
    for (int i = 0; i < 10'000 && before() == old; ++i) Sleep(1);
    Sleep(milliseconds);
    TerminateProcess(child.hProcess, 9);
    WaitForSingleObject(child.hProcess, INFINITE);
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc == 3 && argv[1] == std::string("--save")) save_forever(argv[2]);
    const int kills = argc > 1 ? std::atoi(argv[1]) : 60;
    const xf_test::TempFolder folder;
    const std::string path = folder / "m";
    std::mt19937 random(1);
    int damaged = 0;
    for (int i = 0; i < kills; ++i) {
        kill_one(argv[0], path, static_cast<int>(random() % 30));
        damaged += !is_complete(path);
        if (std::filesystem::exists(path + ".prev")) damaged += !is_complete(path + ".prev");
    }
    const int left = count_temps(folder);
    const xf::IoOps &io = xf::system_io();
    const xf::Fd at(io.open(xf::kCurrentFolder, folder.path().c_str(), xf::OpenMode::kFolder, 0), io);
    xf::AtomicFile::sweep(at.get(), "m", -3600);
    const int remaining = count_temps(folder);
    std::printf("%d kills: %d damaged files, %d temporary files left, %d after the next writer\n", kills, damaged, left,
                remaining);
    return damaged == 0 && left > 0 && remaining == 0 ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "windows_kills: %s\n", error.what());
    return 1;
}
