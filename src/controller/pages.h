/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's pages over HTTP: probes and metrics. */
#ifndef CW_CONTROLLER_PAGES_H
#define CW_CONTROLLER_PAGES_H

#include "controller/controller.h"

struct cw_pages;
/* listen NULL or "": there are none, and *ret_pages is NULL. */
int cw_pages_start(struct cw_controller *c, const char *listen, struct cw_pages **ret_pages,
                   struct cw_err *err);
void cw_pages_stop(struct cw_pages *pages); /* accepts NULL */

#endif
