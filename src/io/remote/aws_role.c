/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/aws_role.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "conf/value.h"
#include "io/remote/aws_config.h"
#include "io/remote/s3_list.h"
#include "io/remote/small_file.h"
#include "io/source_url.h"

#define INSTANCE_HOST "http://169.254.169.254"
#define CONTAINER_HOST "http://169.254.170.2"
#define SPARE_MS INT64_C(300000)   /* so long before their end others are got */
#define LASTING_MS INT64_C(900000) /* of some whose end is not told */
#define AGAIN_MS INT64_C(600000)   /* an instance without metadata is asked again after so long */
#define YOUNG_MS                                                                                   \
    INT64_C(30000) /* what is refused at this age is refused for another reason than age */
#define INSTANCE_PATIENCE_MS 1000 /* for the first answer of metadata that nobody has named */
#define ANSWER_MAX ((size_t)64 << 10)

static struct {
    struct cw_mutex getting; /* held while some are got; taken before `mutex` */
    char *header;            /* guarded by getting: of the requests that are made now; NULL: none */
    struct cw_mutex mutex;   /* guards what follows */
    bool is_known;           /* keys are there, or there are none to be had, until until_ms */
    struct cw_aws_keys keys;
    int64_t got_ms, until_ms, end_ms; /* when others are asked for; when these end */
    uint64_t generation;              /* how often there were other keys */
    bool was_refused, is_expired;
} role = {.getting = CW_MUTEX_INIT, .mutex = CW_MUTEX_INIT};

static _Thread_local uint64_t seen; /* the generation when this thread's work began */

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

void cw_aws_keys_fini(struct cw_aws_keys *keys)
{
    cw_small_file_forget(keys->id);
    cw_small_file_forget(keys->secret);
    cw_small_file_forget(keys->token);
    *keys = (struct cw_aws_keys){0};
}

static bool is_good(void)
{
    cw_mutex_lock(&role.mutex);
    bool is = role.is_known && cw_clock_ms() < role.until_ms;
    cw_mutex_unlock(&role.mutex);
    return is;
}

/* Keys are still good for a while, so that who gives them may be away for a moment. Others are asked for
 * soon. */
static bool still_lasts(void)
{
    cw_mutex_lock(&role.mutex);
    const int64_t now = cw_clock_ms();
    bool lasts = role.is_known && role.keys.id && now < role.end_ms;
    if (lasts)
        role.until_ms = CW_MIN(now + YOUNG_MS, role.end_ms);
    cw_mutex_unlock(&role.mutex);
    return lasts;
}

static bool has_keys(void)
{
    cw_mutex_lock(&role.mutex);
    bool has = role.is_known && role.keys.id;
    cw_mutex_unlock(&role.mutex);
    return has;
}

/* Takes the keys, which end then; others are asked for from until_ms on. Without any there are none to be
 * had before. */
static void set(struct cw_aws_keys keys, int64_t until_ms, int64_t end_ms)
{
    cw_mutex_lock(&role.mutex);
    cw_aws_keys_fini(&role.keys);
    role.keys = keys;
    role.is_known = true;
    role.got_ms = cw_clock_ms();
    role.until_ms = until_ms;
    role.end_ms = end_ms;
    role.generation++;
    role.was_refused = role.is_expired = false;
    cw_mutex_unlock(&role.mutex);
}

static void set_none(int64_t until_ms)
{
    set((struct cw_aws_keys){0}, until_ms, 0);
}

bool cw_aws_role_get(struct cw_aws_keys *ret_keys)
{
    cw_mutex_lock(&role.mutex);
    bool has = role.is_known && role.keys.id;
    if (has)
        *ret_keys =
            (struct cw_aws_keys){cw_mem_strdup(role.keys.id), cw_mem_strdup(role.keys.secret),
                                 cw_mem_strdup(role.keys.token)};
    cw_mutex_unlock(&role.mutex);
    return has;
}

void cw_aws_role_refused(bool is_expired)
{
    cw_mutex_lock(&role.mutex);
    role.was_refused = true;
    role.is_expired = role.is_expired || is_expired;
    cw_mutex_unlock(&role.mutex);
}

/* Others may have been refused with the same keys, and have seen to new ones already. */
static bool is_of_others(int rc)
{
    return (rc == CW_E_DENIED || rc == CW_E_IO) && role.is_known && role.keys.id &&
           (seen != role.generation || role.until_ms == 0);
}

