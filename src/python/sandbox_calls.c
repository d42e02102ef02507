/* SPDX-License-Identifier: Apache-2.0 */
/* Which system calls a process in the sandbox has: a filter of seccomp, made of a list. What is not in
 * the list fails with EPERM, so that a function gets an exception and not a signal. Calls that reach
 * other processes (kill, prlimit64, F_SETOWN, SIOCSPGRP) are there for the process itself only. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "python/sandbox.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the sandbox does not know this architecture"
#endif
#define X32_BIT UINT32_C(0x40000000)
#define FILTER_MAX 512

static const int calls[] = {
    /* memory */
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mincore,
    SYS_msync,
    SYS_membarrier,
    SYS_get_mempolicy,
    /* files that are open, or may be read */
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_openat,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getdents64,
    SYS_getcwd,
    SYS_dup,
    SYS_dup3,
    SYS_statfs,
    SYS_fstatfs,
    SYS_fadvise64,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_ppoll,
    SYS_pselect6,
    SYS_umask,
    /* what it is, and what time it is */
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_getsid,
    SYS_uname,
    SYS_sysinfo,
    SYS_times,
    SYS_getrusage,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_getrandom,
    /* threads, signals, sleep */
    SYS_futex,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_sigaltstack,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_restart_syscall,
    SYS_setitimer,
    SYS_getitimer,
    SYS_exit,
    SYS_exit_group,
    /* becoming Python; Landlock says which programs there are */
    SYS_execve,
#ifdef __x86_64__
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_epoll_wait,
    SYS_getpgrp,
    SYS_getrlimit,
    SYS_time,
    SYS_alarm,
    SYS_arch_prctl,
#endif
};

/* Calls of which an argument must have one of these values. */
struct call_if {
    int call;
    unsigned arg;
    uint32_t values[8];
    size_t n;
};

struct filter {
    struct sock_filter v[FILTER_MAX];
    unsigned short n;
};

static void put(struct filter *f, struct sock_filter step)
{
    CW_ASSERT(f->n < FILTER_MAX);
    f->v[f->n++] = step;
}

static void put_load(struct filter *f, size_t offset)
{
    put(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void put_result(struct filter *f, uint32_t result)
{
    put(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, result));
}

/* The next `steps` are gone through if what was loaded is this value. */
static void put_if(struct filter *f, uint32_t value, size_t steps)
{
    put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, (uint8_t)steps));
}

#define DENY (SECCOMP_RET_ERRNO | EPERM)
#define CALL offsetof(struct seccomp_data, nr)
/* The lower half of an argument; all that are looked at have 32 bits. */
#define ARG(i) (offsetof(struct seccomp_data, args) + 8 * (i))

static void put_call_if(struct filter *f, const struct call_if *one)
{
    put_if(f, (uint32_t)one->call, 2 * one->n + 2);
    put_load(f, ARG(one->arg));
    for (size_t i = 0; i < one->n; i++) {
        put_if(f, one->values[i], 1);
        put_result(f, SECCOMP_RET_ALLOW);
    }
    put_result(f, DENY);
}

/* Threads are there, processes are not. glibc asks for clone3, whose flags no filter can see, and takes
 * clone where that does not exist. */
static void put_clone(struct filter *f)
{
    put_if(f, SYS_clone3, 1);
    put_result(f, SECCOMP_RET_ERRNO | ENOSYS);
    put_if(f, SYS_clone, 4);
    put_load(f, ARG(0));
    put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
    put_result(f, SECCOMP_RET_ALLOW);
    put_result(f, DENY);
}

/* Limits are read, and not set: who has the right to raise them would. The new limit is a pointer, of
 * which both halves are looked at. */
static void put_prlimit(struct filter *f, uint32_t self)
{
    put_if(f, SYS_prlimit64, 9);
    put_load(f, ARG(2));
    put_if(f, 0, 6);
    put_load(f, ARG(2) + 4);
    put_if(f, 0, 4);
    put_load(f, ARG(0));
    put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    put_if(f, self, 1);
    put_result(f, SECCOMP_RET_ALLOW);
    put_result(f, DENY);
}

static void make_filter(struct filter *f)
{
    const uint32_t self = (uint32_t)getpid();
    const struct call_if some[] = {
        {SYS_kill, 0, {self}, 1},
        {SYS_tgkill, 0, {self}, 1},
        {SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA */}, 3},
        {SYS_fcntl, 1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL}, 6},
        {SYS_ioctl, 1, {TCGETS, TIOCGWINSZ, FIOCLEX, FIONCLEX, FIONREAD, FIONBIO}, 6},
    };
    put_load(f, offsetof(struct seccomp_data, arch));
    put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    put_result(f, SECCOMP_RET_KILL_PROCESS);
    put_load(f, CALL);
    put(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
    put_result(f, DENY);
    for (size_t i = 0; i < CW_ARRAY_LEN(calls); i++) {
        put_if(f, (uint32_t)calls[i], 1);
        put_result(f, SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(some); i++)
        put_call_if(f, &some[i]);
    put_prlimit(f, self);
    put_clone(f);
    put_result(f, DENY);
}

int cw_sandbox_restrict_calls(struct cw_err *err)
{
    static struct filter filter;
    make_filter(&filter);
    struct sock_fprog program = {filter.n, filter.v};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cw_err_errno(err, errno, "cannot set no_new_privs");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return cw_err_errno(err, errno, "cannot restrict system calls (seccomp)");
    return 0;
}
