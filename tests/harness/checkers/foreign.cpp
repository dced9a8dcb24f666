// Marks memory that libraries without memory sanitizer instrumentation write, for tests/checkers.sh memory.
//
// The sanitizer sees only writes of instrumented code. libutf8proc and the compiled part of libstdc++ are not
// instrumented, so reads of their results would be reported. This library precedes them in every program; each function
// here calls the original and then marks the bytes that it wrote. Arguments are checked first, because the original
// does not report them either. Nothing of this project is marked. Functions that return results in registers need no
// wrapper.
//
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sanitizer/msan_interface.h>
#include <utf8proc.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <list>
#include <locale>
#include <map>
#include <sstream>
#include <string>

// Programs that those under test start, as llvm-symbolizer, have no sanitizer.
#pragma weak __msan_unpoison
#pragma weak __msan_check_mem_is_initialized
#pragma weak __msan_scoped_disable_interceptor_checks
#pragma weak __msan_scoped_enable_interceptor_checks

namespace {

// The function of this name in the library that really has it.
template <typename Function>
Function *theirs(Function *, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) std::abort();  // a library of another version: the checker must not run without it
    return reinterpret_cast<Function *>(found);
}

void wrote(const void *at, size_t bytes) {
    if (__msan_unpoison) __msan_unpoison(at, bytes);
}
void reads(const void *at, size_t bytes) {
    if (__msan_check_mem_is_initialized) __msan_check_mem_is_initialized(at, bytes);
}

}  // namespace

#define XF_NEXT(function, name) static auto *const function##_next = theirs(&function, name)

extern "C" {

utf8proc_ssize_t utf8proc_decompose_char(utf8proc_int32_t code, utf8proc_int32_t *out, utf8proc_ssize_t room,
                                         utf8proc_option_t options, int *last_class) {
    XF_NEXT(utf8proc_decompose_char, "utf8proc_decompose_char");
    const utf8proc_ssize_t count = utf8proc_decompose_char_next(code, out, room, options, last_class);
    if (count > 0) wrote(out, static_cast<size_t>(count < room ? count : room) * sizeof *out);
    return count;
}

utf8proc_ssize_t utf8proc_normalize_utf32(utf8proc_int32_t *codes, utf8proc_ssize_t count, utf8proc_option_t options) {
    XF_NEXT(utf8proc_normalize_utf32, "utf8proc_normalize_utf32");
    reads(codes, static_cast<size_t>(count) * sizeof *codes);
    return utf8proc_normalize_utf32_next(codes, count, options);
}

}  // extern "C"

namespace std {

// A node gets its links and its colour here; those of nodes that were there are written over.
void _Rb_tree_insert_and_rebalance(bool left, _Rb_tree_node_base *node, _Rb_tree_node_base *parent,
                                   _Rb_tree_node_base &header) noexcept {
    XF_NEXT(_Rb_tree_insert_and_rebalance, "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_");
    _Rb_tree_insert_and_rebalance_next(left, node, parent, header);
    wrote(node, sizeof *node);
}

to_chars_result to_chars(char *first, char *last, double value) noexcept {
    static auto *const real = theirs<to_chars_result(char *, char *, double)>(nullptr, "_ZSt8to_charsPcS_d");
    const to_chars_result result = real(first, last, value);
    wrote(first, static_cast<size_t>(result.ptr - first));
    return result;
}
to_chars_result to_chars(char *first, char *last, float value) noexcept {
    static auto *const real = theirs<to_chars_result(char *, char *, float)>(nullptr, "_ZSt8to_charsPcS_f");
    const to_chars_result result = real(first, last, value);
    wrote(first, static_cast<size_t>(result.ptr - first));
    return result;
}

from_chars_result from_chars(const char *first, const char *last, double &value, chars_format format) noexcept {
    static auto *const real = theirs<from_chars_result(const char *, const char *, double &, chars_format)>(
        nullptr, "_ZSt10from_charsPKcS0_RdSt12chars_format");
    reads(first, static_cast<size_t>(last - first));
    const from_chars_result result = real(first, last, value, format);
    if (result.ec == errc{}) wrote(&value, sizeof value);
    return result;
}
from_chars_result from_chars(const char *first, const char *last, float &value, chars_format format) noexcept {
    static auto *const real = theirs<from_chars_result(const char *, const char *, float &, chars_format)>(
        nullptr, "_ZSt10from_charsPKcS0_RfSt12chars_format");
    reads(first, static_cast<size_t>(last - first));
    const from_chars_result result = real(first, last, value, format);
    if (result.ec == errc{}) wrote(&value, sizeof value);
    return result;
}

}  // namespace std

