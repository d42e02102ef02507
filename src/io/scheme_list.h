/* SPDX-License-Identifier: Apache-2.0 */
/* The schemes of servers: name of the variable cw_io_scheme_<name>, and what a URL begins with. A
 * line more is a scheme more. */
CW_IO_SCHEME(gluster, "gluster")
CW_IO_SCHEME(gs, "gs")
CW_IO_SCHEME(http, "http")
CW_IO_SCHEME(https, "https")
CW_IO_SCHEME(s3, "s3")
