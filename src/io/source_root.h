/* SPDX-License-Identifier: Apache-2.0 */
/* What the pipelines of this process may read: the directories and URLs that the option --source-root
 * names.
 * Every file and directory of a source is opened here. What was checked is what is opened: the
 * kernel resolves the rest of the path below the root's descriptor (openat2), or the opened
 * descriptor is looked at; no path is looked up twice. A link may lead from one root into another.
 * Without roots everything may be read that the process's user may read. In all cases only regular
 * files are opened, and none of /proc. */
#ifndef CW_IO_SOURCE_ROOT_H
#define CW_IO_SOURCE_ROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

#define CW_SOURCE_ROOTS_MAX 64

/* Adds a root: "/data" or "file:///data", a directory that exists, or a URL of a server
 * ("s3://bucket/train"). With ",tenant=NAME" behind it only the pipelines of that tenant may read there;
 * a root of others above one of a tenant is INVALID, whichever comes first. INVALID names the
 * option. Call it before any thread opens files. */
int cw_source_root_add(const char *url_prefix, struct cw_err *err);
/* Forgets all roots. */
void cw_source_root_reset(void);
/* Whether something restricts what may be read. */
bool cw_source_root_is_set(void);

/* Who reads: the number of a tenant that roots name (NULL or "": the tenant default); 0 for all other
 * tenants. */
uint32_t cw_source_root_reader(const char *tenant);
/* From now on the calling thread reads for this reader; a thread begins as 0. What it opens, lists or
 * asks for is checked against the roots of all and those of its reader. */
void cw_source_root_read_as(uint32_t reader);
uint32_t cw_source_root_reads_as(void);

/* Checks the URL of an object of a server. DENIED: it is below none of the roots, if there are any.
 * INVALID: it has a user's name or a password in it, which is not repeated in the message, or a
 * component "." or "..", written in any way, so that it may lead out of a root. */
int cw_source_root_check_url(const char *url, struct cw_err *err);
/* Whether a URL is below a root that is a URL, or there are no roots: where a server sends us. */
bool cw_source_root_allows_url(const char *url);

/* Opens a regular file for reading; the open does not wait, as it would for a FIFO. DENIED: it is
 * outside of all roots; NOT_FOUND; INVALID: it is no regular file. Here and below errors name the
 * path. */
int cw_source_open(const char *path, int *ret_fd, struct stat *ret_st, struct cw_err *err);
/* Opens a directory for listing it. */
int cw_source_open_dir(const char *path, DIR **ret_dir, struct cw_err *err);
/* Finds out what there is at a path, as stat does. Directories above a root are told of, too. */
int cw_source_stat(const char *path, struct stat *ret_st, struct cw_err *err);

#endif
