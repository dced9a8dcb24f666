# The fields of the Debian packages; cpack reads this for each generator, before it installs anything (packages.cmake).
#
# The version of the packages and the date of all files in them come from the newest entry of the changelog, so
# packaging is reproducible. SOURCE_DATE_EPOCH sets another date.
#
# SPDX-License-Identifier: Apache-2.0
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
cmake_policy(VERSION 3.25)
set(debian ${CPACK_XFORMER_SOURCE}/lib/debian)

# Refuses a build whose packages would be unusable.
if(NOT CPACK_XFORMER_LIBDIR STREQUAL "lib/${CPACK_XFORMER_MULTIARCH}")
  message(FATAL_ERROR "the libraries of this build go into ${CPACK_XFORMER_LIBDIR}, expected "
    "lib/${CPACK_XFORMER_MULTIARCH}: configure a build for packages with -DCMAKE_INSTALL_PREFIX=/usr, and a cross build "
    "also with -DCMAKE_INSTALL_LIBDIR=lib/${CPACK_XFORMER_MULTIARCH}")
endif()
if(NOT CPACK_XFORMER_SHARED OR CPACK_XFORMER_SANITIZE OR NOT CPACK_XFORMER_BUILD MATCHES "^Rel")
  message(FATAL_ERROR "found BUILD_SHARED_LIBS=${CPACK_XFORMER_SHARED}, XF_SANITIZE=${CPACK_XFORMER_SANITIZE}, "
    "CMAKE_BUILD_TYPE=${CPACK_XFORMER_BUILD}; packages require a shared release build without sanitizers")
endif()
foreach(tool dpkg-architecture dpkg-shlibdeps dpkg-parsechangelog)
  find_program(XF_${tool} ${tool})
  if(NOT XF_${tool})
    message(FATAL_ERROR "${tool} was not found; install the Debian package dpkg-dev")
  endif()
endforeach()

# The architecture of the packages is that of the compiler, which differs from that of this system in a cross build.
# dpkg-shlibdeps reads DEB_HOST_ARCH.
execute_process(COMMAND ${XF_dpkg-architecture} -f -t ${CPACK_XFORMER_MULTIARCH} -q DEB_HOST_ARCH
  OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})

foreach(field Version Timestamp)
  execute_process(COMMAND ${XF_dpkg-parsechangelog} -l ${debian}/changelog -S ${field}
    OUTPUT_VARIABLE ${field} OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT Version MATCHES "^(.*)-([^-]*)$" OR NOT CMAKE_MATCH_1 STREQUAL CPACK_XFORMER_VERSION)
  message(FATAL_ERROR "the newest entry of lib/debian/changelog has version ${Version}, "
    "expected a revision of ${CPACK_XFORMER_VERSION}, the version of the project")
