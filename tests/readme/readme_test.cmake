# The C program shown in the README is the one that is compiled: examples/first/first.c.
file(READ ${ROOT}/README.md readme)
file(READ ${ROOT}/examples/first/first.c program)
string(FIND "${readme}" "```c\n${program}```" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/first/first.c as it is")
endif()

# No page waits for something to be filled in.
file(GLOB_RECURSE pages ${ROOT}/*.md)
list(FILTER pages EXCLUDE REGEX "^${ROOT}/build")
foreach(page ${pages})
  file(READ ${page} text)
  if(text MATCHES "@[A-Z]+@")
    message(SEND_ERROR "${page} has a place that was not filled: ${CMAKE_MATCH_0}")
  endif()
endforeach()
