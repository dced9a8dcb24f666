# Completes the installed tree of each package before cpack packs it (see packages.cmake): files that only packages
# contain, permissions, stripping, symbols files, and dependencies.
#
# SPDX-License-Identifier: Apache-2.0
cmake_policy(VERSION 3.25)
set(debian ${CPACK_XFORMER_SOURCE}/lib/debian)
set(libdir usr/${CPACK_XFORMER_LIBDIR})
set(work ${CPACK_TEMPORARY_DIRECTORY}/control)
file(MAKE_DIRECTORY ${work}/debian)
string(REGEX MATCH "^[0-9]+" major ${CPACK_XFORMER_VERSION})

# compress(FROM TO): compresses without name and date, so that builds are reproducible.
function(compress from to)
  execute_process(COMMAND gzip -9nc INPUT_FILE ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# set_permissions(FOLDER): sets permissions independently of umask and checkout. Links have no permissions.
function(set_permissions folder)
  set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  set(runnable ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
  file(GLOB_RECURSE entries LIST_DIRECTORIES true ${folder}/*)
  foreach(entry ${folder} ${entries})
    if(IS_SYMLINK ${entry})
      continue()
    elseif(IS_DIRECTORY ${entry} OR entry MATCHES "\\.sh$|/usr/bin/")
      file(CHMOD ${entry} PERMISSIONS ${runnable})
    else()
      file(CHMOD ${entry} PERMISSIONS ${readable})
    endif()
  endforeach()
endfunction()

# shlibdeps(RESULT PACKAGE FILE...): finds the packages of the libraries that the files are linked with. dpkg-shlibdeps
# must run in a source package, and treats a folder that contains DEBIAN as a package. settings.cmake has the dependency
# on libxformer0.
function(shlibdeps result package)
  file(WRITE ${work}/debian/control "Source: libxformer\n\nPackage: ${package}\nArchitecture: any\n")
  file(MAKE_DIRECTORY ${CPACK_TEMPORARY_DIRECTORY}/${package}/DEBIAN)
  execute_process(COMMAND ${XF_dpkg-shlibdeps} -O -l${CPACK_TEMPORARY_DIRECTORY}/libxformer0/${libdir}
      --ignore-missing-info ${ARGN}
    WORKING_DIRECTORY ${work} OUTPUT_VARIABLE line OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${CPACK_TEMPORARY_DIRECTORY}/${package}/DEBIAN)
  string(REGEX REPLACE "^shlibs:Depends=" "" line "${line}")
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# dependency(RESULT VERSION): the dependency for a symbol that exists since VERSION, or #MINVER#. While the major
# version is 0, a program requires the minor version that it was linked with: others lack the symbols of its version
# node.
function(dependency result version)
  set(text "libxformer0 ${version}")
  if(major EQUAL 0)
    string(REGEX MATCH "^0\\.([0-9]+)" minor ${CPACK_XFORMER_VERSION})
    math(EXPR next "${CMAKE_MATCH_1} + 1")
    string(APPEND text ", libxformer0 (<< 0.${next}~)")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# write_symbols(): lists each function with the version of its node in xformer.map, for dpkg-shlibdeps of dependents.
function(write_symbols)
  file(STRINGS ${CPACK_XFORMER_SOURCE}/lib/xformer.map lines)
  set(symbols)
  foreach(line ${lines})
    if(line MATCHES "^(XFORMER_([0-9.]+)) ")
      set(node ${CMAKE_MATCH_1})
      set(since ${CMAKE_MATCH_2}.0)
      list(APPEND symbols " ${node}@${node} ${since}\n")
    elseif(line MATCHES "^ *(xf_[a-z0-9_]+)")
      list(APPEND symbols " ${CMAKE_MATCH_1}@${node} ${since}\n")
    endif()
  endforeach()
  list(SORT symbols)
  list(JOIN symbols "" symbols)
  dependency(needs "#MINVER#")
  file(WRITE ${work}/symbols "libxformer.so.${major} ${needs}\n* Build-Depends-Package: libxformer-dev\n${symbols}")
endfunction()

# complete_serve(TREE): adds the systemd unit, the options, the man page, and the folder of the models.
function(complete_serve tree)
  set(deploy ${CPACK_XFORMER_SOURCE}/examples/serve/deploy)
  file(COPY ${deploy}/xformer-serve.service DESTINATION ${tree}/usr/lib/systemd/system)
  file(MAKE_DIRECTORY ${tree}/etc/default ${tree}/usr/share/man/man1 ${tree}/var/lib/xformer-serve)
  configure_file(${deploy}/xformer-serve.default ${tree}/etc/default/xformer-serve COPYONLY)
  compress(${deploy}/xformer-serve.1 ${tree}/usr/share/man/man1/xformer-serve.1.gz)
endfunction()

foreach(package ${CPACK_XFORMER_PACKAGES})
  set(tree ${CPACK_TEMPORARY_DIRECTORY}/${package})
  set(doc ${tree}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  file(COPY ${debian}/copyright DESTINATION ${doc})
  compress(${debian}/changelog ${doc}/changelog.Debian.gz)
  compress(${CPACK_XFORMER_SOURCE}/CHANGELOG.md ${doc}/changelog.gz)
  if(package STREQUAL "xformer-serve")
    complete_serve(${tree})
  endif()
  set_permissions(${tree})
endforeach()

write_symbols()
dependency(needs "(>= ${CPACK_XFORMER_VERSION})")
file(WRITE ${work}/shlibs "libxformer ${major} ${needs}\n")
file(WRITE ${work}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBXFORMER0_PACKAGE_CONTROL_EXTRA ${work}/symbols ${work}/shlibs ${work}/triggers)

# One script handles the calls of all three names.
file(WRITE ${work}/conffiles "/etc/default/xformer-serve\n")
foreach(script postinst prerm postrm)
  configure_file(${debian}/xformer-serve.script ${work}/${script} COPYONLY)
endforeach()
set(CPACK_DEBIAN_XFORMER-SERVE_PACKAGE_CONTROL_EXTRA ${work}/conffiles ${work}/postinst ${work}/prerm ${work}/postrm)

# Not CPACK_DEBIAN_PACKAGE_SHLIBDEPS, which also writes maintainer scripts that call ldconfig.
foreach(package libxformer0 libxformer-cuda libxformer-mpi libxformer-nccl xformer-serve)
  if(package IN_LIST CPACK_XFORMER_PACKAGES)
    string(TOUPPER ${package} upper)
    set(tree ${CPACK_TEMPORARY_DIRECTORY}/${package}/usr)
    set(lib ${CPACK_TEMPORARY_DIRECTORY}/${package}/${libdir})
    file(GLOB files ${lib}/libxformer.so.${CPACK_XFORMER_VERSION} ${lib}/xformer/*.so ${tree}/bin/*)
    execute_process(COMMAND_ERROR_IS_FATAL ANY
      COMMAND ${CPACK_XFORMER_STRIP} --strip-unneeded --remove-section=.comment --remove-section=.note ${files})
    shlibdeps(found ${package} ${files})
    list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS ${found})
    list(JOIN CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS)
  endif()
endforeach()
