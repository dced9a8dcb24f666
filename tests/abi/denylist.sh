#!/bin/sh
# What a library in someone else's process never calls: ending it, printing, its signals, locale, environment, random
# numbers, working folder, children, its floating-point state through libm, and numbers read by the locale.
#
#   denylist.sh LIBRARY
#
# SPDX-License-Identifier: Apache-2.0
set -eu
denied='exit _exit _Exit quick_exit abort raise kill tgkill atexit on_exit at_quick_exit __assert_fail __assert
printf vprintf fprintf vfprintf puts putchar fputs fputc fwrite perror psignal warn warnx err errx syslog stdout stderr stdin
__printf_chk __vprintf_chk __fprintf_chk __vfprintf_chk dprintf vdprintf __dprintf_chk
_ZSt4cout _ZSt4cerr _ZSt4clog _ZSt3cin _ZSt13set_terminatePFvvE _ZSt14set_unexpectedPFvvE _ZSt15set_new_handlerPFvvE
signal sigaction sigset sigaltstack sigsuspend bsd_signal __sysv_signal setjmp longjmp __longjmp_chk siglongjmp
setlocale uselocale newlocale nl_langinfo strtod strtof strtold atof sscanf __isoc99_sscanf scanf fscanf
setenv unsetenv putenv clearenv getenv
srand rand rand_r random srandom drand48 lrand48 srand48
system popen execve execv execvp execl execlp fork vfork clone posix_spawn daemon wait waitpid
umask chdir fchdir chroot setuid setgid nice setrlimit prctl setpriority sched_setaffinity
fesetround fesetenv feenableexcept fedisableexcept feholdexcept feupdateenv
dlclose gets strtok localtime gmtime ctime asctime tmpnam mktemp strerror mmap64 mmap'
names=$(nm -D --undefined-only "$1" | awk '{ sub(/@.*/, "", $2); print $2 }')
[ "$(echo "$names" | wc -l)" -ge 20 ] || { echo "nm found nothing in $1"; exit 1; }
failed=0
for name in $denied; do
    if echo "$names" | grep -qx -e "$name"; then
        echo "$1 calls $name"
        failed=1
    fi
done
echo "$(echo "$denied" | wc -w) names are denied, $(echo "$names" | wc -l) are used"
exit $failed
