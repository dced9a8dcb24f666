// AtomicFile: after any failure, either the old or the new file is complete.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>

#include "core/fault_io.hpp"
#include "support/test.hpp"

using namespace xf;
using xf_test::FaultIo;
using xf_test::TempFolder;

static void save(const std::string &path, const std::string &text, const IoOps &io = system_io()) {
    AtomicFile file(path, io);
    file.reserve(text.size());
    file.write(text.data(), text.size() / 2);
    file.write(text.data() + text.size() / 2, text.size() - text.size() / 2);
    file.put(0, text.data(), 1);
    file.commit();
}

static std::string load(const std::string &path) { return read_all(InputFile(path), 1 << 20); }

XF_TEST(the_new_file_replaces_the_old_one_which_is_kept) {
    const TempFolder folder;
    const int descriptors = xf_test::open_descriptors();
    save(folder / "m", "one");
    CHECK(!std::filesystem::exists(folder / "m.prev"));
    save(folder / "m", "two");
    save(folder / "m", "three");
    CHECK_EQ(load(folder / "m"), "three");
    CHECK_EQ(load(folder / "m.prev"), "two");
    CHECK_EQ(xf_test::count_temps(folder), 0);
    CHECK_EQ(xf_test::open_descriptors(), descriptors);
}

XF_TEST(a_previous_file_that_is_the_same_file_gets_no_second_link) {
    const TempFolder folder;
    save(folder / "m", "one");
    std::filesystem::create_hard_link(folder / "m", folder / "m.prev");  // as after a kill between link and rename
    save(folder / "m", "two");
    CHECK_EQ(load(folder / "m"), "two");
    CHECK_EQ(load(folder / "m.prev"), "one");
    CHECK_EQ(xf_test::count_temps(folder), 0);
}

XF_TEST(without_commit_nothing_changes) {
    const TempFolder folder;
    save(folder / "m", "one");
    {
        AtomicFile file(folder / "m");
        file.write("xx", 2);
        CHECK_EQ(xf_test::count_temps(folder), 1);
    }
    CHECK_EQ(load(folder / "m"), "one");
    CHECK_EQ(xf_test::count_temps(folder), 0);
}

XF_TEST(permissions_follow_the_umask_and_the_old_file) {
    const TempFolder folder;
    const mode_t before = umask(027);
    save(folder / "m", "one");
    struct stat status;
    CHECK_EQ(stat((folder / "m").c_str(), &status), 0);
    CHECK_EQ(status.st_mode & 0777u, 0640u);
    CHECK_EQ(chmod((folder / "m").c_str(), 0600), 0);
    save(folder / "m", "two");
    CHECK_EQ(stat((folder / "m").c_str(), &status), 0);
    CHECK_EQ(status.st_mode & 0777u, 0600u);
    umask(before);
}

XF_TEST(a_link_remains_and_its_target_is_replaced) {
    const TempFolder folder;
    std::filesystem::create_directory(folder / "real");
    save(folder / "real/m", "one");
    std::filesystem::create_symlink("real/m", folder / "link");
    save(folder / "link", "two");
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK_EQ(load(folder / "real/m"), "two");
    CHECK_EQ(load(folder / "real/m.prev"), "one");
    std::filesystem::create_symlink("nothing", folder / "dangling");
    CHECK_FAILS(save(folder / "dangling", "x"), XF_ERROR_NOT_FOUND);
}

XF_TEST(folders_and_names_of_paths) {
    const bool windows = kListSeparator == ';';
    CHECK_EQ(name_offset("a"), size_t{0});
    CHECK_EQ(name_offset("a/b"), size_t{2});
    CHECK_EQ(name_offset("C:b"), size_t{windows ? 2u : 0u});
    CHECK_EQ(name_offset("C:\\a\\b"), size_t{windows ? 5u : 0u});
    CHECK_EQ(is_absolute_path("/a"), !windows);
    CHECK_EQ(is_absolute_path("C:\\a"), windows);
    CHECK_EQ(is_absolute_path("\\\\server\\a"), windows);
    for (const char *path : {"", "a/b", "C:", "C:a", "\\a"}) CHECK(!is_absolute_path(path));
}

XF_TEST(names_are_utf8) {
    const TempFolder folder;
    const std::string path = folder / "Gr\xc3\xb6\xc3\x9f\x65 \xe5\xa4\xa7";
    save(path, "one");
    save(path, "two");
    CHECK_EQ(load(path), "two");
    CHECK_EQ(load(path + ".prev"), "one");
    CHECK_EQ(xf_test::count_temps(folder), 0);
    if (kListSeparator != ';') return;
    // Only Windows rejects a name that is not UTF-8, and one with a colon, which is a part of another file.
    save(folder / "m", "x");
    CHECK_FAILS(save(folder / "\xff", "x"), XF_ERROR_IO);
    CHECK_FAILS(save(folder / "m:part", "x"), XF_ERROR_IO);
    CHECK_FAILS(load(folder / "\xff"), XF_ERROR_IO);
}

