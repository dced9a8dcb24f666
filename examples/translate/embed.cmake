# Makes a C file of the pages in pages/, so that the program carries them:
#
#     cmake -DPAGES=pages -DOUTPUT=pages.c -P embed.cmake
#
# A page NAME.html has three places to fill: @STYLE@ (page.css and NAME.css), @SCRIPT@ (page.js and NAME.js) and
# @POLICY@, a Content-Security-Policy that allows this style and this script by their SHA-256 and nothing else, so that
# the page can't reach the network whatever its data holds. At @DATA@ it is cut in two: there the program writes JSON.
#
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

# The SHA-256 of a text in base64, as the policy wants it. Three hexadecimal digits make two of base64.
function(base64_sha256 text result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  set(base64 "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${hex}00" ${at} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING "${digits}" ${high} 1 first)
    string(SUBSTRING "${digits}" ${low} 1 second)
    string(APPEND base64 "${first}${second}")
  endforeach()
  string(SUBSTRING "${base64}" 0 43 base64)  # 32 bytes are 43 digits; the 44th stands for no bit of them
  set(${result} "${base64}=" PARENT_SCOPE)
endfunction()

# The rows of a C array: 20 bytes each.
function(c_bytes text result)
  file(WRITE "${OUTPUT}.part" "${text}")
  file(READ "${OUTPUT}.part" hex HEX)
  file(REMOVE "${OUTPUT}.part")
  string(REGEX REPLACE "(........................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  set(${result} "${hex}" PARENT_SCOPE)
endfunction()

set(source "/* Made by embed.cmake of the files in pages/; see page.h. */\n#include \"page.h\"\n")
foreach(name attention report)
  file(READ "${PAGES}/${name}.html" page)
  foreach(part css js)
    file(READ "${PAGES}/page.${part}" common)
    file(READ "${PAGES}/${name}.${part}" own)
    set(${part} "\n${common}\n${own}")
    base64_sha256("${${part}}" ${part}_hash)
  endforeach()
  set(policy "default-src 'none'; style-src 'sha256-${css_hash}'; script-src 'sha256-${js_hash}'")
  string(APPEND policy "; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'")
  string(REPLACE "@POLICY@" "${policy}" page "${page}")
  string(REPLACE "@STYLE@" "${css}" page "${page}")
  string(REPLACE "@SCRIPT@" "${js}" page "${page}")
  string(FIND "${page}" "@DATA@" data)
  if(data EQUAL -1)
    message(FATAL_ERROR "${PAGES}/${name}.html has no @DATA@")
  endif()
  string(SUBSTRING "${page}" 0 ${data} head)
  math(EXPR after "${data} + 6")
  string(SUBSTRING "${page}" ${after} -1 tail)
  foreach(side head tail)
    c_bytes("${${side}}" bytes)
    string(APPEND source "\nstatic const unsigned char ${name}_${side}[] = {\n${bytes}\n};\n")
  endforeach()
  string(APPEND source "\nconst struct page_template ${name}_page = {${name}_head, ${name}_tail, "
         "sizeof ${name}_head, sizeof ${name}_tail};\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}")
