/* SPDX-License-Identifier: Apache-2.0 */
/* The client and its calls, shared by the files of this folder. */
#ifndef CW_HTTP_HTTP_INT_H
#define CW_HTTP_HTTP_INT_H

#include <curl/curl.h>
#include "http/http_client.h"

struct cw_http_client {
    struct cw_loop *loop;
    CURLM *multi;
    struct cw_timer *timer;     /* libcurl's only timer */
    struct cw_loop_node drive;  /* posted when libcurl wants to go on at once */
    bool drive_posted, in_curl; /* libcurl may not be entered from its own callbacks */
    /* How http_multi.c ends and frees a call. */
    void (*end_call)(struct cw_http_call *call, CURLcode result);
    void (*free_call)(struct cw_http_call *call);
    bool closing; /* freed as soon as the posted node has run */
    char *user_agent, *ca, *cert, *key;
    struct cw_http_call *calls;   /* all of them */
    struct cw_http_call *waiting; /* those begun while in libcurl, by next_waiting */
};

struct cw_http_call {
    struct cw_http_client *client;
    struct cw_http_call *prev, *next, *next_waiting;
    CURL *easy;
    struct curl_slist *headers;
    char *method, *where; /* "GET", what may be logged of the URL */
    struct cw_http_events events;
    struct cw_http_response response;
    struct cw_str head;
    size_t body_max;
    int64_t silence_ms, heard_ms;
    struct cw_timer *silence;
    bool added;        /* libcurl has it */
    bool cancelled;    /* to be freed when libcurl has returned */
    bool is_silent;    /* ended by the silence timer */
    struct cw_err err; /* of on_bytes, or of what came before libcurl */
    char cause[CURL_ERROR_SIZE];
};

/* ---- http_multi.c ---- */
void cw_http_multi_start(struct cw_http_client *client);
/* Closes all connections, and frees the client, at once or as soon as nothing of it is posted. */
void cw_http_multi_stop(struct cw_http_client *client);
/* Gives the call to libcurl as soon as that may be entered. */
void cw_http_multi_add(struct cw_http_client *client, struct cw_http_call *call);
/* Takes it back. Not from within libcurl. */
void cw_http_multi_remove(struct cw_http_client *client, struct cw_http_call *call);

/* ---- http_call.c ---- */
/* Tells the end of the call and frees it. Not from within libcurl. */
void cw_http_call_end(struct cw_http_call *call, CURLcode result);
void cw_http_call_free(struct cw_http_call *call);

#endif
