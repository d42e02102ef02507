/* SPDX-License-Identifier: Apache-2.0 */
/* The schemes of servers (src/io/scheme_list.h), for programs that link them. Requests of all threads
 * are made by one loop thread, which belongs to this module and waits for all of them at once; a
 * thread that reads waits for its own.
 *
 * Credentials come from the environment and the files of this process, and stay in it: they are in
 * no URL, message or log. */
#ifndef CW_IO_REMOTE_REMOTE_H
#define CW_IO_REMOTE_REMOTE_H

/* Makes the schemes known to io/io.h. The loop thread starts with the first request. */
void cw_io_remote_start(void);
/* Ends the loop thread, and forgets credentials. Nobody may read any more. */
void cw_io_remote_stop(void);

#endif
