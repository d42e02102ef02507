/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may say and hold. docs/limits.md explains each limit and says what happens beyond it.
 * They are enforced where messages come in, so that what is behind need not ask again. */
#ifndef CW_BASE_LIMITS_H
#define CW_BASE_LIMITS_H

/* ---- sets of items ---- */
/* The most items that a job is leased ahead of what is consumed. */
#define CW_WINDOW_MAX (1u << 20)
/* The most intervals of one set in a message: no window has more gaps. */
#define CW_INTERVALS_MAX CW_WINDOW_MAX
/* The most intervals of all sets of one acknowledgement. They are taken in pieces, each of which takes
 * less than CW_MESSAGE_LONG_NS. */
#define CW_ACK_INTERVALS_MAX (1u << 17)
/* Sets are sent in ascending order. As many intervals may come in another one. */
#define CW_INTERVALS_UNSORTED_MAX 4096
/* The most epochs of a job of which items or batches are left out by request. */
#define CW_SKIPPED_EPOCHS_MAX 4096
/* The most runs of items or batches of one epoch that are left out by request. */
#define CW_SKIPPED_RUNS_MAX 65536

/* ---- pipelines and jobs ---- */
/* The most bytes of a packed pipeline, and of its name. */
#define CW_PIPELINE_MAX ((size_t)32 << 20)
#define CW_PIPELINE_NAME_MAX 1024
/* The most bytes of a packed manifest, and of memory that one takes on a worker: at least these, or
 * half of the worker's budget if that is more. */
#define CW_MANIFEST_MAX ((size_t)32 << 20)
#define CW_MANIFEST_MEMORY ((size_t)256 << 20)
/* The dispatcher's loop unpacks messages of at most so many bytes itself. Larger ones are unpacked,
 * and pipelines in them checked, by another thread. */
#define CW_UNPACKED_HERE_MAX ((size_t)64 << 10)
/* The most consumers of a job. */
#define CW_CONSUMERS_MAX 4096
/* The most keys of the cache that a worker is told of, and chunks of all of them together. */
#define CW_CACHE_KEYS_MAX 4096
#define CW_CACHE_CHUNKS_MAX 4000000

/* ---- bad elements that are left out (src/data/bad_list.h) ---- */
/* The most elements of one output or batch that are described, and the most bytes of their texts.
 * All of them are counted. */
#define CW_BAD_LISTED_MAX 1000
#define CW_BAD_LIST_BYTES ((size_t)256 << 10)
/* The most bytes of one text. */
#define CW_BAD_TEXT_MAX ((size_t)512)
/* A trainer tells the dispatcher of as many, and the dispatcher keeps as many of a job. */
#define CW_BAD_FIRST_MAX 16

/* ---- elements that are shown to people (wire/wire_shown.c) ---- */
/* The most elements of one look, and about the most bytes of all their values. */
#define CW_SHOWN_ELEMENTS_MAX 8
#define CW_SHOWN_BYTES ((size_t)1 << 20)

/* The most workers from which a client fetches at a time. */
#define CW_FETCHED_WORKERS_MAX 1024

/* ---- connections (src/rpc/listen.h) ---- */
/* As many descriptors remain for files and for who is here already: connections are refused when
 * only these are free. It is an eighth of all, if that is less. */
#define CW_DESCRIPTORS_RESERVED 1024

/* ---- calls (src/rpc/door.h) ---- */
/* A call whose first message has not come as a whole after this time is ended. */
#define CW_FIRST_MESSAGE_MS 10000
/* The same, for a call that is being read while others of its host wait for their turn. */
#define CW_FIRST_MESSAGE_CROWDED_MS 1000
/* The most calls of a server whose first message is being read, of all peers and of one host. The
 * others wait, and hold no more than 64 KiB each in gRPC. */
#define CW_DOOR_READING_MAX 64
#define CW_DOOR_READING_PEER_MAX 16
/* The most calls that wait for that. More are refused. */
#define CW_DOOR_WAITING_MAX 30000
/* The most calls that wait until it is known who calls (rpc.h, CW_GATE_LATER). More are refused. */
#define CW_GATE_WAITING_MAX 4096
/* The most bytes that may wait for a worker or trainer that does not read. A worker that comes back
 * to many jobs is sent all their manifests at once. */
#define CW_QUEUE_MAX ((size_t)256 << 20)
/* What waits for a peer when its stream is ended is kept for so long, in case that it reads. */
#define CW_UNREAD_MS 10000
/* The most jobs and epochs of which a worker that comes back may hold something. */
#define CW_HELD_MAX 16384
/* The most bytes of metadata of a call, and the most calls at a time of one connection. */
#define CW_METADATA_MAX (16 << 10)
#define CW_CONNECTION_CALLS_MAX 1000
/* The largest message to a worker: hellos, credit and releases of slots. */
#define CW_FETCH_MESSAGE_MAX (256u << 10)
/* The largest pipeline that is checked on request. */
#define CW_CHECK_REQUEST_MAX ((size_t)256 << 10)
/* No message should take more CPU time of the loop's thread, since all others wait meanwhile. */
#define CW_MESSAGE_LONG_NS 10000000
/* The largest request of a unary call, unless the method is given another limit. */
#define CW_REQUEST_MAX (64u << 10)

/* ---- pages over HTTP (src/daemon/http.h) ---- */
/* The most connections at a time, of all and of one host. */
#define CW_HTTP_CONNECTIONS_MAX 64
#define CW_HTTP_HOST_MAX 16
/* A connection is ended when no whole request has come for this long, at first and after a
 * request. */
#define CW_HTTP_REQUEST_MS 5000
#define CW_HTTP_IDLE_MS 15000
/* An answer that goes on ends after this time, and who listens asks again. */
#define CW_HTTP_STREAM_MS 3600000
/* The most bytes of a body that is sent to a page. */
#define CW_HTTP_BODY_MAX 2048

#endif
