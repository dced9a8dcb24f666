/*
 * descriptor.h - descriptor_of(fd): the descriptor of the library for one of the C library, which on Windows is the
 * handle of the file; TEST_DEVICE: a device that can be opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_DESCRIPTOR_H
#define XF_TEST_DESCRIPTOR_H

#if defined(_WIN32)
#include <io.h>
#define descriptor_of(fd) ((int)_get_osfhandle(fd))
#define TEST_DEVICE "NUL"
#else
#define descriptor_of(fd) (fd)
#define TEST_DEVICE "/dev/zero"
#endif

#endif
