/* SPDX-License-Identifier: Apache-2.0 */
/* Values from YAML. What is read is the part of YAML 1.2 that JSON can say, with its core schema: no
 * anchors and aliases, no tags, no duplicate keys, one document; keys are texts, also those that look
 * like numbers. A library of its own (cw_conf_yaml), so that libcachew does not need libyaml. */
#ifndef CW_CONF_VALUE_YAML_H
#define CW_CONF_VALUE_YAML_H

#include "conf/value.h"

/* Parses one YAML text, nested at most 32 deep, with at most 10,000 members in an object. Error
 * messages give line and column, and begin with `where` (a file's name). */
int cw_value_parse_yaml(const char *text, size_t n, const char *where, struct cw_value *ret_value,
                        struct cw_err *err);
/* Appends the value as YAML for people: objects as blocks, their members in the order that they have. */
void cw_value_print_yaml(const struct cw_value *value, struct cw_str *out);
/* Parses a file of at most 64 MiB: as JSON if its name ends with ".json", else as YAML. */
int cw_value_load_any(const char *path, struct cw_value *ret_value, struct cw_err *err);

#endif
