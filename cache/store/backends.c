/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all backends, made from backend_list.h. */
#include "cache/store/backend.h"

#define CW_BACKEND(name) extern const struct cw_backend cw_backend_##name;
#include "cache/store/backend_list.h"
#undef CW_BACKEND

const struct cw_backend *const cw_backends[] = {
#define CW_BACKEND(name) &cw_backend_##name,
#include "cache/store/backend_list.h"
#undef CW_BACKEND
    NULL};
