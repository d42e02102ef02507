/* SPDX-License-Identifier: Apache-2.0 */
/* The options of TLS, which are the same for all programs: --tls-cert, --tls-key, --tls-ca, --tls-role.
 * A program has a struct cw_tls_options, puts CW_TLS_ARG_ROWS(&it) into its table of options, and
 * calls cw_tls_options_read after that was parsed. */
#ifndef CW_AUTH_TLS_OPTIONS_H
#define CW_AUTH_TLS_OPTIONS_H

#include "auth/roles.h"
#include "base/args.h"

struct cw_tls_options {
    const char *cert, *key, *ca; /* files; all NULL: no TLS */
    struct cw_arg_list roles;    /* texts for cw_role_rules_add */
};

#define CW_TLS_ARG_ROWS(options)                                                                   \
    {"tls-cert",                                                                                   \
     0,                                                                                            \
     CW_ARG_STR,                                                                                   \
     &(options)->cert,                                                                             \
     "FILE",                                                                                       \
     "speak TLS, with this certificate (PEM, with its chain; default: $CACHEW_TLS_CERT, else no "  \
     "TLS)",                                                                                       \
     0,                                                                                            \
     0},                                                                                           \
        {"tls-key",  0,                                                                            \
         CW_ARG_STR, &(options)->key,                                                              \
         "FILE",     "the certificate's key (default: $CACHEW_TLS_KEY)",                           \
         0,          0},                                                                           \
        {"tls-ca",   0,                                                                            \
         CW_ARG_STR, &(options)->ca,                                                               \
         "FILE",     "who signs the certificates of peers (default: $CACHEW_TLS_CA)",              \
         0,          0},                                                                           \
    {                                                                                              \
        "tls-role", 0, CW_ARG_LIST, &(options)->roles, "NAME=ROLE",                                \
            "a DNS name in certificates that has a role besides: dispatcher, worker, admin or "    \
            "client:TENANT; may stand several times (default: $CACHEW_TLS_ROLE)",                  \
            0, 0                                                                                   \
    }

/* Fills in what was not given from the environment, and checks that there are all three files or none
 * ("" is none), and the rules. It does not look into the files: cw_tls_files_read does. */
int cw_tls_options_read(struct cw_tls_options *options, struct cw_err *err);
bool cw_tls_options_are_set(const struct cw_tls_options *options);
/* Adds the rules of the options, which were checked. */
void cw_tls_options_rules(const struct cw_tls_options *options, struct cw_role_rules *rules);

#endif
