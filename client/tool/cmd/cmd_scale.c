/* SPDX-License-Identifier: Apache-2.0 */
/* cachew scale JOB POLICY: changes the scaling policy of a running job. cachew scale --fleet hold: stops
 * all writes to Deployments of Kubernetes. */
#include <string.h>

#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

static int scale_fleet(const char *dispatcher, const char *word)
{
    struct cw_err err = {0};
    Cachew__V1__ScaleFleetRequest request = CACHEW__V1__SCALE_FLEET_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    request.hold = strcmp(word, "hold") == 0;
    if (!request.hold && strcmp(word, "auto") != 0) {
        (void)tool_fail("--fleet: \"%.64s\" is neither hold nor auto", word);
        return TOOL_USAGE;
    }
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/ScaleFleet", &request.base,
                          &cachew__v1__scale_fleet_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    protobuf_c_message_free_unpacked(message, NULL);
    printf("fleet: %s\n", request.hold ? "held, nothing is written" : "scaled as jobs need it");
    return TOOL_OK;
}

int tool_cmd_scale(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool place = false, fleet = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"place", 0, CW_ARG_FLAG, &place, NULL,
         "POLICY says where they run, too: auto, pecan, fixed:R,L (remote and beside the trainer), "
         "off",
         0, 0},
        {"fleet", 0, CW_ARG_FLAG, &fleet, NULL,
         "with --provisioner kubernetes, and one word: hold = write nothing to Deployments from "
         "now "
         "on, auto = again as jobs need it",
         0, 0},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew scale",
        .usage = "JOB POLICY [options]",
        .about = "Changes how many workers a running job (by name or id) has, from now on: auto, "
                 "cachew, hpa, fixed:N, or off (all of "
                 "them). What it is given stays the same. It is kept with the job, and among its "
                 "decisions.",
        .rows = rows,
        .tail = "examples:\n  cachew scale train fixed:4\n  cachew scale train auto\n  cachew "
                "scale train --place fixed:2,1\n  cachew scale --fleet hold\n"};
    const char *words[2];
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, words, 2, &n, &code))
        return code;
    if (n != (fleet ? 1 : 2)) {
        fprintf(stderr, "cachew scale: %s usage: cachew scale %s\n",
                fleet ? "hold, or auto?" : "which job, and which policy?",
                fleet ? "--fleet hold|auto [options]" : spec.usage);
        return TOOL_USAGE;
    }
    if (fleet)
        return scale_fleet(dispatcher, words[0]);
    struct cw_err err = {0};
    Cachew__V1__ScaleJobRequest request = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
    cw_autofree char *job = cw_mem_strdup(words[0]), *policy = cw_mem_strdup(words[1]);
    ProtobufCMessage *message = NULL;
    request.job = job;
    request.policy = policy;
    request.place = place;
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/ScaleJob", &request.base,
                          &cachew__v1__scale_job_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    protobuf_c_message_free_unpacked(message, NULL);
    printf("job %s: policy %s\n", job, policy);
    return TOOL_OK;
}
