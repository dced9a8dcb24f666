// Replaces a file so that kill -9, a full disk or a power cut at any instant leaves the old one or the new one whole.
//
//     AtomicFile file(path);
//     file.write(data, bytes);
//     file.commit();             // without it the destructor removes what was written
//
// The order is what makes it safe: a temp file in the same folder, fsync, close, the old file also linked as
// "<path>.prev", rename, fsync of the folder. A failed fsync condemns the temp file and is never tried again: the
// kernel drops the dirty pages and reports the second fsync as a success. One that a signal interrupted did not fail.
//
// A link is followed once, at the start: the file it points to is replaced, the link stays. A process that is killed
// leaves ".<name>.tmp.<pid>.<n>" behind, as large as the file. A job that is killed and started again, for weeks, would
// fill the disk with them: so each writer holds a lock on its own, and deletes those that nobody holds.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file.h"
#include "core/output.h"

namespace xf {

class AtomicFile final : public Output {
public:
    // Creates the temp file, so that a folder that can't be written is reported before the work.
    explicit AtomicFile(const std::string &path, const IoOps &io = posix_io(), bool keep_previous = true);
    ~AtomicFile() override;
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;

    void reserve(uint64_t bytes) override;
    void write(const void *src, size_t bytes) override;
    void rewrite(uint64_t offset, const void *src, size_t bytes) override;

    // Deletes what killed writers of this file have left, when it is so many seconds old: a writer that has just begun
    // has no lock yet. Best effort.
    static void sweep(int folder, const std::string &name, int64_t seconds = 60);

    // Puts the file in its place. After a failure, here or in write(), the object can only be destroyed. One failure
    // comes after the new file is in place: when the folder can't be flushed, the message says so.
    void commit();

private:
    enum class State { kWriting, kFailed, kDone };

    struct Target {
        std::string folder, name;
        mode_t mode;  // of the file that is replaced, so that a private file stays private
    };
    static Target resolve(const std::string &path, const IoOps &io, bool keep_previous);

    AtomicFile(const std::string &path, const Target &target, const IoOps &io, bool keep_previous);
    int create_temp(mode_t mode);
    void put(uint64_t offset, const void *src, size_t bytes);
    void keep_old();
    void remove_temp();

    const IoOps *io_;
    std::string path_, name_, temp_, old_link_;
    bool keep_previous_;
    pid_t owner_;  // a forked child must not remove its parent's temp file
    State state_ = State::kWriting;
    uint64_t size_ = 0;
    Fd folder_;
    Fd fd_;
};

}  // namespace xf
