/* SPDX-License-Identifier: Apache-2.0 */
/* Disks: files that outlive actors, by path, for all actors alike. What an actor wrote and did not
 * sync may be lost, or be there in part, when it is killed and its host with it. Functions are
 * those of the system, with its errno in place of -1; calls that wait for the disk wait in virtual
 * time. Descriptors begin at SIM_FD. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include <sys/types.h>
#include <sys/stat.h>

#include "sim.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define SIM_FD 1000000

int sim_disk_open(const char *path, int flags); /* descriptor, or -errno; so all here */
int sim_disk_close(int fd);
ssize_t sim_disk_pread(int fd, void *p, size_t n, off_t at);
ssize_t sim_disk_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t sim_disk_read(int fd, void *p, size_t n); /* at the descriptor's place */
ssize_t sim_disk_write(int fd, const void *p, size_t n);
int sim_disk_truncate(int fd, off_t bytes);
int sim_disk_sync(int fd);
int sim_disk_lock(int fd, int operation); /* flock */
int sim_disk_stat(const char *path, struct stat *ret);
int sim_disk_fstat(int fd, struct stat *ret);
int sim_disk_unlink(const char *path);
int sim_disk_mkdir(const char *path);
int sim_disk_rmdir(const char *path);
/* The name of the n-th entry of a folder; -ENOENT: it has no more. */
int sim_disk_entry(const char *path, size_t n, char *ret_name, size_t cap);
int sim_disk_rename(const char *from, const char *to);
/* Memory that is the file's, of at most SIM_SEGMENT bytes from a multiple of it. NULL: cannot. */
#define SIM_SEGMENT ((size_t)32768)
void *sim_disk_map(int fd, size_t bytes, off_t at);

/* A file that somebody else writes, whole and synced, at once; in place of what was there. */
void sim_disk_put(const char *path, const char *text);

/* Until that time there is no room for more on it. */
void sim_disk_fill(int64_t until_ns);

/* What happens to what is not synced when an actor is killed: its process only (nothing), or its
 * host (lost). */
enum sim_crash { SIM_CRASH_PROCESS, SIM_CRASH_HOST };
/* fn(arg) is called when an actor begins to sync, in its context. */
void sim_disk_on_sync(sim_fn *fn, void *arg);
void sim_disk_next_crash(enum sim_crash crash);
/* Writes that are not synced, of an actor. */
size_t sim_disk_unsynced(const struct sim_actor *actor);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