// harness/fault/special_test.c has other invalid targets.
XF_TEST(a_path_that_ends_with_a_slash_or_has_a_long_name) {
    const TempFolder folder;
    CHECK_FAILS(save(folder / "new/", "x"), XF_ERROR_INVALID_ARGUMENT);
    const std::string long_name = folder / std::string(250, 'n');  // too long for the suffix: saved, but without .prev
    save(long_name, "one");
    save(long_name, "two");
    CHECK_EQ(load(long_name), "two");
    CHECK_EQ(xf_test::count_temps(folder), 0);
}

XF_TEST(after_any_failure_the_old_or_the_new_file_is_complete) {
    const TempFolder folder;
    const std::string path = folder / "m", before(3000, 'o'), after(5000, 'n');
    save(path, "older");
    const int descriptors = xf_test::open_descriptors();
    int failed = 0, survived = 0, cases = 0;
    for (const int error : {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, EACCES, EINTR, FaultIo::kShortCount}) {
        for (const int mode : {0, 1, 2}) {  // once, permanently, permanently with unlink
            FaultIo::fail_unlink = mode == 2;
            for (int n = 1;; ++n, ++cases) {
                save(path, before);
                FaultIo::arm(n, error, mode > 0);
                const xf_test::CallOutcome found = xf_test::outcome_of([&] { save(path, after, FaultIo::ops()); });
                const bool thrown = found.status != XF_OK;
                if (thrown) CHECK(found.status == XF_ERROR_IO && found.native_code == error);
                (thrown ? failed : survived) += 1;
                const bool fired = FaultIo::fired;
                FaultIo::disarm();
                const std::string now = load(path);
                CHECK(now == after || (thrown && now == before));
                const std::string previous = load(path + ".prev");
                CHECK(previous == before || previous == after || previous == "older");
                if (mode < 2) CHECK_EQ(xf_test::count_temps(folder), 0);
                CHECK_EQ(xf_test::open_descriptors(), descriptors);
                if (mode == 2)
                    for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
                        if (entry.path().filename().string().starts_with(".")) std::filesystem::remove(entry.path());
                if (!fired) break;
            }
        }
    }
    FaultIo::fail_unlink = false;
    CHECK(cases > 250);
    CHECK(failed > 150);
    CHECK(survived > 50);
}

XF_TEST(a_failed_fsync_is_not_repeated) {
    const TempFolder folder;
    static int syncs = 0;
    IoOps io = system_io();
    io.fsync = [](int) {
        ++syncs;
        errno = EIO;
        return -1;
    };
    AtomicFile file(folder / "m", io);
    file.write("x", 1);
    CHECK_FAILS(file.commit(), XF_ERROR_IO);
    CHECK_FAILS(file.commit(), XF_ERROR_STATE);
    CHECK_FAILS(file.write("x", 1), XF_ERROR_STATE);
    CHECK_EQ(syncs, 1);
    CHECK(!std::filesystem::exists(folder / "m"));
}

XF_TEST(interrupted_and_short_writes_continue) {
    const TempFolder folder;
    static int calls;
    calls = 0;
    IoOps io = system_io();
    io.pwrite = [](int fd, const void *src, size_t bytes, int64_t offset) -> int64_t {
        errno = EINTR;
        return ++calls % 2 ? int64_t{-1} : system_io().pwrite(fd, src, std::min<size_t>(bytes, 7), offset);
    };
    save(folder / "m", "a text of more than seven bytes", io);
    CHECK_EQ(load(folder / "m"), "a text of more than seven bytes");
    CHECK(calls > 8);
}

// If a profiler's timer fires often, some file systems never complete a large reservation of space.
XF_TEST(interrupted_flushes_are_repeated_and_preallocation_is_optional) {
    const TempFolder folder;
    static int syncs, wishes;
    syncs = wishes = 0;
    IoOps io = system_io();
    io.fsync = [](int fd) {
        errno = EINTR;
        return ++syncs % 3 != 0 ? -1 : system_io().fsync(fd);
    };
    io.allocate = [](int, int64_t) {
        ++wishes;
        errno = EINTR;
        return -1;
    };
    AtomicFile file(folder / "m", io);
    file.reserve(1);
    file.write("x", 1);
    file.commit();
    CHECK_EQ(load(folder / "m"), "x");
    CHECK_EQ(syncs, 6);  // the file and its folder
    CHECK(wishes > 0 && wishes < 100);
}

XF_TEST(a_write_of_no_bytes_is_an_error) {
    const TempFolder folder;
    IoOps io = system_io();
    io.pwrite = [](int, const void *, size_t, int64_t) -> int64_t { return 0; };
    CHECK_FAILS(save(folder / "m", "x", io), XF_ERROR_IO);
    CHECK_EQ(xf_test::count_temps(folder), 0);
}

