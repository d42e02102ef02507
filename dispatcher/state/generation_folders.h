/* SPDX-License-Identifier: Apache-2.0 */
/* Folders generation-N in the state directory, one for each time that a dispatcher with a lease took
 * over (generation_folders.c). Any thread. */
#ifndef CW_DISPATCHER_STATE_GENERATION_FOLDERS_H
#define CW_DISPATCHER_STATE_GENERATION_FOLDERS_H

#include "base/err.h"

struct cw_generation {
    uint64_t number;
    uint64_t source; /* The generation that was copied; 0: none, or the state directory itself. */
    uint64_t locked; /* The highest generation that the source's dispatchers had; 0: it is new. */
    char *dir;       /* The folder. The caller frees it. */
};
/* Makes the next folder, and copies the last state into it. From then on no older dispatcher answers
 * anything that rests on what it stores. */
int cw_generation_begin(const char *root, struct cw_generation *ret, struct cw_err *err);
/* Says that the folder has all that the source had, so that the next dispatcher may go on from it;
 * then fails with STATE if there is a higher one by now. What is older than the source is removed.
 * number_told: the generation that peers are told. */
int cw_generation_complete(const char *root, const struct cw_generation *generation,
                           uint64_t number_told, struct cw_err *err);
enum cw_generation_look {
    CW_GENERATION_OWN,    /* There is none above the own one. */
    CW_GENERATION_OVER,   /* There is, or the own one is gone. */
    CW_GENERATION_UNKNOWN /* The directory cannot be read now. */
};
/* Looks whether the dispatcher that works in this folder may still answer; err says why not. */
enum cw_generation_look cw_generation_look(const char *root, uint64_t own, struct cw_err *err);
/* Finds the highest one, complete or not; 0: there is none. */
int cw_generation_highest(const char *root, uint64_t *ret_highest, struct cw_err *err);
char *cw_generation_path(const char *root, uint64_t number);

#endif
