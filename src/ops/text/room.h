/* SPDX-License-Identifier: Apache-2.0 */
/* Room in a growing text whose size the input decides. */
#ifndef CW_OPS_TEXT_ROOM_H
#define CW_OPS_TEXT_ROOM_H

#include "base/err.h"
#include "base/str.h"

/* Makes room for n more bytes and a NUL behind the text. Returns 0 or NOMEM. */
int cw_text_room(struct cw_str *text, size_t n, struct cw_err *err);

#endif
