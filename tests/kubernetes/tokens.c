/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of service accounts: asking for one (TokenRequest), and asking whose one is (TokenReview). */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

#define LEAST_S 600
#define USUAL_S 3600

/* ---- TokenRequest ---- */

/* Claims as those of a real one, but for those of pods and secrets; nobody looks at the signature here. */
static char *new_token(struct fk_call *call, const json_t *audiences, int64_t expires_s)
{
    char uid[40];
    fk_uid(call->server, uid);
    cw_autofree char *subject = cw_mem_printf("system:serviceaccount:%s:%s", call->ns, call->name);
    json_auto_t *claims = json_pack(
        "{s:O?, s:I, s:s, s:s, s:{s:s, s:{s:s}}, s:s}", "aud", audiences, "exp",
        (json_int_t)expires_s, "iss", "https://kubernetes.default.svc", "jti", uid, "kubernetes.io",
        "namespace", call->ns, "serviceaccount", "name", call->name, "sub", subject);
    cw_autofree char *text = fk_dump(claims, false, NULL);
    cw_autofree char *head = fk_base64url("{\"alg\":\"RS256\",\"kid\":\"fake\"}");
    cw_autofree char *body = fk_base64url(text);
    cw_autofree char *signature = fk_base64url(uid);
    char *token = cw_mem_printf("%s.%s.%s", head, body, signature);
    fk_server_set_token(call->server, token, subject, NULL);
    fk_server_set_audience(call->server, token, json_string_value(json_array_get(audiences, 0)));
    return token;
}

static bool check_seconds(struct fk_call *call, int64_t seconds)
{
    if (seconds >= LEAST_S)
        return true;
    json_t *causes = json_array();
    fk_cause(causes, "FieldValueInvalid", "spec.expirationSeconds",
             "Invalid value: %lld: may not specify a duration less than 10 minutes",
             (long long)seconds);
    return fk_fail_invalid(call, call->name, causes);
}

void fk_handle_token_request(struct fk_call *call)
{
    json_auto_t *request = fk_body(call);
    if (!request)
        return;
    if (!fk_store_get(call->kind, call->ns, call->name)) {
        fk_fail_not_found(call);
        return;
    }
    const json_t *audiences = fk_at(request, "spec.audiences");
    int64_t seconds = fk_int(request, "spec.expirationSeconds", USUAL_S);
    if (!check_seconds(call, seconds))
        return;
    int64_t expires_s = fk_wall_ms(call->server) / 1000 + seconds;
    cw_autofree char *token = new_token(call, audiences, expires_s);
    fk_put_text(request, "status.token", token);
    call->server->counts.writes++;
    fk_answer_object(call, 201, request);
}

/* ---- TokenReview ---- */

static const struct fk_token *find_token(const struct fk_server *server, const char *token)
{
    for (size_t i = 0; token && i < server->tokens_n; i++)
        if (cw_str_eq(server->tokens[i].token, token))
            return &server->tokens[i];
    return NULL;
}

static bool is_for(const struct fk_token *token, const json_t *audiences)
{
    size_t i;
    json_t *value;
    json_array_foreach (audiences, i, value)
        if (cw_str_eq(json_string_value(value), token->audience))
            return true;
    return !token->audience;
}

static json_t *unknown(const struct fk_token *token, const json_t *audiences)
{
    if (!token)
        return json_pack("{s:{}, s:s}", "user", "error", "invalid bearer token");
    cw_autofree char *wanted = fk_dump(audiences, false, NULL);
    cw_autofree char *error =
        cw_mem_printf("[invalid bearer token, token audiences [\"%s\"] is invalid for the target "
                      "audiences %s]",
                      token->audience, wanted);
    return json_pack("{s:{}, s:s}", "user", "error", error);
}

static json_t *known(const struct fk_token *token, json_t *audiences)
{
    json_t *groups = json_pack("[s]", "system:authenticated");
    if (*token->group)
        json_array_append_new(groups, json_string(token->group));
    return json_pack("{s:b, s:{s:s, s:o}, s:O?}", "authenticated", 1, "user", "username",
                     token->user, "groups", groups, "audiences", audiences);
}

void fk_handle_token_review(struct fk_call *call)
{
    json_auto_t *review = fk_body(call);
    if (!review)
        return;
    json_t *audiences = fk_at(review, "spec.audiences");
    const struct fk_token *token = find_token(call->server, fk_text(review, "spec.token"));
    json_t *status =
        token && is_for(token, audiences) ? known(token, audiences) : unknown(token, audiences);
    json_object_set_new(review, "status", status);
    fk_put(review, "metadata", json_object());
    fk_managed_update(call->server, call->kind, NULL, review, call->manager, NULL);
    call->server->counts.reads++;
    fk_answer_object(call, 201, review);
}
