# The C program shown in the README is the one that is compiled: examples/first/first.c.
file(READ ${ROOT}/README.md readme)
file(READ ${ROOT}/examples/first/first.c program)
string(FIND "${readme}" "```c\n${program}```" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/first/first.c as it is")
endif()
