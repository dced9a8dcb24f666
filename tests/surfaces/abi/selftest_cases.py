"""The breaks and the growth that selftest.py plants.

A case has a label, edits (file, old text, new text) of a copy of the headers, xformer.map, and OPTIONS, and the gates
that must report it. No other gate may report it, so that the table stays correct.

SPDX-License-Identifier: Apache-2.0
"""
import dataclasses


@dataclasses.dataclass
class Case:
    label: str
    gates: str
    edits: tuple = ()
    breaks: bool = True
    flags: tuple = ()
    soname: str = ""
    extra: str = ""

    def __post_init__(self):
        self.gates = self.gates.split()


def field(comment, declaration):
    """A member as the headers write it."""
    return f"    /** {comment} */\n    {declaration};\n"


def grows(label, gates, *edits):
    return Case(label, gates, edits, breaks=False)


SRC_IDS = field("[src_offsets[B]] ids.", "const int32_t *src_ids")
SRC_OFFSETS = field("[B + 1] non-decreasing; the first is 0.", "const int64_t *src_offsets")
KEPT = field("Pairs kept.", "int64_t kept")
NLL = "    double nll;\n    /** exp(nll): perplexity per token. */\n    double perplexity;\n} xf_eval_stats;"
EVAL_INIT = "{ sizeof(xf_eval_stats), 0, 0, 0, 0, 0 }"
CHRF = """XF_API xf_status xf_chrf(const char *const *hypotheses, const size_t *hypothesis_lengths, const char *const *references,
                         const size_t *reference_lengths, size_t count, xf_chrf_score *score, xf_error *err);
"""

# An option table for the stub library, in the format of abi_options.
OPTIONS = """decode.beam type = i64
decode.beam default = 4
decode.beam minimum = 1
decode.beam maximum = 1024
model.norm type = string
model.norm choice post = allowed
model.norm choice pre = allowed
model.norm default = post
"""

