/*
 * xformer/io.h - where models, tokenizers, and checkpoints are loaded from and saved to.
 *
 * Loading needs random access and saving writes the header last, so pipes and sockets are not supported. Use a callback
 * for encrypted files and object stores.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_IO_H
#define XFORMER_IO_H

#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup io Sources and sinks
 * @brief Files, memory, descriptors, and callbacks.
 * @{
 */

/** @brief Kinds of xf_source and xf_sink. 0 is not a kind. @since 0.1 */
enum {
    /** A file name. */
    XF_IO_PATH = 1,
    /** A memory block of the caller. */
    XF_IO_MEMORY = 2,
    /**
     * An open descriptor of a regular file. On Windows the handle of the file, converted to int32_t, because the
     * numbers of a C runtime are valid only for programs with the same one.
     */
    XF_IO_DESCRIPTOR = 3,
    /** A function of the caller. */
    XF_IO_CALLBACK = 4
};

/**
 * @brief The bytes of a file to load. The content is not trusted. Only the members of the selected kind are used.
 * @since 0.1
 */
typedef struct xf_source {
    /** sizeof(xf_source) of the caller. */
    size_t struct_size;
    /** One of XF_IO_...; 0 is XF_ERROR_INVALID_ARGUMENT. */
    int32_t kind;
    /** XF_IO_DESCRIPTOR: open for reading. Its position is neither used nor changed; it is not closed. */
    int32_t fd;
    /** XF_IO_PATH: a regular file. */
    const char *path;
    /** XF_IO_MEMORY: size bytes, which must not change during the call. */
    const void *data;
    /** XF_IO_MEMORY and XF_IO_CALLBACK: size in bytes. */
    uint64_t size;
    /**
     * XF_IO_CALLBACK: copies the bytes [offset, offset + bytes) to dst. The range lies within size; ranges are
     * requested in any order. Called on the thread that made the call. Returns 0 on success; any other value fails the
     * call with XF_ERROR_IO. Must not throw or longjmp.
     */
    int32_t (*read)(void *user, uint64_t offset, void *dst, size_t bytes);
    /** Passed to read. */
    void *user;
} xf_source;

/** @brief An xf_source with its struct_size and no kind. @since 0.1 */
#define XF_SOURCE_INIT \
    { sizeof(xf_source), 0, 0, NULL, NULL, 0, NULL, NULL }
/** @brief An initializer for a file name: `xf_source source = XF_SOURCE_PATH("model.xf");` @since 0.1 */
#define XF_SOURCE_PATH(path) \
    { sizeof(xf_source), XF_IO_PATH, 0, path, NULL, 0, NULL, NULL }

/**
 * @brief The destination of a file to save. Only the members of the selected kind are used.
 *
 * A path is replaced atomically. After an error or a crash, the old file is intact (xf_model_save() describes one
 * exception). After success, the old file remains as "<path>.prev". The other kinds are written in place; their content
 * is undefined after an error.
 *
 * @since 0.1
 */
typedef struct xf_sink {
    /** sizeof(xf_sink) of the caller. */
    size_t struct_size;
    /** One of XF_IO_...; 0 is XF_ERROR_INVALID_ARGUMENT. */
    int32_t kind;
    /**
     * XF_IO_DESCRIPTOR: a regular file, open for writing without O_APPEND. It is truncated, written from offset 0, and
     * synchronized; its position is neither used nor changed. It is not closed.
     */
    int32_t fd;
    /** XF_IO_PATH: a file name. */
    const char *path;
    /** XF_IO_MEMORY: capacity bytes; may be NULL if capacity is 0. */
    void *data;
    /** XF_IO_MEMORY: size of data in bytes. */
    uint64_t capacity;
    /**
     * XF_IO_CALLBACK: stores the bytes of src at offset. Every byte of the file is written; bytes at the start are
     * written again at the end, when the checksum is known. Called on the thread that made the call. Returns 0 on
     * success; any other value fails the call with XF_ERROR_IO. Must not throw or longjmp.
     */
    int32_t (*write)(void *user, uint64_t offset, const void *src, size_t bytes);
    /** Passed to write. */
    void *user;
    /**
     * If not NULL, receives the size of the file in bytes. For XF_IO_MEMORY it is also set when capacity is too small
     * and the call returns XF_ERROR_BUFFER_TOO_SMALL.
     */
    uint64_t *size;
} xf_sink;

/** @brief An xf_sink with its struct_size and no kind. @since 0.1 */
#define XF_SINK_INIT \
    { sizeof(xf_sink), 0, 0, NULL, NULL, 0, NULL, NULL, NULL }
/** @brief An initializer for a file name: `xf_sink sink = XF_SINK_PATH("model.xf");` @since 0.1 */
#define XF_SINK_PATH(path) \
    { sizeof(xf_sink), XF_IO_PATH, 0, path, NULL, 0, NULL, NULL, NULL }

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_IO_H */
