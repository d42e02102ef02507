/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"

#define RANGES_MAX 4

/* Writable memory of a copy, and what was in it when it was loaded. */
struct range {
    unsigned char *at, *image;
    size_t bytes;
};
struct copy {
    struct copy *next;
    struct sim_program *program;
    void *handle;
    bool is_used;
    const struct sim_actor *actor; /* that uses it */
    struct range ranges[RANGES_MAX];
    size_t ranges_n;
};
struct sim_program {
    struct sim_program *next;
    const char *path;
    struct copy *copies;
};

static struct sim_program *programs;

static void die(const char *what, const char *path)
{
    const char *why = dlerror();

    fprintf(stderr, "simulation: %s %s: %s\n", what, path, why ? why : strerror(errno));
    exit(2);
}

/* Word by word, past the sanitizer: there are its red zones in it. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address"), noinline))
#endif
static void
copy_words(unsigned char *to, const unsigned char *from, size_t bytes)
{
    volatile uint64_t *t = (volatile uint64_t *)(void *)to;
    const volatile uint64_t *f = (const volatile uint64_t *)(const void *)from;

    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        t[i] = f[i];
    for (size_t i = bytes & ~(sizeof(uint64_t) - 1); i < bytes; i++)
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

static void add_range(struct copy *copy, uintptr_t at, uintptr_t end)
{
    if (at >= end)
        return;
    if (copy->ranges_n == RANGES_MAX)
        die("too many ranges in", copy->program->path);
    struct range *range = &copy->ranges[copy->ranges_n++];
    range->at = (unsigned char *)at;
    range->bytes = end - at;
    range->image =
        mmap(NULL, range->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range->image == MAP_FAILED)
        die("no memory for", copy->program->path);
    copy_words(range->image, range->at, range->bytes);
}

/* The writable segments but for what the loader made read-only, and this thread's variables. */
static int on_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct copy *copy = arg;
    const struct link_map *map = copy->handle;
    const size_t page = 4096;
    uintptr_t ro_at = 0, ro_end = 0;

    (void)bytes;
    if (info->dlpi_addr != map->l_addr)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_GNU_RELRO) {
            ro_at = (info->dlpi_addr + ph->p_vaddr) & ~(page - 1);
            ro_end = (info->dlpi_addr + ph->p_vaddr + ph->p_memsz) & ~(page - 1);
        }
        if (ph->p_type == PT_TLS && info->dlpi_tls_data)
            add_range(copy, (uintptr_t)info->dlpi_tls_data,
                      (uintptr_t)info->dlpi_tls_data + ph->p_memsz);
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_W))
            continue;
        uintptr_t at = info->dlpi_addr + ph->p_vaddr, end = at + ph->p_memsz;
        if (ro_end > ro_at && ro_at < end && ro_end > at) {
            add_range(copy, at, ro_at);
            at = ro_end;
        }
        add_range(copy, at, end);
    }
    return 1;
}

/* The loader knows objects by their files, so each copy is a file of its own. */
static int copy_file(const char *path)
{
    int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("program", MFD_CLOEXEC);
    struct stat st;

    if (from < 0 || to < 0 || fstat(from, &st) != 0)
        die("cannot copy", path);
    for (off_t at = 0; at < st.st_size;)
        if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
            die("cannot copy", path);
    close(from);
    return to;
}

static void *symbol(const struct copy *copy, const char *name)
{
    void *p = dlsym(copy->handle, name);

    if (!p)
        die("no such function in", copy->program->path);
    return p;
}

static struct copy *load(struct sim_program *program)
{
    struct copy *copy = calloc(1, sizeof(*copy));
    char path[64];
    void (*touch)(void);

    if (!copy)
        abort();
    copy->program = program;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", copy_file(program->path));
    copy->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!copy->handle)
        die("cannot load", program->path);
    *(void **)&touch = symbol(copy, "sim_program_touch");
    touch();
    if (dl_iterate_phdr(on_object, copy) != 1 || copy->ranges_n == 0)
        die("no writable memory in", program->path);
    copy->next = program->copies;
    program->copies = copy;
    return copy;
}

struct sim_program *sim_program_open(const char *path)
{
    struct sim_program *program = calloc(1, sizeof(*program));

    if (!program)
        abort();
    program->path = path;
    program->next = programs;
    programs = program;
    return program;
}

static void on_death(void *arg)
{
    ((struct copy *)arg)->is_used = false;
}

struct sim_actor *sim_program_spawn(struct sim_program *program, const char *entry,
                                    const char *host, const char *name, void *arg)
{
    struct sim_mem *before = sim_mem_enter(NULL);
    struct copy *copy = program->copies;
    sim_fn *main;

    while (copy && copy->is_used)
        copy = copy->next;
    if (!copy)
        copy = load(program);
    for (size_t i = 0; i < copy->ranges_n; i++)
        copy_words(copy->ranges[i].at, copy->ranges[i].image, copy->ranges[i].bytes);
    copy->is_used = true;
    *(void **)&main = symbol(copy, entry);
    struct sim_actor *actor = sim_spawn(host, name, main, arg);
    copy->actor = actor;
    sim_on_death(actor, on_death, copy);
    sim_mem_enter(before);
    return actor;
}

void *sim_program_symbol(const struct sim_actor *actor, const char *name)
{
    for (const struct sim_program *program = programs; program; program = program->next)
        for (const struct copy *copy = program->copies; copy; copy = copy->next)
            if (copy->is_used && copy->actor == actor)
                return dlsym(copy->handle, name);
    return NULL;
}