bool cw_aws_role_drop(int rc)
{
    cw_mutex_lock(&role.mutex);
    bool drops = role.is_known && role.keys.id && role.was_refused &&
                 (role.is_expired || cw_clock_ms() - role.got_ms > YOUNG_MS);
    if (drops) /* requests go on with them until there are others */
        role.until_ms = role.end_ms = 0;
    drops = drops || is_of_others(rc);
    role.was_refused = false;
    cw_mutex_unlock(&role.mutex);
    return drops;
}

void cw_aws_role_forget(void)
{
    set_none(0);
    cw_mutex_lock(&role.mutex);
    role.is_known = false;
    cw_mutex_unlock(&role.mutex);
}

/* ---- asking ---- */

static int make(const struct cw_ask *ask, struct cw_wire *ret_wire, struct cw_err *err)
{
    (void)err;
    ret_wire->url = cw_mem_strdup(ask->url);
    if (strcmp(ask->method, "POST") == 0)
        cw_wire_add(ret_wire, "Content-Type: application/x-www-form-urlencoded");
    if (role.header)
        cw_wire_add(ret_wire, "%s", role.header);
    return 0;
}

static void explain(const char *body, struct cw_str *ret_text)
{
    const char *code, *message;
    size_t n = cw_s3_element(body, "Code", &code), m = cw_s3_element(body, "Message", &message);
    cw_str_add_bytes(ret_text, code, n);
    if (n > 0 && m > 0)
        cw_str_add(ret_text, ": ");
    cw_str_add_bytes(ret_text, message, m);
}

struct question {
    const char *method, *url, *body;
    int64_t patience_ms;
};

/* Asks, and returns the answer, which is a secret: cw_small_file_forget. Takes the header. */
static int ask(const struct question *q, char *header, const struct cw_stop *stop, char **ret_text,
               struct cw_err *err)
{
    static const struct cw_dialect dialect = {.make = make, .explain = explain};
    struct cw_fetch fetch = {.dialect = &dialect,
                             .ask = {.method = q->method, .url = q->url, .body = q->body},
                             .fd = -1,
                             .patience_ms = q->patience_ms,
                             .body_max = ANSWER_MAX};
    role.header = header;
    int rc = cw_fetch_run(&fetch, stop, err);
    cw_small_file_forget(header);
    role.header = NULL;
    if (rc == 0)
        *ret_text = cw_mem_strdup(cw_str_text(&fetch.body));
    if (fetch.body.len > 0)
        explicit_bzero(fetch.body.s, fetch.body.len);
    cw_fetch_fini(&fetch);
    return rc;
}

/* ---- answers ---- */

static bool is_printable(const char *text)
{
    bool is = text && *text;
    for (const char *p = text; p && *p; p++)
        is = is && *p > ' ' && *p < 0x7f;
    return is;
}

/* Reads "2030-12-31T23:59:59Z". Returns how long it is until then; LASTING_MS: it is no such time. */
static int64_t lasts_ms(const char *text)
{
    struct tm tm = {0};
    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
        return LASTING_MS;
    return (int64_t)timegm(&tm) * 1000 - cw_clock_wall_ms();
}

static char *copy_element(const char *body, const char *name)
{
    const char *text;
    size_t n = cw_s3_element(body, name, &text);
    return n > 0 ? cw_mem_strndup(text, n) : NULL;
}

static char *copy_member(const struct cw_value *object, const char *key)
{
    const struct cw_value *value =
        object->type == CW_VALUE_OBJECT ? cw_value_get(object, key) : NULL;
    return value && value->type == CW_VALUE_STR ? cw_mem_strdup(value->s) : NULL;
}

/* The service of tokens answers in XML, all others in JSON. */
bool cw_aws_keys_parse(const char *body, struct cw_aws_keys *ret_keys, char **ret_expires)
{
    struct cw_value answer = {0};
    *ret_keys = (struct cw_aws_keys){0};
    *ret_expires = NULL;
    if (body[0] == '<') {
        *ret_keys = (struct cw_aws_keys){copy_element(body, "AccessKeyId"),
                                         copy_element(body, "SecretAccessKey"),
                                         copy_element(body, "SessionToken")};
        *ret_expires = copy_element(body, "Expiration");
    } else if (cw_value_parse(body, strlen(body), "answer", &answer, NULL) == 0) {
        *ret_keys = (struct cw_aws_keys){copy_member(&answer, "AccessKeyId"),
                                         copy_member(&answer, "SecretAccessKey"),
                                         copy_member(&answer, "Token")};
        *ret_expires = copy_member(&answer, "Expiration");
    }
    cw_value_fini(&answer);
    return is_printable(ret_keys->id) && is_printable(ret_keys->secret) &&
           is_printable(ret_keys->token);
}

