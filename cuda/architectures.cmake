# What the plugin is compiled for unless XF_CUDA_ARCHITECTURES says: code for each generation of GPUs that the toolkit
# knows, and for the others what their driver can compile: the oldest with the tensor cores' instructions, for a GPU
# between the ones named here (compute capability 11.0 with a toolkit that hasn't heard of it), and the newest.
#
# xf_cuda_architectures(known out): known is what nvcc --list-gpu-arch prints; out gets a list in CMake's notation.
function(xf_cuda_architectures known out)
  set(architectures)
  foreach(number 75 80 86 89 90 100 110 120)
    if("${known}\n" MATCHES "compute_${number}[ \r\n]")
      list(APPEND architectures ${number}-real)
      set(newest ${number})
    endif()
  endforeach()
  foreach(number 80 ${newest})
    if("${architectures}" MATCHES "${number}-real")
      list(APPEND architectures ${number}-virtual)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES architectures)
  set(${out} "${architectures}" PARENT_SCOPE)
endfunction()
