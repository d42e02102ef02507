/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that the product and the libraries inside an actor's program make: on the
 * simulated disk, with the actor's identity and the world's chance. What is not here and would
 * leave the simulation is refused. Hidden in each program, so the executable keeps the real ones. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "disk.h"
#include "sim.h"
#include "system.h"

#define WALL_NS INT64_C(1700000000000000000) /* as in base/clock.c */
#define TEXT_BYTES 4096
#define ANONYMOUS_MAX 16

/* What static libraries have in place of the C library's, whose data cannot be shared. */
FILE *sim_stdin, *sim_stdout, *sim_stderr;
static _Thread_local volatile char touched; /* volatile: else the write is left out */

void sim_system_init(void)
{
    sim_stdin = stdin;
    sim_stdout = stdout;
    sim_stderr = stderr;
}

/* The C library makes a module's thread-local memory when it is first used: not as an actor's. */
__attribute__((visibility("default"))) void sim_program_touch(void)
{
    touched = 1;
}

static int result(int rc)
{
    if (rc >= 0)
        return rc;
    errno = -rc;
    return -1;
}

static ssize_t length(ssize_t n)
{
    if (n >= 0)
        return n;
    errno = (int)-n;
    return -1;
}

/* ---- the process ---- */
void _exit(int status)
{
    sim_exit(status);
    for (;;)
        ;
}
void exit(int status)
{
    _exit(status);
}
void abort(void)
{
    sim_fail("%s aborted", sim_name(sim_self()));
}
pid_t getpid(void)
{
    return (pid_t)(1000 + sim_actor_id(sim_self()));
}
pid_t getppid(void)
{
    return 1;
}
int kill(pid_t pid, int signum)
{
    if (pid != getpid())
        return result(-ESRCH);
    if (signum == SIGKILL)
        sim_kill(sim_self());
    sim_signal(sim_self(), signum);
    return 0;
}
int raise(int signum)
{
    return kill(getpid(), signum);
}
int gethostname(char *name, size_t n)
{
    snprintf(name, n, "%s", sim_host(sim_self()));
    return 0;
}
char *getenv(const char *name)
{
    /* Few worlds do without the messages for debugging, and fewer with as few as can be. */
    static char debug[] = "debug", info[] = "info", error[] = "error";
    uint64_t level = (sim_seed() * 0x9e3779b97f4a7c15u >> 32) % 16;

    if (strcmp(name, "CACHEW_LOG") != 0)
        return NULL;
    return level == 0 ? error : level == 1 ? info : debug;
}
int sigaction(int signum, const struct sigaction *act, struct sigaction *old)
{
    (void)signum, (void)act;
    if (old)
        memset(old, 0, sizeof(*old));
    return 0;
}
__sighandler_t signal(int signum, __sighandler_t handler)
{
    (void)signum, (void)handler;
    return SIG_DFL;
}
int setpriority(__priority_which_t which, id_t who, int value)
{
    (void)which, (void)who, (void)value;
    return 0;
}
int setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
    (void)what, (void)limit;
    return 0;
}
int getrlimit(__rlimit_resource_t what, struct rlimit *limit)
{
    (void)what;
    limit->rlim_cur = limit->rlim_max = 65536;
    return 0;
}
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    (void)pid;
    memset(set, 0, bytes);
    CPU_SET(0, set);
    CPU_SET(1, set);
    return 0;
}
long sysconf(int name)
{
    switch (name) {
    case _SC_PAGESIZE:
        return 4096;
    case _SC_NPROCESSORS_ONLN:
    case _SC_NPROCESSORS_CONF:
        return 2;
    default:
        errno = EINVAL;
        return -1;
    }
}
ssize_t getrandom(void *p, size_t n, unsigned flags)
{
    unsigned char *to = p;

    (void)flags;
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)sim_random();
    return (ssize_t)n;
}
int malloc_trim(size_t n)
{
    (void)n;
    return 0;
}
int mallopt(int what, int value)
{
    (void)what, (void)value;
    return 1;
}
int madvise(void *p, size_t n, int advice)
{
    (void)p, (void)n, (void)advice;
    return 0;
}

