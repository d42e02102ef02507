/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a world's cache: files by name that outlive actors, the same for all of them, as on
 * a file server. A file is written under a temporary name, and is seen by its own from its commit
 * on. What a killed writer leaves behind stays. Calls take virtual time; an actor that is killed in
 * one has done all of its step, or nothing. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "sim.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define SIM_STORE_NAME_BYTES 512

enum sim_store_rc {
    SIM_STORE_OK,
    SIM_STORE_AWAY,
    SIM_STORE_FULL,
    SIM_STORE_NONE,  /* no file of that name */
    SIM_STORE_FAILS, /* an input or output error */
    SIM_STORE_SHORT  /* the file has fewer bytes */
};
struct sim_store_file; /* open, or being written: the running actor's */

/* ---- for actors ---- */
enum sim_store_rc sim_store_try(void);
/* temp: its name until then, in the same directory. */
enum sim_store_rc sim_store_create(const char *temp, const char *name, struct sim_store_file **ret);
enum sim_store_rc sim_store_write(struct sim_store_file *file, uint64_t at, const void *p,
                                  size_t n);
enum sim_store_rc sim_store_sync(struct sim_store_file *file);
/* Both end it. What could not be removed stays under its temporary name. */
enum sim_store_rc sim_store_commit(struct sim_store_file *file);
void sim_store_abandon(struct sim_store_file *file);

enum sim_store_rc sim_store_remove(const char *name);
enum sim_store_rc sim_store_stat(const char *name, uint64_t *ret_bytes);
/* One that is removed can be read on. */
enum sim_store_rc sim_store_open(const char *name, struct sim_store_file **ret,
                                 uint64_t *ret_bytes);
enum sim_store_rc sim_store_read(struct sim_store_file *file, uint64_t at, void *p, size_t n);
const void *sim_store_map(const struct sim_store_file *file); /* NULL: not in this world */
void sim_store_close(struct sim_store_file *file);
/* All files as they are now, with the temporary ones; age_ms: since it was made. fn returns 0 to go
 * on; what else it returns is *ret. */
typedef int sim_store_fn(void *arg, const char *name, uint64_t bytes, int64_t age_ms);
enum sim_store_rc sim_store_list(sim_store_fn *fn, void *arg, int *ret);
/* NONE: there is no limit. */
enum sim_store_rc sim_store_space(uint64_t *ret_total, uint64_t *ret_free);

/* ---- for the world ---- */
/* limit: bytes, 0 = none. maps: its files can be mapped. */
void sim_store_begin(uint64_t limit, bool maps);

/* fn(arg) is called in the context of an actor that has begun to write a chunk; NULL: no longer. */
void sim_store_on_chunk(void (*fn)(void *arg), void *arg);

enum sim_trouble {
    SIM_TROUBLE_AWAY, /* every call fails at once, and what is being written is gone */
    SIM_TROUBLE_HANGS,
    SIM_TROUBLE_SLOW,
    SIM_TROUBLE_FULL,
    SIM_TROUBLE_READS, /* some reads fail, or give other bytes */
    SIM_TROUBLES_N
};
/* For actors of one host (NULL: of all), until that time. */
void sim_store_trouble(enum sim_trouble what, const char *host, int64_t until_ns);
void sim_store_make_whole(void);
/* Of a file that the number chooses, which a cache can find out about: changes a byte, or cuts it
 * off; removes it. False: there is none. */
bool sim_store_damage(uint64_t which);
bool sim_store_lose(uint64_t which);
/* Makes all files older. */
void sim_store_age(int64_t ms);
/* Files, temporary ones of which nobody writes any more, and those that are being written. */
struct sim_store_count {
    size_t files, left, open, written; /* written: ever */
    size_t resized;                    /* files that took the place of one of another size, ever */
    uint64_t bytes;
};
/* place: of files whose names begin with it; NULL: of all. */
struct sim_store_count sim_store_count(const char *place);
/* The name of one file that is there, also under a temporary name; NULL: none is. */
const char *sim_store_any(void);
/* The bytes of a file; false: there is none. */
bool sim_store_has(const char *name, uint64_t *ret_bytes);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
