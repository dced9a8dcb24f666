# CMake toolchain file: ARM64 Linux, with Debian's cross compiler and its arm64 libraries (multiarch).
#
# The programs run in qemu with the libraries of /lib/aarch64-linux-gnu. Do not use -L /usr/aarch64-linux-gnu: its
# dynamic loader belongs to another version of glibc, and a program that combines both hangs when it starts a thread.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR $ENV{XF_QEMU})
if(NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
endif()
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