CASES = [
    # Structs.
    Case("fields reordered, one type", "acc surface layout", (("data.h", SRC_IDS + SRC_OFFSETS, SRC_OFFSETS + SRC_IDS),)),
    Case("fields reordered, two types", "acc surface layout", (
        ("decode.h", "    size_t text_length;", "    double log_probability;"),
        ("decode.h", "    double log_probability;\n    /** log_probability", "    size_t text_length;\n    /** log_probability"))),
    Case("field of another type, same size", "acc surface", (("data.h", KEPT, KEPT.replace("int64_t", "double")),)),
    Case("field of a smaller type", "acc surface", (
        ("train.h", "    double loss;\n    /** Cross-entropy without", "    float loss;\n    /** Cross-entropy without"),)),
    Case("field signed, then unsigned", "surface", (("backend.h", "int32_t device_count;", "uint32_t device_count;"),)),
    Case("field removed", "acc surface constants layout", (
        ("decode.h", NLL, NLL.replace("    double nll;\n", "")),
        ("decode.h", EVAL_INIT, "{ sizeof(xf_eval_stats), 0, 0, 0, 0 }"))),
    Case("last field removed", "acc surface layout", (
        ("decode.h", "    double perplexity;\n} xf_eval_stats;", "} xf_eval_stats;"),
        ("decode.h", EVAL_INIT, "{sizeof(xf_eval_stats), 0, 0, 0, 0, 0}"))),
    Case("field inserted before others", "acc surface layout", (
        ("context.h", "    /** Largest value of current so far. */", "    /** New. */\n    int64_t fresh;\n    /** Largest. */"),)),
    Case("field renamed", "surface layout", (("train.h", "    double gradient_norm;", "    double grad_norm;"),)),
    Case("const dropped in a field", "surface", (
        ("model.h", '"encoder.0.self_attention.q.weight"; owned by the model. */\n    const char *name;',
         '". */\n    char *name;'),)),
    Case("array in a struct shorter", "surface layout", (("eval.h", "reference_length;\n    /** How the score was computed, in the form of sacreBLEU; NUL-terminated. */\n    char signature[96];", "reference_length;\n    char signature[64];"),)),
    Case("xf_error grows: it may not", "constants layout", (
        ("status.h", "    char message[XF_ERROR_MESSAGE_SIZE];\n", "    char message[XF_ERROR_MESSAGE_SIZE];\n    int64_t more;\n"),)),
    Case("struct packed: another layout", "acc surface layout", (
        ("status.h", "    int32_t native_code;", "    int16_t native_code;"),
        ("status.h", "    char message[XF_ERROR_MESSAGE_SIZE];", "    char message[XF_ERROR_MESSAGE_SIZE + 2];"))),
    Case("function pointer in a struct", "surface", (
        ("context.h", "void *(*alloc)(void *user, size_t size, size_t alignment);", "void *(*alloc)(void *user, size_t size);"),)),
    Case("handle becomes void", "surface", (("model.h", "typedef struct xf_model xf_model;", "typedef void xf_model;"),)),
    # Enumerations and macros.
    Case("enumerator renumbered", "constants layout", (
        ("status.h", "XF_ERROR_IO = -20", "XF_ERROR_IO = -25"),)),
    Case("two enumerators swapped", "constants layout", (
        ("context.h", "XF_LOG_INFO = 3", "XF_LOG_INFO = 4"), ("context.h", "XF_LOG_DEBUG = 4", "XF_LOG_DEBUG = 3"))),
    Case("enumerator removed", "constants layout", (
        ("status.h", "    XF_ERROR_FORKED = -43,\n", ""),)),
    Case("enumerator renamed", "constants layout", (
        ("status.h", "    XF_ERROR_FORKED = -43,\n", "    XF_ERROR_FORK = -43,\n"),)),
    Case("macro with another value", "constants", (("io.h", "{ sizeof(xf_source), XF_IO_PATH, 0, path,", "{ sizeof(xf_source), XF_IO_PATH, 1, path,"),)),
    Case("macro removed", "constants layout", (("call.h", "#define XF_CALL_INIT \\\n    { sizeof(xf_call), NULL, 0, NULL, NULL }\n", "\n"),)),
    Case("initialiser with another value", "constants", (
        ("data.h", "{ sizeof(xf_batch), 0,", "{ sizeof(xf_batch), 1,"),)),
    Case("size of the error message", "surface constants layout", (
        ("status.h", "#define XF_ERROR_MESSAGE_SIZE 248", "#define XF_ERROR_MESSAGE_SIZE 504"),)),
    # Functions.
    Case("function removed", "acc surface", (("eval.h", CHRF, "\n"), ("xformer.map", "    xf_chrf;\n", ""))),
    Case("function renamed", "acc surface", (
        ("eval.h", "xf_chrf(const", "xf_chrf2(const"), ("xformer.map", "    xf_chrf;\n", "    xf_chrf2;\n"))),
    Case("parameter narrower", "acc surface", (
        ("config.h", "const char *key, double value, xf_error", "const char *key, float value, xf_error"),)),
    Case("parameter points to another type", "acc surface", (
        ("model.h", "size_t index, const float *values,", "size_t index, const double *values,"),)),
    Case("parameter by value", "acc surface", (
        ("decode.h", "xf_decode(xf_decoder *decoder, const xf_batch *batch,", "xf_decode(xf_decoder *decoder, xf_batch batch,"),)),
    Case("parameter added", "acc surface", (
        ("config.h", "xf_config_preset(xf_config *config, const char *name,", "xf_config_preset(xf_config *config, const char *name, int32_t scale,"),)),
    Case("parameter removed", "acc surface", (
        ("backend.h", "size_t index, xf_backend_info *info, xf_error *err);",
         "size_t index, xf_backend_info *info);"),)),
    Case("parameters swapped, one type", "surface", (
        ("data.h", "xf_batcher_seek(xf_batcher *batcher, int64_t epoch, int64_t batch,",
         "xf_batcher_seek(xf_batcher *batcher, int64_t batch, int64_t epoch,"),)),
    Case("another return type", "acc surface", (("train.h", "XF_API int64_t xf_trainer_step_count(", "XF_API int32_t xf_trainer_step_count("),)),
    Case("something returned no more", "acc surface", (("data.h", "XF_API int64_t xf_corpus_pair_count(", "XF_API void xf_corpus_pair_count("),)),
    Case("const dropped in a parameter", "acc surface", (
        ("config.h", "xf_config_copy(const xf_config *config,", "xf_config_copy(xf_config *config,"),)),
    Case("const dropped in what is returned", "surface", (
        ("version.h", "XF_API const char *xf_version(void);", "XF_API char *xf_version(void);"),)),
    Case("callback with another signature", "surface", (
        ("context.h", "(*xf_log_fn)(void *user, const xf_log_line *line)", "(*xf_log_fn)(const xf_log_line *line)"),)),
    # Names, versions, and how it is linked.
    Case("function in another version node", "acc surface elf", (
        ("xformer.map", "    xf_chrf;\n", ""), ("xformer.map", "  local: *;\n};\n", "  local: *;\n};\nXFORMER_0.2 { xf_chrf; } XFORMER_0.1;\n"))),
    Case("another SONAME", "surface", soname="libxformer.so.7"),
    Case("SONAME of no number", "surface elf", soname="libxformer.so"),
    Case("declared, but not exported", "acc surface names", (("xformer.map", "    xf_chrf;\n", ""),)),
    Case("exported, but not declared", "names elf", (("xformer.map", "    xf_chrf;\n", "    xf_chrf; xf_secret;\n"),),
         extra='__attribute__((visibility("default"))) void xf_secret() {}'),
    Case("search path in the library", "elf", flags=("-Wl,-rpath,/usr/local/lib",)),
    Case("executable stack", "elf", flags=("-Wl,-z,execstack",)),
    Case("relocations stay writable", "elf", flags=("-Wl,-z,lazy",)),
    Case("no read-only relocations at all", "elf", flags=("-Wl,-z,norelro",)),
    Case("a library more is needed", "elf", flags=("-Wl,--no-as-needed,-l:libresolv.so.2",)),
    Case("text relocations", "elf", flags=("-Wl,-z,notext",),
         extra='__asm__(".text\\n.globl xf_pointer_\\n.hidden xf_pointer_\\nxf_pointer_: .quad memcpy\\n");'),
    # Options.
    Case("option removed", "options", (("options.txt", "decode.beam type = i64\ndecode.beam default = 4\n"
                                        "decode.beam minimum = 1\ndecode.beam maximum = 1024\n", ""),)),
    Case("option of another type", "options", (("options.txt", "decode.beam type = i64", "decode.beam type = f64"),)),
    Case("choice of an option removed", "options", (("options.txt", "model.norm choice pre = allowed\n", ""),)),
    Case("bounds of an option narrower", "options", (("options.txt", "decode.beam maximum = 1024", "decode.beam maximum = 512"),)),

    # Growth, which must pass.
    grows("experimental.h: function removed, parameter and callback changed", "", (
        "experimental.h", "XF_API xf_status xf_attention_weights(xf_decoder *decoder, const xf_batch *pair, int32_t kind, int32_t layer,\n"
        "                                      float *weights, size_t capacity, size_t *count, xf_error *err);\n", ""),
        ("xformer.map", "    xf_attention_weights;\n", ""),
        ("experimental.h", "xf_context_all_gather(xf_context *context, int64_t value,", "xf_context_all_gather(xf_context *context, double value,"),
        ("experimental.h", "size_t receive_count, double timeout, xf_error *err);", "size_t receive_count, float timeout, xf_error *err);")),
    grows("nothing changed", ""),
    grows("new function", "surface", (
        "eval.h", CHRF, CHRF + "/** New. */\nXF_API xf_status xf_ter(double *score, xf_error *err);\n"),
        ("xformer.map", "    xf_chrf;\n", "    xf_chrf;\n    xf_ter;\n")),
    grows("new function in a new version node", "surface", (
        "eval.h", CHRF, CHRF + "/** New. */\nXF_API xf_status xf_ter(double *score, xf_error *err);\n"),
        ("xformer.map", "  local: *;\n};\n", "  local: *;\n};\nXFORMER_0.2 {\n    xf_ter;\n} XFORMER_0.1;\n")),
    grows("field appended to a struct_size struct", "surface constants", (
        "decode.h", "    double perplexity;\n} xf_eval_stats;", "    double perplexity;\n    double entropy;\n} xf_eval_stats;"),
        ("decode.h", EVAL_INIT, "{ sizeof(xf_eval_stats), 0, 0, 0, 0, 0, 0 }")),
    grows("new enumerator", "constants", ("status.h", "    XF_ERROR_FORKED = -43,\n", "    XF_ERROR_FORKED = -43,\n    XF_ERROR_SLOW = -44,\n")),
    grows("new macro", "constants", ("status.h", "#define XF_ERROR_MESSAGE_SIZE 248\n", "#define XF_ERROR_MESSAGE_SIZE 248\n#define XF_MORE 9\n")),
    grows("new handle, struct, enumeration, header", "surface constants", (
        "fresh.h", "", "#ifndef XFORMER_FRESH_H\n#define XFORMER_FRESH_H\n#include \"xformer/status.h\"\n"
        "typedef struct xf_fresh xf_fresh;\nenum { XF_KIND_ONE = 1 };\n"
        "typedef struct xf_fresh_info {\n    size_t struct_size;\n    int32_t kind;\n    int32_t reserved;\n} xf_fresh_info;\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
        "XF_API xf_status xf_fresh_get(const xf_fresh *fresh, xf_fresh_info *info, xf_error *err);\n"
        "#ifdef __cplusplus\n}\n#endif\n#endif\n"),
        ("xformer.h", '#include "xformer/eval.h"\n', '#include "xformer/eval.h"\n#include "xformer/fresh.h"\n'),
        ("xformer.map", "    xf_evaluate;\n", "    xf_evaluate;\n    xf_fresh_get;\n")),
    grows("new option", "options", ("options.txt", "decode.beam type = i64\n",
                                    "decode.beam type = i64\ndecode.fresh type = bool\ndecode.fresh default = false\n")),
    grows("new choice, wider bounds, other default", "options", (
        "options.txt", "model.norm choice pre = allowed\n", "model.norm choice pre = allowed\nmodel.norm choice rms = allowed\n"),
        ("options.txt", "decode.beam maximum = 1024", "decode.beam maximum = 2048"),
        ("options.txt", "decode.beam default = 4", "decode.beam default = 5")),
    grows("new release: the version macros", "", ("version.h", "#define XF_VERSION_PATCH 0", "#define XF_VERSION_PATCH 1")),
]

