# Fails when a function of the ABI is called in no C file of this folder: a new function comes with its tests.
#
#   cmake -DMAP=lib/xformer.map -DFOLDER=tests/surfaces/api -P coverage.cmake
#
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
file(READ ${MAP} map)
string(REGEX REPLACE "#[^\n]*" "" map "${map}")
string(REGEX MATCHALL "xf_[a-z0-9_]+" names "${map}")
list(LENGTH names count)
if(count LESS 80)
  message(FATAL_ERROR "${MAP} gave only ${count} names")
endif()
file(GLOB files ${FOLDER}/*_test.c)
set(text "")
foreach(file ${files})
  file(READ ${file} one)
  string(APPEND text "${one}")
endforeach()
set(missing "")
foreach(name ${names})
  if(NOT text MATCHES "[^a-z0-9_]${name}\\(")
    list(APPEND missing ${name})
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "no test in ${FOLDER} calls: ${missing}")
endif()
message(STATUS "${count} functions are called")
