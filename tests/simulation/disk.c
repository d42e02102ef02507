/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"
#include "planted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define SECTOR ((size_t)512)
#define SYNC_NS INT64_C(3000000) /* the longest */
#define BLOCK_NS INT64_C(100000)

/* A write or a truncation that is not synced: what was there before it. */
struct undo {
    struct undo *next; /* newest first */
    struct sim_actor *actor;
    uint64_t at, before_bytes; /* the file's length before */
    size_t n;                  /* bytes that were written over or cut off */
    unsigned char old[];
};
struct file {
    struct file *next;
    char *path; /* NULL: unlinked */
    bool is_dir;
    const struct sim_actor *mapped_by; /* last */
    unsigned char **segments;
    size_t segments_n;
    uint64_t bytes, inode;
    struct undo *undo;
    int opens;
    struct descriptor *locked_by;
};
struct descriptor {
    struct descriptor *next;
    struct file *file;
    struct sim_actor *actor;
    int fd, flags;
    uint64_t at;
};
struct disk {
    struct file *files;
    struct descriptor *descriptors;
    int last_fd;
    uint64_t last_inode;
    enum sim_crash next_crash;
    int64_t full_until_ns;
    sim_fn *on_sync;
    void *on_sync_arg;
    struct actor_seen {
        struct actor_seen *next;
        struct sim_actor *actor;
    } * seen;
};

static struct disk *disk(void)
{
    void **slot = sim_slot(SIM_SLOT_DISK);

    if (!*slot)
        *slot = sim_world_alloc(sizeof(struct disk));
    return *slot;
}

static char *copy_text(const char *text)
{
    size_t n = strlen(text) + 1;

    return memcpy(sim_world_alloc(n), text, n);
}

static struct file *find(const char *path)
{
    struct file *file = disk()->files;

    while (file && (!file->path || strcmp(file->path, path) != 0))
        file = file->next;
    return file;
}

static struct file *make(const char *path, bool is_dir)
{
    struct file *file = sim_world_alloc(sizeof(*file));

    file->path = copy_text(path);
    file->is_dir = is_dir;
    file->inode = ++disk()->last_inode;
    file->next = disk()->files;
    disk()->files = file;
    return file;
}

static struct descriptor *descriptor(int fd)
{
    struct descriptor *d = disk()->descriptors;

    while (d && d->fd != fd)
        d = d->next;
    return d && d->actor == sim_self() ? d : NULL;
}

/* ---- contents ---- */
static void reserve(struct file *file, uint64_t bytes)
{
    size_t n = (size_t)((bytes + SIM_SEGMENT - 1) / SIM_SEGMENT);

    if (n <= file->segments_n)
        return;
    unsigned char **segments = sim_world_alloc(n * sizeof(unsigned char *));
    if (file->segments_n > 0)
        memcpy(segments, file->segments, file->segments_n * sizeof(unsigned char *));
    for (size_t i = file->segments_n; i < n; i++)
        segments[i] = sim_world_alloc(SIM_SEGMENT);
    sim_world_free(file->segments);
    file->segments = segments;
    file->segments_n = n;
}

static void get(const struct file *file, uint64_t at, void *p, size_t n)
{
    for (unsigned char *to = p; n > 0;) {
        size_t in = (size_t)(at % SIM_SEGMENT), piece = SIM_SEGMENT - in < n ? SIM_SEGMENT - in : n;
        memcpy(to, file->segments[at / SIM_SEGMENT] + in, piece);
        to += piece;
        at += piece;
        n -= piece;
    }
}

static void put(struct file *file, uint64_t at, const void *p, size_t n)
{
    reserve(file, at + n);
    for (const unsigned char *from = p; n > 0;) {
        size_t in = (size_t)(at % SIM_SEGMENT), piece = SIM_SEGMENT - in < n ? SIM_SEGMENT - in : n;
        memcpy(file->segments[at / SIM_SEGMENT] + in, from, piece);
        from += piece;
        at += piece;
        n -= piece;
    }
}

