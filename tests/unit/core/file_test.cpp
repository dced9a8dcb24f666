// Inputs and the output to memory: a failure of every system call, range checks of all kinds
// of input, ownership of descriptors, and faulty callbacks.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/fault_io.hpp"
#include "core/output.h"
#include "support/descriptor.h"
#include "support/test.hpp"

using namespace xf;
using xf_test::FaultIo;
using xf_test::TempFolder;

static std::string read_file(const std::string &path, uint64_t max_bytes, const IoOps &io = system_io()) {
    return read_all(InputFile(path, io), max_bytes);
}

static void put(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

XF_TEST(a_file_is_read_completely) {
    const TempFolder folder;
    std::string text(100'000, 'x');
    text[5] = '\0';
    put(folder / "a", text);
    CHECK(read_file(folder / "a", text.size()) == text);
    put(folder / "empty", "");
    CHECK_EQ(read_file(folder / "empty", 0), std::string());
}

XF_TEST(the_limit_is_checked_before_allocation) {
    const TempFolder folder;
    put(folder / "a", "12345");
    CHECK_FAILS(read_file(folder / "a", 4), XF_ERROR_LIMIT);
    put(folder / "huge", "");
    std::filesystem::resize_file(folder / "huge", uint64_t{1} << 42);  // sparse
    CHECK_FAILS(read_file(folder / "huge", 1 << 20), XF_ERROR_LIMIT);
}

// harness/fault/special_test.c has other paths that cannot be read.
XF_TEST(a_path_with_a_nul_is_rejected) {
    CHECK_FAILS(read_file(std::string("/dev/null\0x", 11), 100), XF_ERROR_INVALID_ARGUMENT);
}

XF_TEST(reading_beyond_the_end_and_a_file_that_shrinks_are_corrupt) {
    const TempFolder folder;
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
    const TempFolder folder;
    put(folder / "a", "text");
    FaultIo::arm(1, EINTR, false);  // open
    CHECK_EQ(read_file(folder / "a", 10, FaultIo::ops()), std::string("text"));
    FaultIo::arm(3, EINTR, false);  // pread, after fstat
    CHECK_EQ(read_file(folder / "a", 10, FaultIo::ops()), std::string("text"));
    CHECK(FaultIo::fired);
    FaultIo::disarm();
}

XF_TEST(every_call_fails_once_and_permanently) {
    const TempFolder folder;
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

namespace {

const std::string kText = "0123456789abcdef";

int32_t give(void *user, uint64_t offset, void *dst, size_t bytes) {
    ++*static_cast<int *>(user);
    std::memcpy(dst, kText.data() + offset, bytes);
    return 0;
}

void check_input(const Input &input) {
    CHECK_EQ(input.size(), kText.size());
    char buffer[32] = {};
    input.read_at(10, buffer, 6);
    CHECK_EQ(std::string(buffer), std::string("abcdef"));
    input.read_at(0, buffer, 16);
    CHECK_EQ(std::string(buffer), kText);
    input.read_at(16, buffer, 0);
    CHECK_FAILS(input.read_at(0, buffer, 17), XF_ERROR_CORRUPT);
    CHECK_FAILS(input.read_at(17, buffer, 0), XF_ERROR_CORRUPT);
    CHECK_FAILS(input.read_at(~uint64_t{0}, buffer, 2), XF_ERROR_CORRUPT);
}

}  // namespace

XF_TEST(all_kinds_of_input_have_the_same_results_and_errors) {
    const TempFolder folder;
    put(folder / "a", kText);
    check_input(InputFile(folder / "a"));
    check_input(MemoryInput(kText.data(), kText.size()));
    int calls = 0;
    check_input(CallbackInput(give, &calls, kText.size()));
    CHECK_EQ(calls, 2);  // not called for empty ranges and ranges beyond the end
    const int fd = open((folder / "a").c_str(), O_RDONLY);
    check_input(InputFile(descriptor_of(fd)));
    close(fd);
}

XF_TEST(a_descriptor_must_be_a_regular_file_open_for_reading) {
    const TempFolder folder;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_FAILS(InputFile{descriptor_of(ends[0])}, XF_ERROR_IO);
    close(ends[0]);
    close(ends[1]);
    const Fd device(system_io().open(kCurrentFolder, TEST_DEVICE, OpenMode::kRead, 0), system_io());
    const Fd at(system_io().open(kCurrentFolder, folder.path().c_str(), OpenMode::kFolder, 0), system_io());
    CHECK_FAILS(InputFile{device.get()}, XF_ERROR_IO);
    CHECK_FAILS(InputFile{at.get()}, XF_ERROR_IO);
    const int written = open((folder / "w").c_str(), O_WRONLY | O_CREAT, 0600);
    CHECK_EQ(write(written, "abc", 3), ssize_t{3});
    const InputFile file(descriptor_of(written));
    char buffer[3];
    CHECK_FAILS(file.read_at(0, buffer, 3), XF_ERROR_IO);
    close(written);
}

XF_TEST(a_failing_read_callback_is_an_error) {
    const auto refuse = [](void *, uint64_t, void *, size_t) -> int32_t { return 7; };
    char buffer[4];
    const auto found = xf_test::outcome_of([&] { CallbackInput(refuse, nullptr, 100).read_at(50, buffer, 4); });
    CHECK_EQ(found.status, XF_ERROR_IO);
    CHECK_EQ(found.native_code, 7);
    CHECK(found.says("returned 7 for 4 bytes at byte 50"));
}

XF_TEST(memory_is_not_written_beyond_its_capacity) {
    char buffer[9] = "........";
    MemoryOutput output(buffer, 6);
    CHECK_FAILS(output.reserve(7), XF_ERROR_BUFFER_TOO_SMALL);
    output.reserve(6);
    output.write("abcd", 4);
    output.put(1, "XY", 2);
    CHECK_FAILS(output.write("efg", 3), XF_ERROR_BUFFER_TOO_SMALL);
    CHECK_FAILS(output.put(~uint64_t{0}, "z", 1), XF_ERROR_BUFFER_TOO_SMALL);
    output.write("ef", 2);
    CHECK_EQ(std::string(buffer), std::string("aXYdef.."));
}
