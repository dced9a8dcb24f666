// Replaces a file atomically: after kill -9, a full disk, or a power failure, either the old or the new file is
// complete.
//
//     AtomicFile file(path);
//     file.write(data, bytes);
//     file.commit();             // otherwise the destructor removes the temporary file
//
// The order of steps makes it safe: a temporary file in the same folder, fsync, close, a hard link of the old file to
// "<path>.prev", rename, fsync of the folder. After a failed fsync the temporary file is abandoned and fsync is not
// repeated: the kernel drops the dirty pages and reports success for the second call. An fsync that a signal
// interrupted has not failed.
//
// A symbolic link is followed once, at the start: its target is replaced and the link remains. A killed process leaves
// ".<name>.tmp.<pid>.<n>", which is as large as the file. A job that is often killed and restarted would fill the disk
// with them, so each writer locks its own file, and the next writer deletes the files without a lock.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file.h"
#include "core/output.h"

namespace xf {

class AtomicFile final : public Output {
public:
    // Creates the temporary file, so that a read-only folder is an error before the work.
    explicit AtomicFile(const std::string &path, const IoOps &io = system_io());
    ~AtomicFile() override;
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;

    void reserve(uint64_t bytes) override;
    void put(uint64_t offset, const void *src, size_t bytes) override;

    // Deletes the files of killed writers of this file if they are at least `seconds` old: a new writer does not have
    // its lock yet. Best effort.
    static void sweep(int folder, const std::string &name, int64_t seconds = 60);

    // Replaces the file. After a failure, here or in put(), the object can only be destroyed. If only the flush of
    // the folder fails, the new file is already in place, and the message says so.
    void commit() override;

private:
    struct Target {
        std::string folder, name;
        uint32_t permissions;  // of the replaced file, so that a private file remains private
    };
    static Target resolve(const std::string &path, const IoOps &io);

    int create_temp();
    void keep_old();
    void remove_temp();

    const IoOps *io_;
    std::string path_, temp_;
    Target target_;
    int owner_;            // process: a forked child must not remove the file of its parent
    bool writing_ = true;  // not committed, and nothing failed
    Fd folder_;
    Fd fd_;
};

// A regular file of the caller's that is open for writing: truncated, written from offset 0, and synchronized by
// commit(). Its position is neither used nor changed, and it is not closed.
class DescriptorOutput final : public Output {
public:
    // XF_ERROR_INVALID_ARGUMENT if fd is not open; XF_ERROR_IO if it is not a regular file.
    explicit DescriptorOutput(int fd, const IoOps &io = system_io());

    void reserve(uint64_t bytes) override;
    void put(uint64_t offset, const void *src, size_t bytes) override;
    void commit() override;

private:
    const IoOps *io_;
    int fd_;
    std::string name_;
};

}  // namespace xf
