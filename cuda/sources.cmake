# All source files of the CUDA backend. tests/harness/cuda_host compiles them for the emulation, with its own gemm() in place of
# the following files, which use cuBLASLt.
set(XF_CUDA_LIBRARY_SOURCES
  cublaslt.cu
  gemm_choice.cu
  gemm_cublaslt.cu)
file(GLOB XF_CUDA_SOURCES RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
list(REMOVE_ITEM XF_CUDA_SOURCES ${XF_CUDA_LIBRARY_SOURCES})

# With XF_UNITY several files are compiled as one, because half of the compile time of a file is spent on CUDA's
# headers. Within a group the names in anonymous namespaces must differ. Files that are not listed here are compiled
# separately, because tests use single objects of them.
if(XF_UNITY)
  set(groups "activation attention caller linear" "adam attention_bwd graph" "add_norm attention_step memory"
    "add_norm_bwd beam_step" "embed top_k" "shards plugin")
  foreach(group IN LISTS groups)
    string(REPLACE " " "_" name "${group}")
    string(REPLACE " " ";" group "${group}")
    set(text "")
    foreach(file IN LISTS group)
      list(REMOVE_ITEM XF_CUDA_SOURCES ${file}.cu)
      string(APPEND text "#include \"${CMAKE_CURRENT_LIST_DIR}/${file}.cu\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cu CONTENT "${text}")
    list(APPEND XF_CUDA_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/${name}.cu)
  endforeach()
endif()
