# The files of the CUDA backend, in cuda/. tests/cuda_host compiles them for the emulation, with its own gemm().
set(XF_CUDA_SOURCES
  adam.cu
  add_norm.cu
  add_norm_bwd.cu
  attention.cu
  attention_bwd.cu
  attention_step.cu
  beam_step.cu
  embed.cu
  gemm_plain.cu
  graph.cu
  linear.cu
  loss.cu
  memory.cu
  plugin.cu
  top_k.cu)
# Matrix products by cuBLASLt.
set(XF_CUDA_LIBRARY_SOURCES
  cublaslt.cu
  gemm_choice.cu
  gemm_cublaslt.cu)
