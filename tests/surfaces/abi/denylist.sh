#!/bin/sh
# Checks that the library calls no function that ends the process, prints, or changes global state.
#
#   denylist.sh LIBRARY core [OBJECT...]       libxformer.so, and its objects, because atexit is linked statically into each library that calls it
#   denylist.sh PLUGIN openblas|cuda OBJECT... a plugin: its own objects, and the complete file, which includes code of other libraries
#
# SPDX-License-Identifier: Apache-2.0
set -eu
library=$1
kind=$2
shift 2

# Extended regular expressions that match whole names. __x_chk is the variant of x with _FORTIFY_SOURCE.
denied='
# ends the process, or registers code for its end
_?exit|_Exit|quick_exit|abort|raise|t?g?kill|pthread_kill|pthread_exit|pthread_cancel|__assert(_fail|_perror_fail)?
atexit|on_exit|(__cxa_)?at_quick_exit|pthread_atfork|__register_atfork|__stack_smash_handler|error(_at_line)?|v?errx?
# prints, or uses the standard streams
(__)?v?f?w?printf(_chk)?|(__)?v?dprintf(_chk)?|f?puts|f?putw?c(har)?|fwrite|putw|perror|psignal|psiginfo|v?warnx?
(open|close|v)?syslog|__v?syslog_chk|std(out|err|in)|_ZSt4c(out|err|log|in)|_ZSt5wc(out|err)|gets|getchar|scanf|vscanf
freopen|setv?buf(fer)?|setlinebuf|dup[23]?
_ZNSt8ios_base4InitC[12]Ev
# signals and their handlers
(bsd_|__sysv_)?signal|sigaction|sigset|sigvec|ssignal|sigaltstack|sigsuspend|siginterrupt|sigprocmask|sigignore|sighold
(sig)?setjmp|_setjmp|__sigsetjmp|(sig)?longjmp|_longjmp|____?longjmp_chk|__longjmp_chk|alarm|u?alarm|setitimer|timer_create
_ZSt13set_terminatePFvvE|_ZSt14set_unexpectedPFvvE|_ZSt15set_new_handlerPFvvE
# the locale, and functions that depend on it
setlocale|uselocale|newlocale|duplocale|freelocale|localeconv|nl_langinfo(_l)?|_ZNSt6locale.*
(__isoc(99|23)_)?(vf|vs|f|s|v)?scanf|(__isoc23_)?strto(d|f|ld)(_l)?|wcsto(d|f|ld)|atof|strfmon|strftime|strptime
__ctype_(b|tolower|toupper)_loc|(to|is)(lower|upper|alpha|digit|alnum|space|print|punct)|tow(lower|upper)|strcoll|strxfrm
(mb|wc)s?r?tow?cs?|mbr?towc|wcr?tomb|mbsr?towcs|wcsr?tombs|btowc|wctob|strcasecmp|(__xpg_)?strerror(_r|_l)?|strsignal|iconv_open
# the environment
(un)?setenv|putenv|clearenv|getenv|tzset
# shared state: random numbers, static buffers
s?rand(_r)?|s?random(_r)?|initstate|setstate|[dlm]rand48|[ejn]rand48|s(rand|eed)48|lcong48
strtok|localtime|gmtime|ctime|asctime|tmpnam|tempnam|mktemp|getpwnam|getpwuid|gethostbyname|dlclose
# processes, and properties of the process
system|popen|exec[lv][pe]*|execvpe|fexecve|v?fork|clone[23]?|posix_spawnp?|daemon|wait(pid|id|[34])?|ptrace|setsid
umask|f?chdir|chroot|set(res|re|e|fs)?[ug]id|setgroups|nice|setpriority|setr?limit|setrlimit64|prlimit(64)?|prctl|mlockall
sched_set(affinity|scheduler|param)|pthread_setaffinity_np|mallopt|malloc_trim|mtrace|personality
# the floating-point state of the caller
fesetround|fesetenv|fesetexceptflag|fe(en|dis)ableexcept|feholdexcept|feupdateenv|feraiseexcept
# the network, and file mappings, which fail if the file shrinks
socket|connect|bind|listen|getaddrinfo|mmap64
'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "$denied" | sed '/^#/d; /^$/d; s/.*/: (&)$/' >"$work/denied"

# Calls of third-party code in a plugin that are allowed, and the reasons. OpenBLAS has none: cpu/openblas/confine.cpp.
# Calls of nvcc in the plugin's objects:
#   atexit        registers and unregisters the code of the GPU; the plugin is never unloaded
#   exit          the host's body of a function that only the GPU runs; nothing on the host calls it
# Calls of NVIDIA's runtime, a static archive that cannot be divided (objdump -dr of that of CUDA 13.0):
#   getenv        CUDA's variables, when a device is first opened; NVIDIA documents them, and its driver reads more
#   dlclose       the driver's library, which the runtime itself has opened
#   setenv, kill, pthread_kill, fwrite, fscanf, sscanf, socket, bind, connect, listen
#                 a layer over the operating system that NVIDIA's products share; no call and no address of these parts
#                 is anywhere in the archive, and no symbol of it is visible to others
expected= ours=
case $kind in
    core | openblas) ;;
    cuda)
        ours='atexit|exit'
        expected="$ours|getenv|dlclose|setenv|kill|pthread_kill|fwrite|fscanf|sscanf|socket|bind|connect|listen"
        ;;
    *) echo "denylist.sh: found '$kind', expected core, openblas, or cuda"; exit 2 ;;
esac

# look EXPECTED NM-OPTION FILE...: prints "FILE: NAME" for each denied name that is not expected.
look() {
    expected=$1
    shift
    nm -A --undefined-only "$@" | awk '{ sub(/@.*/, "", $NF); sub(/:.*/, ":", $1); print $1, $NF }' >"$work/names"
    cat "$work/names" >>"$work/all"
    grep -E -f "$work/denied" "$work/names" | grep -vE -e ": (${expected:-nothing})\$" >>"$work/bad" || true
}
: >"$work/all"
: >"$work/bad"
look "$expected" -D "$library"
if [ $# -gt 0 ]; then look "$ours" "$@"; fi

looked=$(wc -l <"$work/all")
[ "$looked" -ge 20 ] || { echo "nm found only $looked names in $library and its objects"; exit 1; }
echo "$(wc -l <"$work/denied") lines of denied names, $looked names are used"
if [ -s "$work/bad" ]; then
    echo 'These are denied:'
    sort -u "$work/bad"
    exit 1
fi
