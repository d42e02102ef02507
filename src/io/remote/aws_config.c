/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/aws_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/remote/ini.h"
#include "io/remote/small_file.h"

#define REGION "us-east-1"
#define SESSION_NAME "cachew"

/* The texts of both files, and the sections that count in them. */
struct profiles {
    struct cw_str config, credentials;
    char *config_section, *credentials_section;
};

/* Returns a variable of the environment, or NULL: it is not set, or empty. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static char *file_name(const char *variable_name, const char *below_home, bool *ret_is_named)
{
    const char *name = variable(variable_name), *home = variable("HOME");
    *ret_is_named = name != NULL;
    if (name)
        return cw_mem_strdup(name);
    return home ? cw_mem_printf("%s/.aws/%s", home, below_home) : NULL;
}

static int read_file(const char *variable_name, const char *below_home, struct cw_str *ret_text,
                     struct cw_err *err)
{
    bool is_named;
    cw_autofree char *name = file_name(variable_name, below_home, &is_named);
    if (!name || (!is_named && access(name, F_OK) != 0))
        return 0;
    int rc = cw_small_file_read(name, ret_text, err);
    return rc < 0 ? cw_err_wrap(err, "%s", variable_name) : 0;
}

static void profiles_fini(struct profiles *p)
{
    cw_small_file_forget(p->config.s);
    cw_small_file_forget(p->credentials.s);
    cw_mem_free(p->config_section);
    cw_mem_free(p->credentials_section);
}

static int profiles_load(struct profiles *p, struct cw_err *err)
{
    const char *name = variable("AWS_PROFILE");
    p->credentials_section = cw_mem_strdup(name ? name : "default");
    p->config_section = name && strcmp(name, "default") != 0 ? cw_mem_printf("profile %s", name)
                                                             : cw_mem_strdup("default");
    int rc = read_file("AWS_CONFIG_FILE", "config", &p->config, err);
    if (rc == 0)
        rc = read_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", &p->credentials, err);
    return rc;
}

static char *of_config(const struct profiles *p, const char *below, const char *key)
{
    return cw_ini_get(cw_str_text(&p->config), p->config_section, below, key);
}

/* A value of the credentials' file, else of the other. */
static char *of_credentials(const struct profiles *p, const char *key)
{
    char *value = cw_ini_get(cw_str_text(&p->credentials), p->credentials_section, NULL, key);
    return value ? value : of_config(p, NULL, key);
}

/* Role and file come from one place, both. Returns whether there are some. */
static bool read_role(const struct profiles *p, struct cw_aws_config *c)
{
    const char *arn = variable("AWS_ROLE_ARN"), *file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *name = variable("AWS_ROLE_SESSION_NAME");
    c->role_arn = arn && file ? cw_mem_strdup(arn) : of_config(p, NULL, "role_arn");
    c->token_file =
        arn && file ? cw_mem_strdup(file) : of_config(p, NULL, "web_identity_token_file");
    if (!c->role_arn || !c->token_file) {
        cw_mem_free(c->role_arn);
        cw_mem_free(c->token_file);
        c->role_arn = c->token_file = NULL;
        return false;
    }
    c->session_name = name ? cw_mem_strdup(name) : of_config(p, NULL, "role_session_name");
    if (!c->session_name)
        c->session_name = cw_mem_strdup(SESSION_NAME);
    return true;
}

/* Identity and secret come from one place, both. */
static int read_credentials(const struct profiles *p, struct cw_aws_config *c, struct cw_err *err)
{
    const char *id = variable("AWS_ACCESS_KEY_ID"), *secret = variable("AWS_SECRET_ACCESS_KEY");
    if (id || secret) {
        c->id = cw_mem_strdup(id);
        c->secret = cw_mem_strdup(secret);
        c->token = cw_mem_strdup(variable("AWS_SESSION_TOKEN"));
    } else if (!read_role(p, c)) {
        c->id = of_credentials(p, "aws_access_key_id");
        c->secret = of_credentials(p, "aws_secret_access_key");
        c->token = of_credentials(p, "aws_session_token");
    }
    if (!c->id == !c->secret)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "credentials of S3: there is %s without %s",
                      c->id ? "an access key's id" : "a secret access key",
                      c->id ? "its secret" : "its id");
}

static void read_region(const struct profiles *p, struct cw_aws_config *c)
{
    const char *region = variable("AWS_REGION");
    if (!region)
        region = variable("AWS_DEFAULT_REGION");
    c->region = region ? cw_mem_strdup(region) : of_config(p, NULL, "region");
    if (!c->region)
        c->region = cw_mem_strdup(REGION);
}

static int read_endpoint(const struct profiles *p, struct cw_aws_config *c, struct cw_err *err)
{
    const char *url = variable("AWS_ENDPOINT_URL_S3");
    if (!url)
        url = variable("AWS_ENDPOINT_URL");
    c->endpoint = url ? cw_mem_strdup(url) : of_config(p, NULL, "endpoint_url");
    if (!c->endpoint)
        return 0;
    if (!cw_str_starts(c->endpoint, "http://") && !cw_str_starts(c->endpoint, "https://"))
        return cw_err_set(err, CW_E_INVALID, "the endpoint of S3 is no URL of http or https");
    if (strchr(c->endpoint, '@'))
        return cw_err_set(err, CW_E_INVALID, "the endpoint of S3 has a user's name in it");
    for (size_t n = strlen(c->endpoint); n > 0 && c->endpoint[n - 1] == '/'; n--)
        c->endpoint[n - 1] = '\0';
    return 0;
}

/* Other servers than those of AWS seldom have a name for each bucket. */
static int read_style(const struct profiles *p, struct cw_aws_config *c, struct cw_err *err)
{
    cw_autofree char *said = of_config(p, "s3", "addressing_style");
    const char *style = variable("CACHEW_S3_ADDRESSING");
    if (!style)
        style = said;
    c->is_path_style = c->endpoint != NULL;
    if (!style || strcmp(style, "auto") == 0)
        return 0;
    c->is_path_style = strcmp(style, "path") == 0;
    if (c->is_path_style || strcmp(style, "virtual") == 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "addressing_style of S3: \"%.20s\" is none of auto, path, virtual", style);
}

int cw_aws_config_load(struct cw_aws_config *ret_config, struct cw_err *err)
{
    struct profiles p = {0};
    struct cw_aws_config c = {0};
    int rc = profiles_load(&p, err);
    if (rc == 0)
        rc = read_credentials(&p, &c, err);
    if (rc == 0)
        read_region(&p, &c);
    if (rc == 0)
        rc = read_endpoint(&p, &c, err);
    if (rc == 0)
        rc = read_style(&p, &c, err);
    profiles_fini(&p);
    if (rc == 0)
        *ret_config = c;
    else
        cw_aws_config_fini(&c);
    return rc;
}

bool cw_aws_config_same_credentials(const struct cw_aws_config *a, const struct cw_aws_config *b)
{
    return cw_str_eq(a->id, b->id) && cw_str_eq(a->secret, b->secret) &&
           cw_str_eq(a->token, b->token);
}

void cw_aws_config_fini(struct cw_aws_config *c)
{
    cw_small_file_forget(c->id);
    cw_small_file_forget(c->secret);
    cw_small_file_forget(c->token);
    cw_mem_free(c->role_arn);
    cw_mem_free(c->token_file);
    cw_mem_free(c->session_name);
    cw_mem_free(c->region);
    cw_mem_free(c->endpoint);
    *c = (struct cw_aws_config){0};
}
