/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, as kubectl asks for them: a definition's printer columns, or name and age. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

static const char NAME_TEXT[] =
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

static void add_column(json_t *columns, const char *name, const char *type, const char *format,
                       const char *text, json_int_t priority)
{
    json_array_append_new(columns,
                          json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", name, "type", type,
                                    "format", format, "description", text, "priority", priority));
}

static json_t *columns_of(const struct fk_kind *kind)
{
    json_t *columns = json_array();
    add_column(columns, "Name", "string", "name", NAME_TEXT, 0);
    size_t i;
    json_t *column;
    json_array_foreach (fk_at(kind->definition, "additionalPrinterColumns"), i, column) {
        cw_autofree char *text =
            cw_mem_printf("Custom resource definition column (in JSONPath format): %s",
                          fk_text(column, "jsonPath"));
        add_column(columns, fk_text(column, "name"), fk_text(column, "type"),
                   fk_text_or(column, "format", ""), fk_text_or(column, "description", text),
                   fk_int(column, "priority", 0));
    }
    if (!kind->custom)
        add_column(columns, "Age", "date", "",
                   "CreationTimestamp is a timestamp representing the server time when this object "
                   "was created.",
                   0);
    return columns;
}

/* "3s", "2m5s", "3h10m", "4d": as kubectl prints ages. */
static void age_text(int64_t ms, char ret[32])
{
    long long s = ms > 0 ? ms / 1000 : 0;
    if (s < 120)
        snprintf(ret, 32, "%llds", s);
    else if (s < 600)
        snprintf(ret, 32, s % 60 ? "%lldm%llds" : "%lldm", s / 60, s % 60);
    else if (s < 3 * 3600)
        snprintf(ret, 32, "%lldm", s / 60);
    else if (s < 8 * 3600)
        snprintf(ret, 32, s / 60 % 60 ? "%lldh%lldm" : "%lldh", s / 3600, s / 60 % 60);
    else if (s < 48 * 3600)
        snprintf(ret, 32, "%lldh", s / 3600);
    else
        snprintf(ret, 32, "%lldd", s / 86400);
}

static json_t *cell_of(const struct fk_server *server, const json_t *object, const json_t *column)
{
    json_t *value = fk_at(object, fk_text_or(column, "jsonPath", ".") + 1);
    if (!value || json_is_object(value))
        return json_null();
    if (!cw_str_eq(fk_text(column, "type"), "date"))
        return json_incref(value);
    char text[32];
    age_text(fk_wall_ms(server) - fk_time_parse(json_string_value(value)), text);
    return json_string(text);
}

static json_t *cells_of(const struct fk_server *server, const struct fk_kind *kind,
                        const json_t *object)
{
    json_t *cells = json_array();
    json_array_append(cells, fk_at(object, "metadata.name"));
    size_t i;
    json_t *column;
    json_array_foreach (fk_at(kind->definition, "additionalPrinterColumns"), i, column)
        json_array_append_new(cells, cell_of(server, object, column));
    if (!kind->custom) {
        json_auto_t *age =
            json_pack("{s:s, s:s}", "jsonPath", ".metadata.creationTimestamp", "type", "date");
        json_array_append_new(cells, cell_of(server, object, age));
    }
    return cells;
}

json_t *fk_table_of(const struct fk_server *server, const struct fk_kind *kind, const json_t *items)
{
    json_t *rows = json_array();
    size_t i;
    json_t *object;
    json_array_foreach ((json_t *)items, i, object)
        json_array_append_new(
            rows, json_pack("{s:o, s:{s:s, s:s, s:O}}", "cells", cells_of(server, kind, object),
                            "object", "kind", "PartialObjectMetadata", "apiVersion",
                            "meta.k8s.io/v1", "metadata", fk_at(object, "metadata")));
    return json_pack("{s:s, s:s, s:{}, s:o, s:o}", "kind", "Table", "apiVersion", "meta.k8s.io/v1",
                     "metadata", "columnDefinitions", columns_of(kind), "rows", rows);
}