endif()
set(CPACK_DEBIAN_PACKAGE_VERSION ${CMAKE_MATCH_1})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${CMAKE_MATCH_2})
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  set(ENV{SOURCE_DATE_EPOCH} ${Timestamp})
endif()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(NOT CPACK_DEBIAN_COMPRESSION_TYPE)
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
endif()
set(CPACK_DEBIAN_PACKAGE_SOURCE libxformer)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The value contains a second field, because CPack has no variable for Multi-Arch before 3.31.
set(CPACK_DEBIAN_PACKAGE_PRIORITY "optional\nMulti-Arch: same")
foreach(package ${CPACK_XFORMER_PACKAGES})
  string(TOUPPER ${package} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endforeach()

# complete.cmake finds and appends the dependencies of libxformer0 and of the plugins. A plugin requires the same
# version of the library, because the interface between them is not part of the ABI.
set(same "libxformer0 (= ${Version})")
set(about "libxformer trains and decodes the encoder-decoder Transformer of
\"Attention Is All You Need\": tokenizer, batches, training with checkpoints,
beam search and scores, behind a stable C ABI, without other machine learning
software.
")
set(CPACK_DEBIAN_LIBXFORMER0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBXFORMER0_DESCRIPTION "encoder-decoder Transformer as a C library
${about}
This package holds the shared library and its fast backend for CPUs, with
kernels for AVX2, AVX-512, and NEON, and OpenBLAS for other processors.")

set(CPACK_DEBIAN_LIBXFORMER-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBXFORMER-DEV_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_LIBXFORMER-DEV_PACKAGE_SUGGESTS "gcc | c-compiler, pkg-config, cmake")
set(CPACK_DEBIAN_LIBXFORMER-DEV_DESCRIPTION "encoder-decoder Transformer as a C library (development files)
${about}
This package holds what programs are compiled with: headers, the files for
pkg-config and CMake, and examples, among them a program that trains a model on
an English-German corpus, which is included, and translates with it.")

# cuBLASLt is loaded at run time, by its major version. Not every system has a package of the driver, so it is only
# suggested.
set(CPACK_DEBIAN_LIBXFORMER-CUDA_PACKAGE_SECTION non-free/libs)  # because it contains the CUDA runtime; see copyright
set(CPACK_DEBIAN_LIBXFORMER-CUDA_PACKAGE_DEPENDS "${same}")
if(CPACK_XFORMER_CUDA MATCHES "^([0-9]+)\\.([0-9]+)")
  set(CPACK_DEBIAN_LIBXFORMER-CUDA_PACKAGE_RECOMMENDS
    "libcublas-${CMAKE_MATCH_1}-${CMAKE_MATCH_2} | libcublaslt${CMAKE_MATCH_1}")
  set(driver_12 525.60)
  set(driver_13 580)
  set(CPACK_DEBIAN_LIBXFORMER-CUDA_PACKAGE_SUGGESTS "libcuda1")
  if(DEFINED driver_${CMAKE_MATCH_1})
    string(APPEND CPACK_DEBIAN_LIBXFORMER-CUDA_PACKAGE_SUGGESTS " (>= ${driver_${CMAKE_MATCH_1}})")
  endif()
endif()
set(CPACK_DEBIAN_LIBXFORMER-CUDA_DESCRIPTION "encoder-decoder Transformer as a C library (NVIDIA GPUs)
${about}
This package holds the backend for NVIDIA GPUs. It needs NVIDIA's driver and
cuBLASLt, and finds both when a program runs. Without them the library says
what is missing and computes on the CPU.")

set(CPACK_DEBIAN_LIBXFORMER-MPI_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBXFORMER-MPI_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_LIBXFORMER-MPI_PACKAGE_SUGGESTS "openmpi-bin")
set(CPACK_DEBIAN_LIBXFORMER-MPI_DESCRIPTION "encoder-decoder Transformer as a C library (ranks of MPI)
${about}
This package holds the plugin by which the processes of an MPI job train one
model together.")

# NCCL is loaded at run time, like cuBLASLt.
set(CPACK_DEBIAN_LIBXFORMER-NCCL_PACKAGE_SECTION contrib/libs)
set(CPACK_DEBIAN_LIBXFORMER-NCCL_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_LIBXFORMER-NCCL_PACKAGE_SUGGESTS "libnccl2, libxformer-cuda")
set(CPACK_DEBIAN_LIBXFORMER-NCCL_DESCRIPTION "encoder-decoder Transformer as a C library (NCCL)
${about}
This package holds the plugin by which the GPUs of a training job exchange
gradients and parameters without their hosts.")

# A program for all architectures, unlike the libraries.
set(CPACK_DEBIAN_XFORMER-SERVE_PACKAGE_SECTION net)
set(CPACK_DEBIAN_XFORMER-SERVE_PACKAGE_PRIORITY "optional\nMulti-Arch: foreign")
set(CPACK_DEBIAN_XFORMER-SERVE_PACKAGE_DEPENDS "${same}")
set(CPACK_DEBIAN_XFORMER-SERVE_DESCRIPTION "translation server with a web page
xformer-serve translates texts, HTML, and subtitles with Transformer models of
libxformer. It has a web page and the HTTP interface of LibreTranslate. The
texts never leave the computer.
.
This package contains no models and does not start the service.")