# Names that denylist.sh must refuse, some of each kind.
DENIED = """exit _exit abort raise kill on_exit __register_atfork __cxa_at_quick_exit __assert_fail printf __printf_chk fprintf vfprintf puts fputs
    putchar fwrite perror syslog stdout stderr stdin dprintf freopen signal sigaction sigprocmask setjmp longjmp alarm
    setitimer setlocale uselocale newlocale nl_langinfo localeconv strtod atof sscanf __isoc99_sscanf tolower isalpha
    __ctype_b_loc mbstowcs strcoll strftime setenv unsetenv putenv getenv tzset srand rand random srandom drand48 strtok
    localtime gmtime strerror tmpnam dlclose system popen fork vfork execv execlp posix_spawn waitpid umask chdir chroot
    setuid nice setrlimit prctl sched_setaffinity mallopt fesetround fesetenv feenableexcept feholdexcept socket connect
    getaddrinfo mmap64"""

# Denied calls that denylist.sh allows in each kind of library because third-party code makes them.
EXPECTED = {"core": "", "openblas": "",
            "cuda": "exit getenv dlclose setenv kill fwrite sscanf socket connect"}

# Edges of the API that let an exception out: label, file in lib, old text, new text.
EDGES = [
    ("a function without guard()", "api/config.cpp", "return guard(err, [&] {\n        check_pointer(out, \"out\");",
     "return ([&] {\n        check_pointer(out, \"out\");"),
    ("work before guard()", "api/backend.cpp", "    return guard(err, [&] {\n        const auto use = shared(context",
     "    std::string copy(9, ' ');\n    return guard(err, [&] {\n        const auto use = shared(context"),
    ("a helper that is not noexcept", "api/config.cpp", "xf_error *err, Set set) noexcept {", "xf_error *err, Set set) {"),
    ("a helper without guard()", "api/data.cpp", "Open open) noexcept {\n    return guard(err, [&] {", "Open open) noexcept {\n    return ([&] {"),
    ("a getter that allocates", "api/train.cpp", "return is_handle(trainer) ? trainer->config.get() : nullptr;",
     "return is_handle(trainer) ? new xf_config : nullptr;"),
    ("a getter that calls what may throw", "api/data.cpp", "return is_handle(corpus) ? corpus->corpus->size() : 0;",
     "return is_handle(corpus) ? corpus->corpus->recount() : 0;"),
    ("guard() that is not noexcept", "api/guard.h", "Body &&body) noexcept {", "Body &&body) {"),
    ("guard() that lets unknown exceptions pass", "api/guard.h", "} catch (...) {", "} catch (int) {"),
    ("free_handle() that is not noexcept", "api/guard.h", "void free_handle(Handle *handle) noexcept {", "void free_handle(Handle *handle) {"),
    ("a function that is gone", "api/eval.cpp", "xf_status xf_chrf(", "xf_status xf_chrf_(") ,
]
