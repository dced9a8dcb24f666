# The default of XF_CUDA_ARCHITECTURES: native code for each GPU generation that the toolkit supports, and code that the
# driver can compile for all others. The latter exists twice: for the oldest generation whose tensor cores are used,
# which serves GPUs between the listed ones (compute capability 11.0 with a toolkit that does not support it), and for
# the newest.
#
# xf_cuda_architectures(known out): known is the output of nvcc --list-gpu-arch; out receives a list in CMake's
# notation.
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
