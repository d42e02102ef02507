/* SPDX-License-Identifier: Apache-2.0 */
/* The signal handler finds a mapping in a table that it reads without a lock. Entries are never
 * freed, and entries that are being changed are skipped: the interrupted thread uses its mapping,
 * so the entry of that mapping does not change. */
#include "base/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

#define PART_ENTRIES 1024u
#define PARTS 1024u
#define NOWHERE SIZE_MAX

struct cw_mapped {
    atomic_uint changes;     /* odd while begin and bytes are being changed */
    _Atomic uintptr_t begin; /* 0: the entry is unused */
    _Atomic size_t bytes;
    _Atomic size_t broken_at; /* NOWHERE: the mapping is whole */
    struct cw_mapped *next;   /* guarded by lock: next in the list of unused entries */
};

struct before { /* a signal handler that was installed before ours */
    struct sigaction action;
    /* The one that was there when ours was installed the time before. It is kept, since a signal
     * may be passed on to it at this moment. */
    struct before *older;
};
static struct {
    struct cw_mutex lock;
    _Atomic(struct cw_mapped *) parts[PARTS];
    unsigned parts_n;                /* guarded by lock */
    struct cw_mapped *unused;        /* guarded by lock */
    _Atomic(struct before *) before; /* changed with lock held */
} table = {.lock = CW_MUTEX_INIT};

/* ---- the signal handler ---- */

/* Whether the address is in the entry's mapping; false for an entry that is being changed. */
static bool has_address(const struct cw_mapped *entry, uintptr_t at)
{
    unsigned changes = atomic_load(&entry->changes);
    uintptr_t begin = atomic_load(&entry->begin);
    size_t bytes = atomic_load(&entry->bytes);

    return changes % 2 == 0 && begin && at >= begin &&
           at - begin < CW_ALIGN_UP(bytes, CW_MEM_PAGE) && atomic_load(&entry->changes) == changes;
}

static struct cw_mapped *find(uintptr_t at)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct cw_mapped *part = atomic_load_explicit(&table.parts[i], memory_order_acquire);

        for (size_t k = 0; part && k < PART_ENTRIES; k++)
            if (has_address(&part[k], at))
                return &part[k];
    }
    return NULL;
}

/* Replaces all of the mapping at once: there is one fault a mapping, however many pages are gone,
 * and a slow disk is asked only once. */
static bool put_zeros(struct cw_mapped *entry, uintptr_t at)
{
    uintptr_t begin = atomic_load(&entry->begin);
    size_t whole = NOWHERE;

    atomic_compare_exchange_strong(&entry->broken_at, &whole, at - begin);
    /* The system call is made directly: this is a signal handler, and sanitizers replace mmap(). */
    return syscall(SYS_mmap, begin, CW_ALIGN_UP(atomic_load(&entry->bytes), CW_MEM_PAGE), PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (long)begin;
}

/* Ends the process. A fault is raised again when the handler returns; a signal that was sent must
 * be sent again. */
static void end_process(int number, const siginfo_t *info)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};

    sigaction(number, &standard, NULL);
    if (info->si_code <= 0)
        raise(number);
}

/* Passes the signal on, as if this handler did not exist. If the other handler passes it back, the
 * process ends. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    static _Thread_local volatile sig_atomic_t is_passing;
    const struct sigaction *before =
        &atomic_load_explicit(&table.before, memory_order_acquire)->action;
    bool is_standard = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_DFL;
    bool is_ignored = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN;

    if (is_passing || is_standard || (is_ignored && info->si_code > 0)) {
        end_process(number, info);
        return;
    }
    if (is_ignored)
        return;
    is_passing = 1;
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else
        before->sa_handler(number);
    is_passing = 0;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    uintptr_t at = (uintptr_t)info->si_addr;
    struct cw_mapped *entry = info->si_code > 0 ? find(at) : NULL;

    if (!entry || !put_zeros(entry, at))
        pass_on(number, info, context);
    errno = kept;
}

/* Whether our handler is installed; installs it again if another one has replaced it. Called with
 * the lock held. */
static bool has_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART},
                     now;

    if (sigaction(SIGBUS, NULL, &now) < 0)
        return false;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_bus_error)
        return true;
    sigemptyset(&action.sa_mask);
    struct before *before = CW_NEW(struct before);
    *before = (struct before){.action = now, .older = atomic_load(&table.before)};
    atomic_store_explicit(&table.before, before, memory_order_release);
    return sigaction(SIGBUS, &action, NULL) == 0;
}

/* ---- the table of mappings ---- */

/* Returns an unused entry, or NULL if the table is full. Called with the lock held. */
static struct cw_mapped *take_entry(void)
{
    if (!table.unused && table.parts_n < PARTS) {
        struct cw_mapped *part = CW_NEW_ARRAY(struct cw_mapped, PART_ENTRIES);

        for (size_t k = PART_ENTRIES; k-- > 0;) {
            part[k].next = table.unused;
            table.unused = &part[k];
        }
        atomic_store_explicit(&table.parts[table.parts_n++], part, memory_order_release);
    }
    struct cw_mapped *entry = table.unused;
    if (entry)
        table.unused = entry->next;
    return entry;
}

static void set_range(struct cw_mapped *entry, uintptr_t begin, size_t bytes)
{
    atomic_fetch_add(&entry->changes, 1);
    atomic_store(&entry->begin, begin);
    atomic_store(&entry->bytes, bytes);
    atomic_store(&entry->broken_at, NOWHERE);
    atomic_fetch_add(&entry->changes, 1);
}

static void give_entry(struct cw_mapped *entry)
{
    set_range(entry, 0, 0);
    cw_mutex_lock(&table.lock);
    entry->next = table.unused;
    table.unused = entry;
    cw_mutex_unlock(&table.lock);
}

struct cw_mapped *cw_mapped_new(int fd, size_t bytes)
{
    cw_mutex_lock(&table.lock);
    struct cw_mapped *entry = bytes && has_handler() ? take_entry() : NULL;
    cw_mutex_unlock(&table.lock);
    if (!entry)
        return NULL;
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        give_entry(entry);
        return NULL;
    }
    set_range(entry, (uintptr_t)data, bytes);
    return entry;
}

void cw_mapped_free(struct cw_mapped *mapped)
{
    if (!mapped)
        return;
    void *data = (void *)atomic_load(&mapped->begin);
    size_t bytes = atomic_load(&mapped->bytes);

    /* this comes first, since the addresses may be used by others afterwards */
    set_range(mapped, 0, 0);
    munmap(data, bytes);
    give_entry(mapped);
}

const void *cw_mapped_data(const struct cw_mapped *mapped)
{
    return (const void *)atomic_load(&mapped->begin);
}

bool cw_mapped_is_broken(const struct cw_mapped *mapped, size_t *ret_offset)
{
    size_t at = atomic_load(&mapped->broken_at);

    if (ret_offset && at != NOWHERE)
        *ret_offset = at;
    return at != NOWHERE;
}