/* ---- time ---- */
static int64_t wall_ns(void)
{
    return WALL_NS + sim_now_ns();
}
time_t time(time_t *ret)
{
    time_t now = (time_t)(wall_ns() / 1000000000);

    if (ret)
        *ret = now;
    return now;
}
int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    int64_t now = wall_ns();

    (void)zone;
    *ret = (struct timeval){.tv_sec = (time_t)(now / 1000000000),
                            .tv_usec = (suseconds_t)(now % 1000000000 / 1000)};
    return 0;
}
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int64_t now = clock == CLOCK_REALTIME ? wall_ns() : sim_now_ns();

    *ret = (struct timespec){.tv_sec = (time_t)(now / 1000000000),
                             .tv_nsec = (long)(now % 1000000000)};
    return 0;
}
int usleep(useconds_t us)
{
    sim_sleep_ns((int64_t)us * 1000);
    return 0;
}
unsigned sleep(unsigned s)
{
    sim_sleep_ns((int64_t)s * 1000000000);
    return 0;
}
int sched_yield(void)
{
    sim_yield();
    return 0;
}

/* ---- files ---- */
int open(const char *path, int flags, ...)
{
    return result(sim_disk_open(path, flags));
}
int open64(const char *path, int flags, ...)
{
    return result(sim_disk_open(path, flags));
}
int openat(int at, const char *path, int flags, ...)
{
    (void)at, (void)path, (void)flags;
    return result(-ENOSYS);
}
int close(int fd)
{
    return result(sim_disk_close(fd));
}
ssize_t read(int fd, void *p, size_t n)
{
    return length(sim_disk_read(fd, p, n));
}
ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    return length(sim_disk_pread(fd, p, n, at));
}
ssize_t pread64(int fd, void *p, size_t n, off_t at)
{
    return length(sim_disk_pread(fd, p, n, at));
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return length(sim_disk_pwrite(fd, p, n, at));
}
ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
    return length(sim_disk_pwrite(fd, p, n, at));
}
ssize_t write(int fd, const void *p, size_t n)
{
    if (fd != STDERR_FILENO && fd != STDOUT_FILENO)
        return length(sim_disk_write(fd, p, n));
    sim_log("%.*s", (int)n, (const char *)p);
    return (ssize_t)n;
}
/* Shared memory between processes is not simulated: outputs lie in the actor's own memory. */
int memfd_create(const char *name, unsigned flags)
{
    (void)name;
    (void)flags;
    errno = ENOSYS;
    return -1;
}
int ftruncate(int fd, off_t bytes)
{
    return result(sim_disk_truncate(fd, bytes));
}
int ftruncate64(int fd, off_t bytes)
{
    return result(sim_disk_truncate(fd, bytes));
}
int fsync(int fd)
{
    return result(sim_disk_sync(fd));
}
int fdatasync(int fd)
{
    return result(sim_disk_sync(fd));
}
int flock(int fd, int operation)
{
    return result(sim_disk_lock(fd, operation));
}
int stat(const char *restrict path, struct stat *restrict ret)
{
    return result(sim_disk_stat(path, ret));
}
int lstat(const char *restrict path, struct stat *restrict ret)
{
    return result(sim_disk_stat(path, ret));
}
int fstat(int fd, struct stat *ret)
{
    return result(sim_disk_fstat(fd, ret));
}
int stat64(const char *restrict path, struct stat64 *restrict ret)
{
    return result(sim_disk_stat(path, (struct stat *)(void *)ret));
}
int lstat64(const char *restrict path, struct stat64 *restrict ret)
{
    return result(sim_disk_stat(path, (struct stat *)(void *)ret));
}
int fstat64(int fd, struct stat64 *ret)
{
    return result(sim_disk_fstat(fd, (struct stat *)(void *)ret));
}
int access(const char *path, int mode)
{
    struct stat st;

    (void)mode;
    return result(sim_disk_stat(path, &st));
}
int unlink(const char *path)
{
    return result(sim_disk_unlink(path));
}
int mkdir(const char *path, mode_t mode)
{
    (void)mode;
    return result(sim_disk_mkdir(path));
}
int rmdir(const char *path)
{
    return result(sim_disk_rmdir(path));
}
/* Entries are found by their place: whoever reads a folder to its end does not wait meanwhile. */
struct sim_folder {
    char path[256];
    size_t at;
    struct dirent entry;
};
DIR *opendir(const char *path)
{
    struct stat st;
    struct sim_folder *folder = NULL;

    if (result(sim_disk_stat(path, &st)) < 0)
        return NULL;
    folder = calloc(1, sizeof(*folder));
    if (!folder || strlen(path) >= sizeof(folder->path))
        abort();
    memcpy(folder->path, path, strlen(path) + 1);
    return (DIR *)(void *)folder;
}
struct dirent *readdir(DIR *dir)
{
    struct sim_folder *folder = (struct sim_folder *)(void *)dir;
    char *name = folder->entry.d_name;