static int take(const char *body, const char *url, struct cw_err *err)
{
    struct cw_aws_keys keys;
    char *expires;
    if (!cw_aws_keys_parse(body, &keys, &expires)) {
        cw_aws_keys_fini(&keys);
        cw_mem_free(expires);
        return cw_err_set(err, CW_E_CORRUPT, "%s: the answer has no credentials", url);
    }
    const int64_t lasts = CW_MIN(CW_MAX(lasts_ms(expires), 0), INT64_C(86400000));
    const int64_t now = cw_clock_ms();
    set(keys, now + lasts - CW_MIN(SPARE_MS, lasts / 2), now + lasts);
    cw_mem_free(expires);
    return 0;
}

/* ---- web identity ---- */

/* What is a secret goes over no network in plain text. */
static bool is_safe(const char *url)
{
    return cw_str_starts(url, "https://") || cw_str_starts(url, "http://127.0.0.1:") ||
           cw_str_starts(url, "http://127.0.0.1/");
}

static char *sts_url(const struct cw_aws_config *c)
{
    const char *url = variable("AWS_ENDPOINT_URL_STS");
    if (!url)
        url = variable("AWS_ENDPOINT_URL");
    if (url)
        return cw_mem_printf("%s%s", url, url[strlen(url) - 1] == '/' ? "" : "/");
    return cw_mem_printf("https://sts.%s.amazonaws.com%s/", c->region,
                         strncmp(c->region, "cn-", 3) == 0 ? ".cn" : "");
}

static void add_form(struct cw_str *body, const char *name, const char *value)
{
    cw_str_addf(body, "&%s=", name);
    cw_url_encode(body, value, strlen(value), false);
}