// By symbol, because most are members: std::current_exception() and, for tests only, streams and file names. Arguments
// in registers are passed on; the address of the result is the first argument.
namespace {

using std::filesystem::path;

// Within, what the C library is given by libstdc++ is not looked at.
struct Quiet {
    Quiet() {
        if (__msan_scoped_disable_interceptor_checks) __msan_scoped_disable_interceptor_checks();
    }
    ~Quiet() {
        if (__msan_scoped_enable_interceptor_checks) __msan_scoped_enable_interceptor_checks();
    }
};

void wrote_text(const std::string &text) { wrote(text.data(), text.size() + 1); }

void wrote_string(const std::string *made) {
    wrote(made, sizeof *made);
    wrote_text(*made);
}

void wrote_path(const path *made) {
    wrote(made, sizeof *made);
    wrote_text(made->native());
    for (const path &part : *made) {
        if (&part == made) return;                        // a path of one part has no list of them
        wrote(&part, sizeof part + sizeof(std::size_t));  // with where it begins
        wrote_text(part.native());
    }
}

// The layout of a directory iterator: a std::shared_ptr and its count.
struct SharedPtr {
    void *object;
    struct {
        void *table;
        int32_t uses, weak;
    } * counts;
};

using Word = std::uintptr_t;
using Any = Word(Word, Word, Word, Word, Word);

}  // namespace

