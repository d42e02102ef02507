/* SPDX-License-Identifier: Apache-2.0 */
/* What sources hold that they made of their files (decoded pages, unpacked chunks), and can make again. When
 * all sources of the process together have more than a limit, or memory is short, it is given back: of all
 * sources what was not used for longest first, and never what is in use. Its bytes are among those that
 * cw_loaded_bytes (loaded.h) tells. Any thread. */
#ifndef CW_OPS_SOURCE_HELD_H
#define CW_OPS_SOURCE_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a source. The functions are called with the list of all sources locked, so they must not come back to it, and
 * do not wait for long. */
struct cw_held {
    void *arg;
    /* Returns the stamp of the last use of what was not used for longest; UINT64_MAX: there is nothing that can be
     * given back. */
    uint64_t (*oldest)(void *arg);
    /* Gives it back. Returns false if there is nothing any more. */
    bool (*drop_oldest)(void *arg);
    /* Optional: ends the use of what is only kept at hand. */
    void (*let_go)(void *arg);
    /* To make it again costs much: the limit does not count it, and it is given back where memory is short only. */
    bool is_costly;
    /* guarded by the list's mutex: */
    bool is_in;
    struct cw_held *prev, *next;
};

/* Adds a source to the list of all, and takes it out: afterwards none of its functions is called. Out of the list
 * already: nothing. */
void cw_held_join(struct cw_held *held);
void cw_held_leave(struct cw_held *held);
/* Counts bytes that it holds now; fewer than none: it holds them no more. */
void cw_held_add(const struct cw_held *held, int64_t bytes);
size_t cw_held_bytes(void);
/* A number for a use: higher than that of any use before. */
uint64_t cw_held_stamp(void);

/* The limit of the process, in bytes; without one nothing is given back. A lower one does so at once. */
void cw_held_set_max(size_t bytes);
/* Whether there is more than the limit. */
bool cw_held_is_over(void);
/* Gives back what exceeds the limit. For whoever has added bytes, who has no lock now that `oldest` takes. */
void cw_held_keep_max(void);
/* Memory is short: gives back all that is not in use. */
void cw_held_drop_all(void);

#endif
