/* SPDX-License-Identifier: Apache-2.0 */
/* What the services for tools share. */
#ifndef CW_DISPATCHER_SVC_H
#define CW_DISPATCHER_SVC_H

#include "cachew/v1/admin.pb-c.h"
#include "dispatcher/dispatcher.h"

void cw_svc_reply(struct cw_call *call, const ProtobufCMessage *message);
/* The unpacked request, or NULL after the call was failed. */
ProtobufCMessage *cw_svc_unpack(const ProtobufCMessageDescriptor *type, struct cw_call *call, struct cw_rpc_msg *request);
/* By id or name, or NULL after the call was failed. */
struct cw_job *cw_svc_find_job(struct cw_dispatcher *d, struct cw_call *call, const char *name);

struct cw_svc_job_row { /* borrows from the job */
    Cachew__V1__JobRow row;
    char fingerprint[CW_HASH_TEXT_BYTES];
};
void cw_svc_job_row(struct cw_job *job, struct cw_svc_job_row *ret_row);

#endif