// Calls the function, then does what is to be done with "made", its first argument, and "result".
#define XF_THROUGH(symbol, type, then)                                   \
    extern "C" Word symbol(Word a, Word b, Word c, Word d, Word e) {     \
        static auto *const real = theirs<Any>(nullptr, #symbol);         \
        const Quiet quiet;                                               \
        const Word result = real(a, b, c, d, e);                         \
        [[maybe_unused]] auto *const made = reinterpret_cast<type *>(a); \
        then;                                                            \
        return result;                                                   \
    }
#define XF_MAKES(symbol, type) XF_THROUGH(symbol, type, wrote(made, sizeof(type)))
#define XF_MAKES_PATH(symbol) XF_THROUGH(symbol, path, wrote_path(made))
#define XF_QUIET(symbol) XF_THROUGH(symbol, void, )

XF_MAKES(_ZSt17current_exceptionv, std::exception_ptr)
XF_MAKES(_ZNSt8__detail15_List_node_base7_M_hookEPS0_, std::__detail::_List_node_base)
XF_MAKES(_ZNSt6localeC1Ev, std::locale)
XF_QUIET(_ZNKSt5ctypeIcE13_M_widen_initEv)
XF_MAKES(_ZNSt8ios_baseC2Ev, std::ios_base)
XF_MAKES(_ZNSt13basic_filebufIcSt11char_traitsIcEEC1Ev, std::filebuf)
XF_QUIET(_ZNSt12__basic_fileIcE6xsputnEPKcl)
XF_QUIET(_ZNSt12__basic_fileIcE8xsputn_2EPKclS2_l)
// Streams of files, by a name in either form; of strings; and what is read from them.
XF_MAKES(_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode,
         std::ofstream)
XF_MAKES(_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode, std::ofstream)
XF_MAKES(_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode,
         std::ifstream)
XF_MAKES(_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode, std::ifstream)
XF_MAKES(_ZNSt13basic_fstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode,
         std::fstream)
XF_MAKES(_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev, std::ostringstream)
XF_MAKES(_ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEEC1ERKNS_12basic_stringIcS2_S3_EESt13_Ios_Openmode,
         std::istringstream)
XF_MAKES(_ZNSt7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEEC1EONS_12basic_stringIcS2_S3_EESt13_Ios_Openmode,
         std::istringstream)
XF_THROUGH(_ZNKRSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv, std::string, wrote_string(made))
XF_THROUGH(_ZNKRSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv, std::string, wrote_string(made))
XF_THROUGH(_ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_,
           void, wrote_string(reinterpret_cast<std::string *>(b)))
XF_THROUGH(_ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE, void,
           wrote_string(reinterpret_cast<std::string *>(b)))
XF_MAKES(_ZNSt10filesystem7__cxx114path5_ListC1Ev, void *)
XF_THROUGH(_ZNSt10filesystem7__cxx114path5_ListC1ERKS2_, char,  // a path's second member
           wrote_path(reinterpret_cast<path *>(made - sizeof(std::string))))
XF_MAKES_PATH(_ZNSt10filesystem19temp_directory_pathB5cxx11Ev)
XF_MAKES_PATH(_ZNSt10filesystem12current_pathB5cxx11Ev)
XF_MAKES_PATH(_ZNSt10filesystem12read_symlinkERKNS_7__cxx114pathE)
XF_MAKES_PATH(_ZNSt10filesystem7__cxx114pathdVERKS1_)  // a /= b
XF_MAKES_PATH(_ZNSt10filesystem7__cxx114path14_M_split_cmptsEv)
XF_MAKES_PATH(_ZNKSt10filesystem7__cxx114path11parent_pathEv)
XF_THROUGH(_ZNSt10filesystem7__cxx1118directory_iteratorC2ERKNS0_4pathENS_17directory_optionsEPSt10error_code,
           SharedPtr, (wrote(made, sizeof *made), wrote(made->counts, made->counts ? sizeof *made->counts : 0)))
XF_QUIET(_ZNSt10filesystem7__cxx1118directory_iteratorppEv)
XF_THROUGH(_ZNKSt10filesystem7__cxx1118directory_iteratordeEv, void,
           (wrote(reinterpret_cast<void *>(result), sizeof(std::filesystem::directory_entry)),
            wrote_path(&reinterpret_cast<std::filesystem::directory_entry *>(result)->path())))
XF_THROUGH(_ZNSt10filesystem7__cxx1128recursive_directory_iteratorC2ERKNS0_4pathENS_17directory_optionsEPSt10error_code,
           SharedPtr, (wrote(made, sizeof *made), wrote(made->counts, made->counts ? sizeof *made->counts : 0)))
XF_QUIET(_ZNSt10filesystem7__cxx1128recursive_directory_iteratorppEv)
XF_THROUGH(_ZNKSt10filesystem7__cxx1128recursive_directory_iteratordeEv, void,
           (wrote(reinterpret_cast<void *>(result), sizeof(std::filesystem::directory_entry)),
            wrote_path(&reinterpret_cast<std::filesystem::directory_entry *>(result)->path())))
XF_QUIET(_ZNSt10filesystem10remove_allERKNS_7__cxx114pathE)
XF_QUIET(_ZNSt10filesystem10remove_allERKNS_7__cxx114pathERSt10error_code)
XF_QUIET(_ZNSt10filesystem16create_directoryERKNS_7__cxx114pathE)
XF_QUIET(_ZNSt10filesystem18create_directoriesERKNS_7__cxx114pathE)
XF_QUIET(_ZNSt10filesystem9copy_fileERKNS_7__cxx114pathES3_NS_12copy_optionsE)
