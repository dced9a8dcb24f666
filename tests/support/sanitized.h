/*
 * XF_TEST_SANITIZED: 1 if the address, thread, or memory sanitizer is enabled, else 0. A sanitizer checks each memory
 * access, replaces malloc(), and is ten times slower. Therefore tests that compare numbers or measure speed do less
 * work with a sanitizer, and all of it in the release build.
 *
 * XF_TEST_EMULATED: 1 if an emulator of another processor runs the tests, else 0.
 *
 * XF_TEST_SLOWNESS: factor for limits of time: 20 with a sanitizer, 50 in an emulator, else 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_SANITIZED_H
#define XF_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XF_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define XF_TEST_SANITIZED 1
#endif
#endif
#ifndef XF_TEST_SANITIZED
#define XF_TEST_SANITIZED 0
#endif

#ifndef XF_TEST_EMULATED
#define XF_TEST_EMULATED 0
#endif

#define XF_TEST_SLOWNESS (XF_TEST_EMULATED ? 50 : XF_TEST_SANITIZED ? 20 : 1)

#endif
