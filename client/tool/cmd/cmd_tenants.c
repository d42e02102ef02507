/* SPDX-License-Identifier: Apache-2.0 */
/* cachew tenants: lists tenants with their shares and what their jobs have used. */
#include <inttypes.h>

#include "client/tool/view/usage.h"
#include "wire/reply_json.h"

static const char *const heads[] = {"TENANT", "WEIGHT", "JOBS",     "WORKERS", "SHARE",
                                    "MEMORY", "CACHE",  "ELEMENTS", "BYTES",   TOOL_USAGE_HEADS};

static void add_of(struct tool_table *table, uint64_t n, uint64_t limit, bool limited)
{
    if (limited)
        tool_table_add(table, "%" PRIu64 " of %" PRIu64, n, limit);
    else
        tool_table_add(table, "%" PRIu64, n);
}

static void add_bytes(struct tool_table *table, uint64_t n, uint64_t limit)
{
    CW_STR_AUTO text = {0};
    tool_print_bytes((double)n, &text);
    if (limit > 0) {
        cw_str_add(&text, " of ");
        tool_print_bytes((double)limit, &text);
    }
    tool_table_add(table, "%s", cw_str_text(&text));
}

static void add_cells(struct tool_table *table, const void *reply, size_t i)
{
    const Cachew__V1__TenantRow *tenant = ((const Cachew__V1__ListTenantsReply *)reply)->tenants[i];
    CW_STR_AUTO elements = {0};
    tool_print_count(tenant->usage ? (double)tenant->usage->elements : 0, &elements);
    tool_table_add(table, "%s", tenant->tenant);
    tool_table_add(table, "%g", tenant->weight);
    add_of(table, tenant->jobs, tenant->max_jobs, tenant->max_jobs_set);
    add_of(table, tenant->workers, tenant->max_workers, tenant->max_workers > 0);
    tool_table_add(table, "%.2f", tenant->granted);
    add_bytes(table, tenant->memory, tenant->max_memory);
    add_bytes(table, tenant->cache_bytes, tenant->cache_quota);
    tool_table_add(table, "%s", cw_str_text(&elements));
    add_bytes(table, tenant->usage ? tenant->usage->bytes : 0, 0);
    tool_usage_cells(table, tenant->usage);
}

static void add_members(struct cw_str *out, const void *reply, size_t i)
{
    const Cachew__V1__TenantRow *tenant = ((const Cachew__V1__ListTenantsReply *)reply)->tenants[i];
    const struct {
        const char *key;
        uint64_t number;
    } numbers[] = {{"jobs", tenant->jobs},
                   {"workers", tenant->workers},
                   {"memory", tenant->memory},
                   {"cache_bytes", tenant->cache_bytes},
                   {"elements", tenant->usage ? tenant->usage->elements : 0},
                   {"bytes", tenant->usage ? tenant->usage->bytes : 0}};
    const struct {
        const char *key;
        bool is;
        uint64_t number;
    } limits[] = {{"max_jobs", tenant->max_jobs_set, tenant->max_jobs},
                  {"max_workers", tenant->max_workers > 0, tenant->max_workers},
                  {"max_memory", tenant->max_memory > 0, tenant->max_memory},
                  {"cache_quota", tenant->cache_quota > 0, tenant->cache_quota}};
    cw_member_text(out, "tenant", tenant->tenant);
    cw_member_real(out, "weight", tenant->weight);
    cw_member_real(out, "granted", tenant->granted);
    for (size_t k = 0; k < CW_ARRAY_LEN(numbers); k++)
        cw_member_number(out, numbers[k].key, numbers[k].number);
    for (size_t k = 0; k < CW_ARRAY_LEN(limits); k++) {
        if (limits[k].is)
            cw_member_number(out, limits[k].key, limits[k].number);
        else
            cw_str_addf(out, ",\"%s\":null", limits[k].key);
    }
    cw_wire_usage_members(out, tenant->usage);
}

int tool_cmd_tenants(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool json = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_JSON(&json, "print one JSON line a tenant"),
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew tenants",
                                      .usage = "[options]",
                                      .about = "Lists the tenants of a dispatcher: what their jobs "
                                               "have now, of what they may have, and what "
                                               "was used so far, by jobs that are gone too.",
                                      .rows = rows};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "", NULL, 0, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__ListTenantsRequest request = CACHEW__V1__LIST_TENANTS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/ListTenants", &request.base,
                        &cachew__v1__list_tenants_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    const struct tool_listing listing = {heads, CW_ARRAY_LEN(heads), add_cells, add_members, NULL};
    tool_listing_print(&listing, message,
                       ((const Cachew__V1__ListTenantsReply *)(const void *)message)->n_tenants,
                       json);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