    if (sim_disk_entry(folder->path, folder->at++, name, sizeof(folder->entry.d_name)) != 0)
        return NULL;
    return &folder->entry;
}
int closedir(DIR *dir)
{
    free(dir);
    return 0;
}
int statfs(const char *path, struct statfs *ret)
{
    struct stat st;

    *ret = (struct statfs){.f_type = 0xef53}; /* ext4 */
    return result(sim_disk_stat(path, &st));
}
int rename(const char *from, const char *to)
{
    return result(sim_disk_rename(from, to));
}
int fchmod(int fd, mode_t mode)
{
    (void)fd, (void)mode;
    return 0;
}
int fchown(int fd, uid_t uid, gid_t gid)
{
    (void)fd, (void)uid, (void)gid;
    return 0;
}
uid_t geteuid(void)
{
    return 1;
}
ssize_t readlink(const char *restrict path, char *restrict text, size_t n)
{
    (void)path, (void)text, (void)n;
    return length(-EINVAL);
}
/* SQLite's locks between connections are in its own memory; between processes there are none, the
 * lock file has seen to that. */
static int control(int fd, int command, void *arg)
{
    if (command == F_GETLK)
        ((struct flock *)arg)->l_type = F_UNLCK;
    (void)fd;
    return 0;
}
int fcntl(int fd, int command, ...)
{
    va_list args;

    va_start(args, command);
    void *arg = command == F_GETLK ? va_arg(args, void *) : NULL;
    va_end(args);
    return control(fd, command, arg);
}
int fcntl64(int fd, int command, ...)
{
    va_list args;

    va_start(args, command);
    void *arg = command == F_GETLK ? va_arg(args, void *) : NULL;
    va_end(args);
    return control(fd, command, arg);
}
/* Memory that no file is behind is the actor's, from the allocator. */
static void *anonymous[ANONYMOUS_MAX];

static void *map_anonymous(size_t bytes)
{
    size_t i = 0;

    while (i < ANONYMOUS_MAX && anonymous[i])
        i++;
    if (i == ANONYMOUS_MAX)
        sim_fail("more than %d mappings", ANONYMOUS_MAX);
    anonymous[i] = calloc(1, bytes);
    return anonymous[i];
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *p = fd < 0 ? map_anonymous(bytes) : sim_disk_map(fd, bytes, offset);

    (void)at, (void)protection, (void)flags;
    if (p)
        return p;
    errno = ENODEV;
    return MAP_FAILED;
}
void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return mmap(at, bytes, protection, flags, fd, offset);
}
int munmap(void *p, size_t bytes)
{
    (void)bytes;
    for (size_t i = 0; i < ANONYMOUS_MAX; i++) {
        if (anonymous[i] == p) {
            free(p);
            anonymous[i] = NULL;
        }
    }
    return 0;
}

/* ---- what is printed ---- */
__attribute__((format(printf, 1, 0))) static int say(const char *fmt, va_list args)
{
    char text[TEXT_BYTES];
    int n = vsnprintf(text, sizeof(text), fmt, args);

    sim_log("%s", text);
    return n;
}
int printf(const char *restrict fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = say(fmt, args);
    va_end(args);
    return n;
}
int fprintf(FILE *restrict file, const char *restrict fmt, ...)
{
    va_list args;

    (void)file;
    va_start(args, fmt);
    int n = say(fmt, args);
    va_end(args);
    return n;
}
int puts(const char *text)
{
    sim_log("%s", text);
    return 0;
}
int fputs(const char *restrict text, FILE *restrict file)
{
    (void)file;
    sim_log("%s", text);
    return 0;
}
size_t fwrite(const void *restrict p, size_t size, size_t n, FILE *restrict file)
{
    (void)file;
    sim_log("%.*s", (int)(size * n), (const char *)p);
    return n;
}
int fflush(FILE *file)
{
    (void)file;
    return 0;
}
FILE *fopen(const char *restrict path, const char *restrict mode)
{
    (void)path, (void)mode;
    errno = ENOENT;
    return NULL;
}
