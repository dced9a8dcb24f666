// Reading files: refused kinds of files, and a failure of every system call.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <sys/stat.h>

#include <cerrno>

#include "core/fault_io.hpp"
#include "support/test.hpp"

using namespace xf;
using xf_test::FaultIo;

static std::string read_file(const std::string &path, uint64_t max_bytes, const IoOps &io = system_io()) {
    return read_all(InputFile(path, io), max_bytes);
}

static void put(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

XF_TEST(a_file_is_read_completely) {
    const xf_test::TempFolder folder;
    std::string text(100'000, 'x');
    text[5] = '\0';
    put(folder / "a", text);
    CHECK(read_file(folder / "a", text.size()) == text);
    put(folder / "empty", "");
    CHECK_EQ(read_file(folder / "empty", 0), std::string());
}

XF_TEST(the_limit_is_checked_before_allocation) {
    const xf_test::TempFolder folder;
    put(folder / "a", "12345");
    CHECK_FAILS(read_file(folder / "a", 4), XF_ERROR_LIMIT);
    put(folder / "huge", "");
    CHECK_EQ(truncate((folder / "huge").c_str(), off_t{1} << 42), 0);  // sparse
    CHECK_FAILS(read_file(folder / "huge", 1 << 20), XF_ERROR_LIMIT);
}

XF_TEST(special_files_are_rejected_without_blocking) {
    const xf_test::TempFolder folder;
    CHECK_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
    CHECK_FAILS(read_file(folder / "fifo", 100), XF_ERROR_IO);
    CHECK_FAILS(read_file(folder.path(), 100), XF_ERROR_IO);
    CHECK_FAILS(read_file("/dev/zero", 100), XF_ERROR_IO);
    CHECK_FAILS(read_file(folder / "none", 100), XF_ERROR_NOT_FOUND);
    CHECK_FAILS(read_file("", 100), XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(read_file(std::string("/dev/null\0x", 11), 100), XF_ERROR_INVALID_ARGUMENT);
    CHECK_EQ(xf_test::outcome_of([&] { read_file(folder.path(), 100); }).native_code, EISDIR);
}

XF_TEST(reading_beyond_the_end_and_a_file_that_shrinks_are_corrupt) {
    const xf_test::TempFolder folder;
    put(folder / "a", "12345678");
    const InputFile file(folder / "a");
    char buffer[16];
    file.read_at(8, buffer, 0);
    CHECK_FAILS(file.read_at(0, buffer, 9), XF_ERROR_CORRUPT);
    CHECK_FAILS(file.read_at(9, buffer, 0), XF_ERROR_CORRUPT);
    CHECK_FAILS(file.read_at(~uint64_t{0}, buffer, 2), XF_ERROR_CORRUPT);
    CHECK_EQ(truncate((folder / "a").c_str(), 4), 0);
    CHECK_FAILS(file.read_at(0, buffer, 8), XF_ERROR_CORRUPT);
}

XF_TEST(an_interrupted_call_is_repeated) {
    const xf_test::TempFolder folder;
    put(folder / "a", "text");
    FaultIo::arm(1, EINTR, false);  // open
    CHECK_EQ(read_file(folder / "a", 10, FaultIo::ops()), std::string("text"));
    FaultIo::arm(3, EINTR, false);  // pread, after fstat
    CHECK_EQ(read_file(folder / "a", 10, FaultIo::ops()), std::string("text"));
    CHECK(FaultIo::fired);
    FaultIo::disarm();
}

XF_TEST(every_call_fails_once_and_permanently) {
    const xf_test::TempFolder folder;
    const std::string text = "some text that is read in more than one piece";
    put(folder / "a", text);
    const int descriptors = xf_test::open_descriptors();
    int survived = 0, failed = 0;
    for (const int error : {EIO, EACCES, EINTR, ENOMEM, FaultIo::kShortCount}) {
        for (const bool forever : {false, true}) {
            for (int n = 1;; ++n) {
                FaultIo::arm(n, error, forever);
                try {
                    CHECK_EQ(read_file(folder / "a", 1000, FaultIo::ops()), text);
                    ++survived;
                } catch (const Error &caught) {
                    CHECK_EQ(caught.status(), error == ENOMEM ? XF_ERROR_NO_MEMORY : XF_ERROR_IO);
                    CHECK_EQ(caught.native_code(), error);
                    ++failed;
                }
                CHECK_EQ(xf_test::open_descriptors(), descriptors);
                if (!FaultIo::fired) break;
            }
        }
    }
    CHECK(survived > 20);
    CHECK(failed > 20);
    FaultIo::disarm();
}