// In a child, because the limit applies to the whole process. The exit status is the step that failed.
XF_TEST(a_file_size_limit_is_an_error) {
    const TempFolder folder;
    save(folder / "m", "old");
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
        int result = 1;
        for (const bool reserved : {false, true}) {
            try {
                AtomicFile file(folder / "m");
                const std::string text(10'000, 'x');
                if (reserved) file.reserve(text.size());
                file.write(text.data(), text.size());
                _exit(2);
            } catch (const Error &error) {
                if (error.status() != XF_ERROR_IO || error.native_code() != EFBIG) _exit(3);
            }
            sigset_t now;
            sigpending(&now);
            if (sigismember(&now, SIGXFSZ) == 1) _exit(4);
            pthread_sigmask(SIG_BLOCK, nullptr, &now);
            if (sigismember(&now, SIGXFSZ) == 1) _exit(5);
            result = 0;
        }
        _exit(result);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(load(folder / "m"), "old");
    CHECK_EQ(xf_test::count_temps(folder), 0);
}

XF_TEST(a_forked_child_keeps_the_temporary_file_of_its_parent) {
    const TempFolder folder;
    auto *file = new AtomicFile(folder / "m");
    file->write("x", 1);
    const pid_t child = fork();
    if (child == 0) {
        delete file;
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    file->commit();
    delete file;
    CHECK_EQ(load(folder / "m"), "x");
}

// A container often gives a new process the number of a killed one.
XF_TEST(a_link_that_a_killed_process_left_does_not_prevent_the_previous_file) {
    const TempFolder folder;
    save(folder / "m", "one");
    static int calls;
    calls = 0;
    IoOps io = system_io();
    io.link = [](int at, const char *from, const char *to) {
        if (calls++ > 0) return system_io().link(at, from, to);
        errno = EEXIST;
        return -1;
    };
    save(folder / "m", "two", io);
    CHECK_EQ(calls, 2);
    CHECK_EQ(load(folder / "m.prev"), "one");
    CHECK_EQ(xf_test::count_temps(folder), 0);
}

XF_TEST(only_files_of_killed_writers_are_deleted) {
    const TempFolder folder;
    const auto sweep = [&](const char *name, int64_t seconds) {
        const Fd at(system_io().open(kCurrentFolder, folder.path().c_str(), OpenMode::kFolder, 0), system_io());
        AtomicFile::sweep(at.get(), name, seconds);
    };
    const auto leave = [&](const char *name) { std::ofstream(folder / name) << "left"; };
    const auto is_there = [&](const char *name) {
        return std::filesystem::exists(std::filesystem::symlink_status(folder / name));
    };
    // Two writers: one is killed, one is active.
    const pid_t child = fork();
    if (child == 0) {
        AtomicFile file(folder / "m");
        file.write("x", 1);
        kill(getpid(), SIGKILL);
    }
    int status = -1;
    waitpid(child, &status, 0);
    AtomicFile at_work(folder / "m");
    at_work.write("y", 1);
    save(folder / "n", "other");
    CHECK_EQ(xf_test::count_temps(folder), 2);
    leave(".m.old.12.3");
    const char *const others[] = {".m.tmp.12",   ".m.tmp.12.x",  ".m.tmp..3", ".mm.tmp.12.3",
                                  ".n.tmp.12.3", ".m.tmp.1.2.3", "m.tmp.1.2"};
    for (const char *name : others) leave(name);
    std::filesystem::create_symlink(folder / "n", folder / ".m.tmp.7.7");
    mkfifo((folder / ".m.tmp.8.8").c_str(), 0600);
    const int before = xf_test::count_temps(folder);
    sweep("m", 3600);
    CHECK_EQ(xf_test::count_temps(folder), before);
    const int descriptors = xf_test::open_descriptors();
    const int64_t any_age = -3600;  // time() may be less than the creation time of a file: the clock can be set back
    sweep("m", any_age);
    CHECK_EQ(xf_test::count_temps(folder), before - 2);
    CHECK(!is_there(".m.old.12.3") && is_there(".m.tmp.7.7") && is_there(".m.tmp.8.8"));
    for (const char *name : others) CHECK(is_there(name));
    CHECK_EQ(xf_test::open_descriptors(), descriptors);
    at_work.commit();
    CHECK_EQ(load(folder / "m"), "y");
    CHECK_EQ(load(folder / "n"), "other");
    sweep("n", any_age);
    CHECK(!is_there(".n.tmp.12.3"));
}

XF_TEST(threads_that_save_the_same_file_do_not_mix) {
    const TempFolder folder;
    const auto run = [&](char c) {
        for (int i = 0; i < 30; ++i) save(folder / "m", std::string(9000, c));
    };
    std::thread a(run, 'a'), b(run, 'b');
    a.join();
    b.join();
    const std::string now = load(folder / "m");
    CHECK(now == std::string(9000, 'a') || now == std::string(9000, 'b'));
    CHECK_EQ(xf_test::count_temps(folder), 0);
}
