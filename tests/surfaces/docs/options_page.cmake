# docs/guide/options.md is what options_page prints. SPDX-License-Identifier: Apache-2.0
execute_process(COMMAND ${PROGRAM} OUTPUT_FILE ${WORK} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM}: ${failed}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK} ${PAGE} RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "${PAGE} is not the library's table: ${PROGRAM} > ${PAGE} makes it anew")
endif()
