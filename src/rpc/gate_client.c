/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side: which calls show the channel's token. */
#include <stdio.h>
#include <string.h>

#include "auth/token_file.h"
#include "base/mem.h"
#include "rpc/channel_int.h"
#include "rpc/gate.h"
#include "rpc/relay.h"

void cw_channel_set_token(struct cw_channel *channel, const char *text, const char *file)
{
    cw_channel_token_fini(&channel->token);
    channel->token.text = cw_mem_strdup(text);
    channel->token.file = cw_mem_strdup(file);
    if (channel->relayed)
        cw_relay_token(channel->rpc->relay, channel->relayed, text, file);
}

void cw_channel_token_fini(struct cw_channel_token *token)
{
    cw_mem_free(token->text);
    cw_mem_free(token->file);
    *token = (struct cw_channel_token){0};
}

#define BEARER "Bearer "

static bool has_token(const struct cw_channel *channel)
{
    return channel->token.text || channel->token.file;
}

/* The file is read for each call, so that a new token counts from the next call on. */
static int find(const struct cw_channel *channel, char ret_text[CW_AUTH_TOKEN_MAX + 1],
                struct cw_err *err)
{
    if (!channel->token.text)
        return cw_auth_own_token(channel->token.file, ret_text, err);
    snprintf(ret_text, CW_AUTH_TOKEN_MAX + 1, "%s", channel->token.text);
    return 0;
}

void cw_shown_token_init(struct cw_shown_token *shown, struct cw_channel *channel)
{
    char text[CW_AUTH_TOKEN_MAX + 1], value[CW_AUTH_TOKEN_MAX + 16];
    *shown = (struct cw_shown_token){0};
    bool may = channel->token.asked || channel->tls_generation > 0;
    if (!may || !has_token(channel) || find(channel, text, NULL) != 0)
        return;
    snprintf(value, sizeof(value), BEARER "%s", text);
    shown->entry.key = grpc_slice_from_copied_string("authorization");
    shown->entry.value = grpc_slice_from_copied_string(value);
    shown->n = 1;
    explicit_bzero(text, sizeof(text));
    explicit_bzero(value, sizeof(value));
}

void cw_shown_token_fini(struct cw_shown_token *shown)
{
    if (shown->n == 0)
        return;
    grpc_slice_unref(shown->entry.key);
    grpc_slice_unref(shown->entry.value);
    shown->n = 0;
}

/* Whether the next call would show a token, and another one than was shown: calls may have begun before
 * the first of them was asked, and tokens may have been rotated while the call was under way. */
static bool has_another(const struct cw_channel *channel, const struct cw_shown_token *shown)
{
    char text[CW_AUTH_TOKEN_MAX + 1];
    if (find(channel, text, NULL) != 0)
        return false;
    if (shown->n == 0) {
        explicit_bzero(text, sizeof(text));
        return true;
    }
    size_t n = strlen(text), before = GRPC_SLICE_LENGTH(shown->entry.value);
    const unsigned char *value = GRPC_SLICE_START_PTR(shown->entry.value);
    bool same = before == n + strlen(BEARER) && memcmp(value + strlen(BEARER), text, n) == 0;
    explicit_bzero(text, sizeof(text));
    return !same;
}

bool cw_channel_note_asked(struct cw_channel *channel, const struct cw_shown_token *shown,
                           grpc_status_code status)
{
    if (status != GRPC_STATUS_UNAUTHENTICATED || !has_token(channel))
        return false;
    bool is_first = shown->n == 0 && !channel->token.asked;
    bool news = is_first || has_another(channel, shown);
    if (news)
        channel->token.asked = channel->token.news = true;
    return news;
}

bool cw_channel_was_asked(struct cw_channel *channel)
{
    bool news = channel->token.news;
    channel->token.news = false;
    return news;
}

void cw_channel_token_explain(const struct cw_channel *channel, char *msg, size_t cap)
{
    char text[CW_AUTH_TOKEN_MAX + 1];
    struct cw_err err = {0};
    if (channel->token.file && !channel->token.text && find(channel, text, &err) != 0)
        snprintf(msg, cap, "a token is needed, and %s", err.msg);
    explicit_bzero(text, sizeof(text));
}
