"""Conan 2 recipe of the amalgamation that contains it: conan create . --build=missing

SPDX-License-Identifier: Apache-2.0
"""
import os

from conan import ConanFile
from conan.tools.build import stdcpp_library
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class XformerConan(ConanFile):
    name = "xformer"
    version = "@VERSION@"
    description = "Trains and decodes the encoder-decoder Transformer, with a stable C ABI"
    license = "Apache-2.0 AND MIT"  # the library; RapidJSON and utf8proc inside
    topics = ("transformer", "machine-translation", "machine-learning")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    languages = "C++"
    exports_sources = "CMakeLists.txt", "LICENSE", "*.cpp", "*.inl", "xformer.map", "xformer/*"

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeToolchain(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))  # CMakeDeps writes these files

    def package_info(self):
        self.cpp_info.libs = ["xformer"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread", "dl", "m"]
        if not self.options.shared and stdcpp_library(self):
            self.cpp_info.system_libs.append(stdcpp_library(self))  # for programs in C