static void cut(struct file *file, uint64_t bytes)
{
    static const unsigned char zeros[SIM_SEGMENT];

    for (uint64_t at = bytes; at < file->bytes;) {
        size_t in = (size_t)(at % SIM_SEGMENT), n = SIM_SEGMENT - in;
        if (n > file->bytes - at)
            n = (size_t)(file->bytes - at);
        put(file, at, zeros, n);
        at += n;
    }
    reserve(file, bytes);
    file->bytes = bytes;
}

static void remember(struct file *file, uint64_t at, size_t n)
{
    if (file->mapped_by)
        return;
    struct undo *undo = sim_world_alloc(sizeof(*undo) + n);

    undo->actor = sim_self();
    undo->at = at;
    undo->n = n;
    undo->before_bytes = file->bytes;
    reserve(file, at + n);
    get(file, at, undo->old, n);
    undo->next = file->undo;
    file->undo = undo;
}

static void forget(struct file *file)
{
    while (file->undo) {
        struct undo *undo = file->undo;
        file->undo = undo->next;
        sim_world_free(undo);
    }
}

/* The host is gone: each sector of each write that was not synced is there or is not. */
static void lose(struct file *file, const struct sim_actor *actor)
{
    unsigned mode = (unsigned)sim_below(3); /* all of it, each write, each sector */
    size_t n = 0;

    for (const struct undo *undo = file->undo; undo; undo = undo->next)
        n += undo->actor == actor;
    if (file->mapped_by == actor) { /* nobody knows what of it was written */
        cut(file, 0);
        forget(file);
        return;
    }
    if (n == 0)
        return;
    sim_log("%zu writes to %s were not synced: %s", n, file->path ? file->path : "an unlinked file",
            mode == 0   ? "all are lost"
            : mode == 1 ? "some are lost"
                        : "some are torn");
    for (const struct undo *undo = file->undo; undo; undo = undo->next) {
        if (mode == 1 && sim_one_in(2))
            continue;
        for (uint64_t at = undo->at; at < undo->at + undo->n;) {
            uint64_t end = (at / SECTOR + 1) * SECTOR;
            if (end > undo->at + undo->n)
                end = undo->at + undo->n;
            if (mode != 2 || sim_one_in(2))
                put(file, at, undo->old + (at - undo->at), (size_t)(end - at));
            at = end;
        }
        if (mode == 0 && undo->before_bytes < file->bytes)
            cut(file, undo->before_bytes);
        else if (mode == 0)
            file->bytes = undo->before_bytes;
    }
    forget(file);
}

/* ---- descriptors ---- */
static void drop_file(struct file *file)
{
    struct file **at = &disk()->files;

    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    forget(file);
    for (size_t i = 0; i < file->segments_n; i++)
        sim_world_free(file->segments[i]);
    sim_world_free(file->segments);
    sim_world_free(file->path);
    sim_world_free(file);
}

static void close_descriptor(struct descriptor *d)
{
    struct descriptor **at = &disk()->descriptors;
    struct file *file = d->file;

    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    if (file->locked_by == d)
        file->locked_by = NULL;
    if (--file->opens == 0 && !file->path)
        drop_file(file);
    sim_world_free(d);
}

static void on_death(void *arg)
{
    struct sim_actor *actor = arg;
    struct descriptor *next;
    bool host = sim_status(actor) == -1 && disk()->next_crash == SIM_CRASH_HOST;

    for (struct file *file = host ? disk()->files : NULL; file; file = file->next)
        lose(file, actor);
    for (struct descriptor *d = disk()->descriptors; d; d = next) {
        next = d->next;
        if (d->actor == actor)
            close_descriptor(d);
    }
    struct actor_seen **at = &disk()->seen;
    while ((*at)->actor != actor)
        at = &(*at)->next;
    struct actor_seen *seen = *at;
    *at = seen->next;
    sim_world_free(seen);
}

static void see(struct sim_actor *actor)
{
    struct actor_seen *seen = disk()->seen;

    while (seen && seen->actor != actor)
        seen = seen->next;
    if (seen || !actor)
        return;
    seen = sim_world_alloc(sizeof(*seen));
    seen->actor = actor;
    seen->next = disk()->seen;
    disk()->seen = seen;
    sim_on_death(actor, on_death, actor);
}