static int by_web_identity(const struct cw_aws_config *c, const struct cw_stop *stop,
                           struct cw_err *err)
{
    struct cw_str token = {0}, body = {0};
    char *answer = NULL;
    cw_autofree char *url = sts_url(c);
    if (!is_safe(url))
        return cw_err_set(err, CW_E_INVALID, "%s: a token is shown to servers of https only", url);
    int rc = cw_small_file_read(c->token_file, &token, err);
    while (token.len > 0 && token.s[token.len - 1] == '\n')
        token.s[--token.len] = '\0';
    if (rc == 0) {
        cw_str_add(&body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
        add_form(&body, "RoleArn", c->role_arn);
        add_form(&body, "RoleSessionName", c->session_name);
        add_form(&body, "WebIdentityToken", cw_str_text(&token));
        rc = ask(&(struct question){"POST", url, body.s, 0}, NULL, stop, &answer, err);
    }
    if (rc == 0)
        rc = take(answer, url, err);
    cw_small_file_forget(answer);
    cw_small_file_forget(token.s);
    cw_small_file_forget(body.s);
    return rc;
}

/* ---- containers ---- */

/* The agents of AWS have addresses of the link. */
static bool is_agent(const char *url)
{
    return is_safe(url) || cw_str_starts(url, CONTAINER_HOST "/") ||
           cw_str_starts(url, "http://169.254.170.23/") ||
           cw_str_starts(url, "http://[fd00:ec2::23]/");
}

static int container_header(char **ret_header, struct cw_err *err)
{
    const char *path = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
               *text = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct cw_str read = {0};
    int rc = path ? cw_small_file_read(path, &read, err) : 0;
    if (rc == 0 && path)
        text = cw_str_text(&read);
    if (rc == 0 && text)
        *ret_header = cw_mem_printf("Authorization: %.*s", (int)strcspn(text, "\r\n"), text);
    cw_small_file_forget(read.s);
    return rc;
}

static int by_container(const struct cw_stop *stop, struct cw_err *err)
{
    const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
               *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    cw_autofree char *url =
        relative ? cw_mem_printf(CONTAINER_HOST "%s", relative) : cw_mem_strdup(full);
    char *header = NULL, *answer = NULL;
    if (!is_agent(url))
        return cw_err_set(err, CW_E_INVALID,
                          "%s: is neither https nor an agent of AWS for containers", url);
    int rc = container_header(&header, err);
    if (rc == 0)
        rc = ask(&(struct question){"GET", url, NULL, 0}, header, stop, &answer, err);
    if (rc == 0)
        rc = take(answer, url, err);
    cw_small_file_forget(answer);
    return rc;
}

/* ---- instances ---- */

/* Asks for one thing of the metadata with the token of its session. */
static int ask_metadata(const char *host, const char *session, const char *name,
                        const struct cw_stop *stop, char **ret_text, char **ret_url,
                        struct cw_err *err)
{
    *ret_url =
        cw_mem_printf("%s/latest/meta-data/iam/security-credentials/%s", host, name ? name : "");
    return ask(&(struct question){"GET", *ret_url, NULL, 0},
               cw_mem_printf("X-aws-ec2-metadata-token: %s", session), stop, ret_text, err);
}

static int by_session(const char *host, const char *session, const struct cw_stop *stop,
                      struct cw_err *err)
{
    cw_autofree char *list_url = NULL;
    cw_autofree char *url = NULL;
    char *names = NULL, *answer = NULL;
    if (!is_printable(session))
        return cw_err_set(err, CW_E_CORRUPT, "%s: gives no token for its metadata", host);
    int rc = ask_metadata(host, session, NULL, stop, &names, &list_url, err);
    if (rc == 0) {
        names[strcspn(names, "\r\n")] = '\0'; /* one role an instance */
        rc = ask_metadata(host, session, names, stop, &answer, &url, err);
    }
    if (rc == 0)
        rc = take(answer, url, err);
    cw_small_file_forget(answer);
    cw_mem_free(names);
    return rc;
}

static int by_instance(const struct cw_stop *stop, struct cw_err *err)
{
    const char *named = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
               *host = named ? named : INSTANCE_HOST;
    const size_t n = strlen(host);
    cw_autofree char *base = cw_mem_strndup(host, n - (host[n - 1] == '/'));
    cw_autofree char *url = cw_mem_printf("%s/latest/api/token", base);
    char *session = NULL;
    int rc = ask(&(struct question){"PUT", url, "", named ? 0 : INSTANCE_PATIENCE_MS},
                 cw_mem_strdup("X-aws-ec2-metadata-token-ttl-seconds: 300"), stop, &session, err);
    if (rc == 0)
        rc = by_session(base, session, stop, err);
    cw_small_file_forget(session);
    if (rc == 0 || named || rc == CW_E_CANCELLED || has_keys())
        return rc;
    set_none(cw_clock_ms() + AGAIN_MS); /* this is no instance, or it has no role */
    return 0;
}

/* Instances of AWS are asked for objects of AWS only, unless somebody names who is to be asked. */
static bool asks_instance(const struct cw_aws_config *c)
{
    const char *off = variable("AWS_EC2_METADATA_DISABLED");
    if (off && strcmp(off, "true") == 0)
        return false;
    return variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") || !c->endpoint;
}

static int get(const struct cw_stop *stop, struct cw_err *err)
{
    struct cw_aws_config c;
    int rc = 0;
    if (cw_aws_config_load(&c, NULL) < 0)
        return 0; /* whoever makes the request says what is wrong */
    if (c.role_arn)
        rc = by_web_identity(&c, stop, err);
    else if (c.id)
        set_none(INT64_MAX);
    else if (variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
             variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
        rc = by_container(stop, err);
    else if (asks_instance(&c))
        rc = by_instance(stop, err);
    else
        set_none(INT64_MAX);
    cw_aws_config_fini(&c);
    if (rc == 0)
        return 0;
    cw_err_wrap(err, "while credentials for s3:// are got");
    rc = cw_err_is_of_data(rc) ? CW_E_DENIED : rc; /* it says nothing of the element */
    if (err)
        err->code = rc;
    return rc;
}

int cw_aws_role_ensure(const struct cw_stop *stop, struct cw_err *err)
{
    int rc = 0;
    if (!is_good()) {
        cw_mutex_lock(&role.getting);
        if (!is_good())
            rc = get(stop, err);
        if (rc < 0 && rc != CW_E_CANCELLED && still_lasts())
            rc = 0;
        cw_mutex_unlock(&role.getting);
    }
    cw_mutex_lock(&role.mutex);
    seen = role.generation;
    cw_mutex_unlock(&role.mutex);
    return rc;
}
