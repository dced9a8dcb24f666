# Debian packages of this build, which must be configured with -DCMAKE_INSTALL_PREFIX=/usr; see docs/guide/install.md.
#
#     cmake --build BUILD --target package
#     cpack -G DEB --config BUILD/CPackConfig.cmake -B FOLDER      for a complete build
#
#   libxformer0      libxformer.so.0 and the openblas plugin
#   libxformer-dev   headers, link, xformer.pc, CMake package; the examples, as sources
#   libxformer-cuda  the cuda plugin, if it was built
#   libxformer-mpi   the mpi plugin, if it was built
#   libxformer-nccl  the nccl plugin, if it was built
#   xformer-serve    examples/serve, if it was built
#
# This file assigns components to packages. The rest happens when cpack runs: settings.cmake sets the fields of the
# packages, and complete.cmake adds the files that only packages contain.
#
# SPDX-License-Identifier: Apache-2.0
if(NOT PROJECT_IS_TOP_LEVEL OR NOT XF_INSTALL)
  return()
endif()
set(debian ${CMAKE_CURRENT_LIST_DIR})

# Only the package contains this component: users of cmake --install have the sources.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libxformer-dev
  COMPONENT examples EXCLUDE_FROM_ALL FILES_MATCHING
  PATTERN CMakeLists.txt PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.h" PATTERN "*.md" PATTERN "*.sh" PATTERN "*.tsv"
  PATTERN "*.html" PATTERN "*.css" PATTERN "*.js" PATTERN "*.cmake" PATTERN "*.py" PATTERN "*.sbatch" PATTERN "*.yaml"
  PATTERN "*.mjs" PATTERN "*.svg" PATTERN "*.webmanifest"
  PATTERN Dockerfile PATTERN Containerfile PATTERN openapi.json PATTERN "*.service" PATTERN "*.default" PATTERN "*.1"
  PATTERN __pycache__ EXCLUDE)

set(components_libxformer0 runtime)
set(components_libxformer-dev devel examples)
set(components_libxformer-cuda)
set(components_libxformer-mpi)
set(components_libxformer-nccl)
set(components_xformer-serve)
set(CPACK_XFORMER_CUDA)
if(TARGET xformer_openblas)
  list(APPEND components_libxformer0 openblas)
endif()
if(TARGET xformer_cuda)
  list(APPEND components_libxformer-cuda cuda)
  get_directory_property(CPACK_XFORMER_CUDA DIRECTORY ${PROJECT_SOURCE_DIR}/cuda DEFINITION CMAKE_CUDA_COMPILER_VERSION)
endif()
if(TARGET xformer_mpi)
  list(APPEND components_libxformer-mpi mpi)
endif()
if(TARGET xformer_nccl)
  list(APPEND components_libxformer-nccl nccl)
endif()
if(TARGET xformer_serve)
  install(TARGETS xformer_serve RUNTIME COMPONENT serve EXCLUDE_FROM_ALL)
  list(APPEND components_xformer-serve serve)
endif()

# Each group of components is a package of the same name.
set(CPACK_COMPONENTS_ALL)
set(CPACK_XFORMER_PACKAGES)
foreach(package libxformer0 libxformer-dev libxformer-cuda libxformer-mpi libxformer-nccl xformer-serve)
  if(components_${package})
    list(APPEND CPACK_XFORMER_PACKAGES ${package})
  endif()
  foreach(component ${components_${package}})
    string(TOUPPER ${component} upper)
    set(CPACK_COMPONENT_${upper}_GROUP ${package})
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endforeach()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME libxformer)
set(CPACK_PACKAGE_CONTACT "The libxformer authors <authors@libxformer.invalid>")  # .invalid has no mailboxes (RFC 2606)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PROJECT_CONFIG_FILE ${debian}/settings.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${debian}/complete.cmake)

# Properties of this build for settings.cmake and complete.cmake.
set(CPACK_XFORMER_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_XFORMER_VERSION ${PROJECT_VERSION})
set(CPACK_XFORMER_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(CPACK_XFORMER_MULTIARCH ${CMAKE_LIBRARY_ARCHITECTURE})
set(CPACK_XFORMER_BUILD "${CMAKE_BUILD_TYPE}")
set(CPACK_XFORMER_SHARED ${BUILD_SHARED_LIBS})
set(CPACK_XFORMER_SANITIZE "${XF_SANITIZE}")
set(CPACK_XFORMER_STRIP ${CMAKE_STRIP})
include(CPack)
