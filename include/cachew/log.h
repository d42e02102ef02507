/* SPDX-License-Identifier: Apache-2.0 */
/* What libcachew says besides the errors that its functions return: that a connection broke and was
 * made again, that a worker cannot be reached. Without cachew_set_log it goes to stderr, a line
 * each. */
#ifndef CACHEW_LOG_H
#define CACHEW_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

enum cachew_log_level {
    CACHEW_LOG_ERROR, /* something failed for good */
    CACHEW_LOG_WARN,  /* something is wrong, and is tried again or done without */
    CACHEW_LOG_INFO,
    CACHEW_LOG_DEBUG
};

/* Has messages of `level` and those that are worse given to fn from now on, in the whole process
 * (with static linking, in each copy of the library), instead of writing them to stderr; fn NULL:
 * to stderr again. `module` names the part of the library; both texts are UTF-8 and valid during
 * the call only. fn is called by the thread that has something to say, by several at once, and must
 * call no function of libcachew. A call of the function before may still be under way on another
 * thread when this returns. Any thread. */
void cachew_set_log(enum cachew_log_level level,
                    void (*fn)(void *arg, enum cachew_log_level level, const char *module,
                               const char *message),
                    void *arg);

#ifdef __cplusplus
}
#endif
#endif
