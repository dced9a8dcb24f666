# The files of the CUDA backend, in cuda/: every one of the folder. tests/cuda_host compiles them for the emulation, with
# its own gemm() in place of these, which are matrix products by cuBLASLt.
set(XF_CUDA_LIBRARY_SOURCES
  cublaslt.cu
  gemm_choice.cu
  gemm_cublaslt.cu)
file(GLOB XF_CUDA_SOURCES RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cu)
list(REMOVE_ITEM XF_CUDA_SOURCES ${XF_CUDA_LIBRARY_SOURCES})
