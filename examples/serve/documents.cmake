# The parts of the server that do not use libxformer: serve_markup (documents), and serve_documents (documents and
# language detection), if CLD2 is found. The tests include this file if the examples are not built.
set(here ${CMAKE_CURRENT_LIST_DIR})
if(NOT TARGET serve_markup)
  add_library(serve_markup STATIC ${here}/html_elements.cpp ${here}/html_entities.cpp ${here}/html_tokens.cpp
    ${here}/inline_render.cpp ${here}/inline_text.cpp ${here}/markup.cpp ${here}/subtitles.cpp
    ${here}/tagged_document.cpp ${here}/word_units.cpp)
  target_include_directories(serve_markup PUBLIC ${here})
  target_compile_features(serve_markup PUBLIC cxx_std_20)
  target_link_libraries(serve_markup PUBLIC xformer_flags $<TARGET_NAME_IF_EXISTS:xformer_fuzz_flags>)
endif()

find_library(CLD2_LIBRARY cld2)
find_path(CLD2_INCLUDE_DIR cld2/public/compact_lang_det.h)
if(CLD2_LIBRARY AND CLD2_INCLUDE_DIR AND NOT TARGET serve_documents)
  add_library(serve_documents STATIC ${here}/detect.cpp)
  target_include_directories(serve_documents SYSTEM PRIVATE ${CLD2_INCLUDE_DIR})
  target_link_libraries(serve_documents PUBLIC serve_markup ${CLD2_LIBRARY})
endif()
