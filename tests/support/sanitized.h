/*
 * XF_TEST_SANITIZED: 1 where the address, thread or memory sanitizer compiles this test, else 0. A sanitizer looks at
 * each access to memory, has a malloc() of its own, and takes ten times as long: what compares numbers or bits, or
 * proves speed, does less of the same there, and all of it in the release build.
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

#endif
