// Power failures while a checkpoint is saved: every possible state of the disk loads as the old or the new checkpoint.
//
// The test records the system calls of real saves. For each point between two of them it builds the states that a file
// system may legally have: data that was not synced is missing, complete, or torn at sectors of 512 or 4,096 bytes, in
// any order; of the names that changed since the last sync of the folder, any subset of the changes is on the disk.
// After a save has returned, its file must exist, and the previous one as ".prev".
//
// Recordings without a sync prove that this check can fail.
//
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>

#include <cstdarg>
#include <random>

#include "support/small_model.h"
#include "train/training.hpp"

namespace {

using namespace xf_test;

struct Event {
    enum What { kCreate, kWrite, kSync, kSyncFolder, kLink, kRename, kUnlink } what;
    int inode = -1;
    std::string name, to;  // names in the one folder
    uint64_t offset = 0;
    std::string data;
};

struct Recorder {
    bool on = false;
    std::vector<Event> events;
    std::map<int, int> inodes;  // of descriptors
    std::set<int> folders;
    int next_inode = 0;
} recorder;

std::string last_part(const char *path) {
    const char *const slash = std::strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

template <class... Args>
long kernel(long number, Args... args) {
    return syscall(number, args...);
}

}  // namespace

// The C library's, in place of which the library finds these.
extern "C" {

int openat(int folder, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    const int fd = static_cast<int>(kernel(SYS_openat, folder, path, flags, mode));
    if (fd < 0 || !recorder.on) return fd;
    if ((flags & O_DIRECTORY) != 0) recorder.folders.insert(fd);
    if ((flags & O_CREAT) != 0) {
        recorder.inodes[fd] = recorder.next_inode;
        recorder.events.push_back({Event::kCreate, recorder.next_inode++, last_part(path), "", 0, ""});
    }
    return fd;
}

int close(int fd) {
    recorder.inodes.erase(fd), recorder.folders.erase(fd);
    return static_cast<int>(kernel(SYS_close, fd));
}

ssize_t pwrite(int fd, const void *src, size_t bytes, off_t offset) {
    const ssize_t done = kernel(SYS_pwrite64, fd, src, bytes, offset);
    if (const auto file = recorder.inodes.find(fd); done > 0 && file != recorder.inodes.end())
        recorder.events.push_back({Event::kWrite, file->second, "", "", static_cast<uint64_t>(offset),
                                   std::string(static_cast<const char *>(src), static_cast<size_t>(done))});
    return done;
}

int fsync(int fd) {
    if (const auto file = recorder.inodes.find(fd); file != recorder.inodes.end())
        recorder.events.push_back({Event::kSync, file->second, "", "", 0, ""});
    if (recorder.folders.contains(fd)) recorder.events.push_back({Event::kSyncFolder, -1, "", "", 0, ""});
    return static_cast<int>(kernel(SYS_fsync, fd));
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) noexcept {
    const int result = static_cast<int>(kernel(SYS_linkat, from_folder, from, to_folder, to, flags));
    if (recorder.on && result == 0)
        recorder.events.push_back({Event::kLink, -1, last_part(from), last_part(to), 0, ""});
    return result;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) noexcept {
    const int result = static_cast<int>(kernel(SYS_renameat, from_folder, from, to_folder, to));
    if (recorder.on && result == 0)
        recorder.events.push_back({Event::kRename, -1, last_part(from), last_part(to), 0, ""});
    return result;
}

int unlinkat(int folder, const char *path, int flags) noexcept {
    const int result = static_cast<int>(kernel(SYS_unlinkat, folder, path, flags));
    if (recorder.on && result == 0) recorder.events.push_back({Event::kUnlink, -1, last_part(path), "", 0, ""});
    return result;
}

}  // extern "C"

namespace {

using Names = std::map<std::string, int>;

// One change of the folder: all of it is on the disk, or none.
struct Change {
    std::vector<std::pair<std::string, int>> set;
    std::vector<std::string> removed;
    void make(Names *names) const {
        for (const std::string &name : removed) names->erase(name);
        for (const auto &[name, inode] : set) (*names)[name] = inode;
    }
};

// The data that is certainly on the disk, and the data that may be.
struct Disk {
    Names names, seen;  // on the disk; as the process sees them
    std::vector<Change> changes;
    std::map<int, std::string> synced;
    std::map<int, std::vector<const Event *>> writes;

