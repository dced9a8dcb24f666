# Tests the architectures that cuda/architectures.cmake selects: cmake -P architectures.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../../cuda/architectures.cmake)

function(expect known wanted)
  string(REPLACE " " "\ncompute_" lines "compute_${known}")
  xf_cuda_architectures("${lines}" found)
  if(NOT "${found}" STREQUAL "${wanted}")
    message(SEND_ERROR "a toolkit that knows ${known}: ${found}, expected ${wanted}")
  endif()
endfunction()

# As nvcc of CUDA 12.0, 12.8 and 13.0 print them.
expect("50 52 53 60 61 62 70 72 75 80 86 87 89 90" "75-real;80-real;86-real;89-real;90-real;80-virtual;90-virtual")
expect("50 52 53 60 61 62 70 72 75 80 86 87 89 90 100 101 120"
  "75-real;80-real;86-real;89-real;90-real;100-real;120-real;80-virtual;120-virtual")
expect("75 80 86 87 88 89 90 100 110 103 120 121"
  "75-real;80-real;86-real;89-real;90-real;100-real;110-real;120-real;80-virtual;120-virtual")
expect("75 80" "75-real;80-real;80-virtual")