void sim_disk_on_sync(sim_fn *fn, void *arg)
{
    disk()->on_sync = fn;
    disk()->on_sync_arg = arg;
}

void sim_disk_fill(int64_t until_ns)
{
    disk()->full_until_ns = until_ns;
}

void sim_disk_next_crash(enum sim_crash crash)
{
    disk()->next_crash = crash;
}

size_t sim_disk_unsynced(const struct sim_actor *actor)
{
    size_t n = 0;

    for (const struct file *file = disk()->files; file; file = file->next)
        for (const struct undo *undo = file->undo; undo && !file->mapped_by; undo = undo->next)
            n += undo->actor == actor;
    return n;
}

static void take_time(int64_t most_ns)
{
    sim_sleep_ns(sim_between(1000, most_ns));
}

int sim_disk_open(const char *path, int flags)
{
    struct file *file = find(path);

    see(sim_self());
    if (file && (flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if (!file && !(flags & O_CREAT))
        return -ENOENT;
    if (!file)
        file = make(path, false);
    if (file->is_dir && (flags & O_ACCMODE) != O_RDONLY)
        return -EISDIR;
    if (flags & O_TRUNC)
        cut(file, 0);
    struct descriptor *d = sim_world_alloc(sizeof(*d));
    d->file = file;
    d->actor = sim_self();
    d->flags = flags;
    d->fd = SIM_FD + ++disk()->last_fd;
    d->next = disk()->descriptors;
    disk()->descriptors = d;
    file->opens++;
    return d->fd;
}

int sim_disk_close(int fd)
{
    struct descriptor *d = descriptor(fd);

    if (!d)
        return -EBADF;
    close_descriptor(d);
    return 0;
}

ssize_t sim_disk_pread(int fd, void *p, size_t n, off_t at)
{
    const struct descriptor *d = descriptor(fd);

    if (!d)
        return -EBADF;
    uint64_t from = (uint64_t)at;
    if (from >= d->file->bytes)
        return 0;
    if (n > d->file->bytes - from)
        n = (size_t)(d->file->bytes - from);
    get(d->file, from, p, n);
    return (ssize_t)n;
}

ssize_t sim_disk_pwrite(int fd, const void *p, size_t n, off_t at)
{
    const struct descriptor *d = descriptor(fd);

    if (!d)
        return -EBADF;
    struct file *file = d->file;
    if (sim_one_in(4))
        take_time(BLOCK_NS);
    if ((uint64_t)at + n > file->bytes && sim_now_ns() < disk()->full_until_ns)
        return -ENOSPC;
    remember(file, (uint64_t)at, n);
    put(file, (uint64_t)at, p, n);
    if ((uint64_t)at + n > file->bytes)
        file->bytes = (uint64_t)at + n;
    return (ssize_t)n;
}

void sim_disk_put(const char *path, const char *text)
{
    struct file *before = find(path);
    struct file *file = make(path, false);

    put(file, 0, text, strlen(text));
    file->bytes = strlen(text);
    if (before) /* who has it open goes on reading it */
        before->path = NULL;
}

ssize_t sim_disk_read(int fd, void *p, size_t n)
{
    struct descriptor *d = descriptor(fd);
    ssize_t got = sim_disk_pread(fd, p, n, d ? (off_t)d->at : 0);

    if (got > 0)
        d->at += (uint64_t)got;
    return got;
}

ssize_t sim_disk_write(int fd, const void *p, size_t n)
{
    struct descriptor *d = descriptor(fd);
    ssize_t got = sim_disk_pwrite(fd, p, n, d ? (off_t)d->at : 0);

    if (got > 0)
        d->at += (uint64_t)got;
    return got;
}

int sim_disk_truncate(int fd, off_t bytes)
{
    const struct descriptor *d = descriptor(fd);

    if (!d)
        return -EBADF;
    struct file *file = d->file;
    uint64_t new = (uint64_t)bytes;
    remember(file, new, file->bytes > new ? (size_t)(file->bytes - new) : 0);
    cut(file, new);
    return 0;
}

int sim_disk_sync(int fd)
{
    const struct descriptor *d = descriptor(fd);

    if (!d)
        return -EBADF;
    struct file *file = d->file;
    file->opens++; /* it may be closed meanwhile */
    if (disk()->on_sync)
        disk()->on_sync(disk()->on_sync_arg);
    take_time(SYNC_NS);
    file->opens--;
    if (sim_planted() != SIM_PLANTED_SYNC)
        forget(file);
    return 0;
}

int sim_disk_lock(int fd, int operation)
{
    struct descriptor *d = descriptor(fd);

    if (!d)
        return -EBADF;
    struct file *file = d->file;
    if (operation & LOCK_UN) {
        if (file->locked_by == d)
            file->locked_by = NULL;
        return 0;
    }
    bool is_lost = file->locked_by && sim_planted() == SIM_PLANTED_FENCE &&
                   sim_is_stopped(file->locked_by->actor);
    if (file->locked_by && file->locked_by != d && !is_lost)
        return -EWOULDBLOCK;
    file->locked_by = d;
    return 0;
}

static int tell(const struct file *file, struct stat *ret)
{
    *ret = (struct stat){.st_mode = file->is_dir ? S_IFDIR | 0700 : S_IFREG | 0600,
                         .st_size = (off_t)file->bytes,
                         .st_ino = (ino_t)file->inode,
                         .st_dev = 1,
                         .st_nlink = file->path ? 1 : 0,
                         .st_blksize = 4096};
    return 0;
}

int sim_disk_stat(const char *path, struct stat *ret)
{
    const struct file *file = find(path);

    return file ? tell(file, ret) : -ENOENT;
}

int sim_disk_fstat(int fd, struct stat *ret)
{
    const struct descriptor *d = descriptor(fd);

    return d ? tell(d->file, ret) : -EBADF;
}

int sim_disk_unlink(const char *path)
{
    struct file *file = find(path);

    if (!file)
        return -ENOENT;
    if (file->opens == 0) {
        drop_file(file);
        return 0;
    }
    sim_world_free(file->path);
    file->path = NULL;
    return 0;
}

int sim_disk_mkdir(const char *path)
{
    if (find(path))
        return -EEXIST;
    make(path, true);
    return 0;
}

/* What is left of a path below a folder, if it is an entry of it; else NULL. */
static const char *entry_of(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    if (!path || strncmp(path, dir, n) != 0 || path[n] != '/' || strchr(path + n + 1, '/'))
        return NULL;
    return path + n + 1;
}

int sim_disk_entry(const char *path, size_t n, char *ret_name, size_t cap)
{
    for (const struct file *file = disk()->files; file; file = file->next) {
        const char *name = entry_of(file->path, path);
        if (!name || n-- > 0)
            continue;
        if (strlen(name) >= cap)
            sim_fail("the name of %s is too long", file->path);
        memcpy(ret_name, name, strlen(name) + 1);
        return 0;
    }
    return -ENOENT;
}

int sim_disk_rmdir(const char *path)
{
    char name[256];

    if (sim_disk_entry(path, 0, name, sizeof(name)) == 0)
        return -ENOTEMPTY;
    return sim_disk_unlink(path);
}

int sim_disk_rename(const char *from, const char *to)
{
    struct file *file = find(from);

    if (!file)
        return -ENOENT;
    (void)sim_disk_unlink(to);
    sim_world_free(file->path);
    file->path = copy_text(to);
    return 0;
}

static bool is_shared_memory(const char *path)
{
    static const char suffix[] = "-shm";
    size_t n = path ? strlen(path) : 0;

    return n >= sizeof(suffix) && strcmp(path + n - (sizeof(suffix) - 1), suffix) == 0;
}

void *sim_disk_map(int fd, size_t bytes, off_t at)
{
    const struct descriptor *d = descriptor(fd);

    /* Others are read and written: what is mapped cannot be told to be synced. */
    if (!d || !is_shared_memory(d->file->path) || bytes > SIM_SEGMENT ||
        (uint64_t)at % SIM_SEGMENT != 0)
        return NULL;
    reserve(d->file, (uint64_t)at + SIM_SEGMENT);
    d->file->mapped_by = d->actor;
    forget(d->file);
    return d->file->segments[(uint64_t)at / SIM_SEGMENT];
}