    static void put(std::string *content, const Event &write, size_t from, size_t to) {
        const size_t at = static_cast<size_t>(write.offset);
        if (content->size() < at + to) content->resize(at + to, '\0');
        content->replace(at + from, to - from, write.data, from, to - from);
    }

    void take(const Event &event) {
        Change change;
        switch (event.what) {
            case Event::kWrite:
                return writes[event.inode].push_back(&event);
            case Event::kSync:
                for (const Event *write : writes[event.inode]) put(&synced[event.inode], *write, 0, write->data.size());
                writes[event.inode].clear();
                return;
            case Event::kSyncFolder:
                for (const Change &made : changes) made.make(&names);
                changes.clear();
                return;
            case Event::kCreate:
                change.set = {{event.name, event.inode}};
                break;
            case Event::kLink:
                change.set = {{event.to, seen.at(event.name)}};
                break;
            case Event::kRename:
                if (seen.contains(event.to) && seen.at(event.to) == seen.at(event.name)) return;  // does nothing
                change.set = {{event.to, seen.at(event.name)}};
                change.removed = {event.name};
                break;
            case Event::kUnlink:
                change.removed = {event.name};
                break;
        }
        change.make(&seen);
        changes.push_back(change);
    }

    // A state after a power cut, by chance.
    std::map<std::string, std::string> after_a_cut(std::mt19937 *chance) const {
        Names found = names;
        const bool in_order = (*chance)() % 2 == 0;  // as journals are
        size_t first_lost = (*chance)() % (changes.size() + 1);
        for (size_t i = 0; i < changes.size(); ++i)
            if (in_order ? i < first_lost : (*chance)() % 2 == 0) changes[i].make(&found);
        std::map<std::string, std::string> files;
        for (const auto &[name, inode] : found) files[name] = content(inode, chance);
        return files;
    }

private:
    std::string content(int inode, std::mt19937 *chance) const {
        const auto certain = synced.find(inode);
        std::string bytes = certain != synced.end() ? certain->second : "";
        const auto waiting = writes.find(inode);
        if (waiting == writes.end()) return bytes;
        const size_t sector = (*chance)() % 2 == 0 ? 512 : 4096;
        for (const Event *write : waiting->second) {
            const size_t size = write->data.size();
            const uint32_t fate = (*chance)() % 4;  // gone, whole, torn; or there in length alone
            if (fate == 1) put(&bytes, *write, 0, size);
            if (fate == 3 && bytes.size() < write->offset + size) bytes.resize(write->offset + size, '\0');
            for (size_t from = 0; fate == 2 && from < size;) {
                const size_t to =
                    std::min<size_t>(size, ((write->offset + from) / sector + 1) * sector - write->offset);
                if ((*chance)() % 2 == 0) put(&bytes, *write, from, to);
                from = to;
            }
        }
        return bytes;
    }
};

struct Saves {
    std::vector<Event> events;
    std::vector<size_t> ends;         // events when each save had returned
    std::vector<std::string> wanted;  // the files; [0] is none
};

const Settings kSmall = {XF_TEST_SMALL_MODEL, {"model.vocab_size", "40"}};

constexpr int kSaves = 4;

// A run that saves after each step.
Saves record() {
    const TempFolder folder;
    const std::string path = folder / "run.ckpt";
    const auto trainer = make_trainer(any_device(), kSmall);
    Saves saves;
    saves.wanted = {""};
    for (int i = 1; i <= kSaves; ++i) {
        train_to(trainer.get(), Task(), i);
        recorder.on = true;
        save(trainer.get(), path);
        recorder.on = false;
        saves.ends.push_back(recorder.events.size());
        saves.wanted.push_back(bytes_of(path));
    }
    saves.events = std::move(recorder.events);
    return saves;
}

struct Result {
    int64_t states = 0, bad = 0;
    std::set<std::string> different;  // of the states, by hash
    std::string first;
    std::vector<std::pair<int, std::map<std::string, std::string>>> some;  // with the number of saves that had returned
};

// Cuts before every event and after the last, `each` times.
Result cut(const Saves &saves, int each) {
    Result result;
    std::mt19937 chance(4711);
    Disk disk;
    for (size_t at = 0; at <= saves.events.size(); ++at) {
        size_t done = 0;
        while (done < saves.ends.size() && saves.ends[done] <= at) ++done;
        const bool between = done > 0 && saves.ends[done - 1] == at;
        for (int i = 0; i < each; ++i) {
            const auto files = disk.after_a_cut(&chance);
            const auto is = [&](const char *name, size_t save) {
                const auto file = files.find(name);
                return save == 0 ? file == files.end() : file != files.end() && file->second == saves.wanted[save];
            };
            const bool newer = !between && done + 1 < saves.wanted.size();
            bool good = is("run.ckpt", done) || (newer && is("run.ckpt", done + 1));
            const size_t before = done > 0 ? done - 1 : 0;
            good = good && (is("run.ckpt.prev", before) || (newer && is("run.ckpt.prev", done)));
            ++result.states;
            if (!good && result.bad++ == 0)
                result.first = xf::format("a cut after %zu of %zu calls, %zu saves", at, saves.events.size(), done);
            std::string all;
            for (const auto &[name, content] : files)
                all += name + " " + std::to_string(std::hash<std::string>()(content)) + "\n";
            if (result.different.insert(all).second && chance() % 64 == 0)
                result.some.emplace_back(static_cast<int>(done), files);
        }
        if (at < saves.events.size()) disk.take(saves.events[at]);
    }
    return result;
}

Saves without(Saves saves, Event::What what) {
    for (size_t i = saves.events.size(); i-- > 0;) {
        if (saves.events[i].what != what) continue;
        saves.events.erase(saves.events.begin() + static_cast<std::ptrdiff_t>(i));
        for (size_t &end : saves.ends) end -= end > i ? 1 : 0;
    }
    return saves;
}

XF_TEST(a_power_failure_leaves_the_old_or_the_new_file) {
    const Saves saves = record();
    CHECK(saves.events.size() > 40);
    const Result result = cut(saves, static_cast<int>(12000 / saves.events.size()) + 1);
    if (result.bad > 0)
        xf_test::record(__FILE__, __LINE__,
                        xf::format("%lld states: ", static_cast<long long>(result.bad)) + result.first);
    std::printf("%lld states, %zu of them different; %zu gone on from\n", static_cast<long long>(result.states),
                result.different.size(), result.some.size());
    CHECK(result.states >= 10000 && result.different.size() > 1000 && result.some.size() > 20);
    CHECK(cut(without(saves, Event::kSync), 100).bad > 0);
    CHECK(cut(without(saves, Event::kSyncFolder), 100).bad > 0);

    // Remaining files do no harm: the run continues to the files of the uninterrupted run.
    for (const auto &[done, files] : result.some) {
        const TempFolder folder;
        for (const auto &[name, content] : files) std::ofstream(folder / name, std::ios::binary) << content;
        const std::string path = folder / "run.ckpt";
        const auto trainer =
            files.contains("run.ckpt") ? resume(any_device(), path) : make_trainer(any_device(), kSmall);
        const int64_t step = trainer->steps_done();
        CHECK(step == done || step == done + 1);
        if (step == kSaves) continue;
        train_to(trainer.get(), Task(), step + 1);
        save(trainer.get(), path);
        CHECK(bytes_of(path) == saves.wanted[static_cast<size_t>(step) + 1]);
    }
}

}  // namespace
