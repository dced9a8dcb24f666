# vcpkg port of the amalgamation that contains it: vcpkg install xformer --overlay-ports=vcpkg
#
# SPDX-License-Identifier: Apache-2.0
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/xformer)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
