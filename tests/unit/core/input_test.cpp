// Inputs: range checks of all kinds, ownership of descriptors, and faulty callbacks.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fault_io.hpp"
#include "core/output.h"
#include "support/test.hpp"

using namespace xf;
using xf_test::TempFolder;

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
    std::ofstream(folder / "a", std::ios::binary) << kText;
    check_input(InputFile(folder / "a"));
    check_input(MemoryInput(kText.data(), kText.size()));
    int calls = 0;
    check_input(CallbackInput(give, &calls, kText.size()));
    CHECK_EQ(calls, 2);  // not called for empty ranges and ranges beyond the end
    const int fd = open((folder / "a").c_str(), O_RDONLY);
    check_input(InputFile(fd));
    close(fd);
}

XF_TEST(a_descriptor_is_not_closed) {
    const TempFolder folder;
    std::ofstream(folder / "a", std::ios::binary) << kText;
    const int fd = open((folder / "a").c_str(), O_RDONLY);
    CHECK_EQ(lseek(fd, 3, SEEK_SET), off_t{3});
    { check_input(InputFile(fd)); }
    CHECK_EQ(lseek(fd, 0, SEEK_CUR), off_t{3});
    char next = 0;
    CHECK_EQ(read(fd, &next, 1), ssize_t{1});
    CHECK_EQ(next, '3');
    close(fd);
    CHECK_FAILS(InputFile{fd}, XF_ERROR_INVALID_ARGUMENT);
    CHECK_FAILS(InputFile{-1}, XF_ERROR_INVALID_ARGUMENT);
}

XF_TEST(a_descriptor_must_be_a_regular_file_open_for_reading) {
    const TempFolder folder;
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_FAILS(InputFile{ends[0]}, XF_ERROR_IO);
    close(ends[0]);
    close(ends[1]);
    const int zero = open("/dev/zero", O_RDONLY), at = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
    CHECK_FAILS(InputFile{zero}, XF_ERROR_IO);
    CHECK_FAILS(InputFile{at}, XF_ERROR_IO);
    close(zero);
    close(at);
    const int written = open((folder / "w").c_str(), O_WRONLY | O_CREAT, 0600);
    CHECK_EQ(write(written, "abc", 3), ssize_t{3});
    const InputFile file(written);
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
