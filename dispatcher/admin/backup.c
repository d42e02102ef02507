/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.Backup: a consistent copy of the state, as a stream of parts. A thread makes the copy and
 * reads it part by part; the loop sends a part, and asks for the next one when the peer has taken
 * it. Only one backup is made at a time. */
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/thread.h"
#include "dispatcher/admin/admin_int.h"

#define PART_BYTES ((size_t)256 << 10)
#define QUEUED_BYTES ((size_t)512 << 10)

struct cw_backup {
    struct cw_dispatcher *d;
    /* The caller's stream; NULL once the caller does not want the copy any more. Loop thread. */
    struct cw_stream *stream;
    bool begun; /* The thread that copies was started, or is about to be. Loop thread. */
    bool over;  /* No more parts are sent, and the stream is ending. Loop thread. */
    struct cw_thread thread;
    atomic_int stop;
    struct cw_mutex mutex; /* The mutex guards the fields below. */
    struct cw_cond cond;
    bool wanted; /* The loop has sent the last part and wants the next one. */
};
struct part {
    struct cw_backup *backup;
    struct cw_buf *buf; /* The next part of the copy; NULL if the thread has ended. */
    uint64_t size;      /* The size of the whole copy, which is known after the last part. */
    struct cw_hash hash;
    struct cw_err err;
};

static void backup_free(struct cw_backup *backup)
{
    if (backup->d->backup == backup)
        backup->d->backup = NULL;
    cw_stream_free(backup->stream);
    cw_cond_fini(&backup->cond);
    cw_mutex_fini(&backup->mutex);
    cw_mem_free(backup);
}

static void want(struct cw_backup *backup)
{
    cw_mutex_lock(&backup->mutex);
    backup->wanted = true;
    cw_cond_signal(&backup->cond);
    cw_mutex_unlock(&backup->mutex);
}

static void abandon(struct cw_backup *backup)
{
    atomic_store(&backup->stop, 1);
    want(backup);
}

static void send_part(struct cw_backup *backup, const struct part *part)
{
    Cachew__V1__BackupPart message = CACHEW__V1__BACKUP_PART__INIT;
    if (part->buf) {
        message.data = (ProtobufCBinaryData){part->buf->len, part->buf->data};
    } else {
        message.last = true;
        message.size = part->size;
        message.hash_hi = part->hash.hi;
        message.hash_lo = part->hash.lo;
        message.generation = backup->d->generation;
    }
    cw_wire_send(backup->stream, &message.base);
}

/* ---- on the loop thread ---- */

static void on_part(void *arg)
{
    struct part *part = arg;
    struct cw_backup *backup = part->backup;
    bool ended = !part->buf, failed = part->err.code != 0;
    if (backup->stream && !failed)
        send_part(backup, part);
    if (backup->stream && ended) {
        cw_log_info(CW_LOG_MOD, "a copy of the state: %s", failed ? part->err.msg : "it is sent");
        backup->over = true;
        cw_stream_finish(backup->stream, part->err.code, failed ? part->err.msg : "");
    }
    if (!ended && backup->stream && cw_stream_queued(backup->stream) <= QUEUED_BYTES)
        want(backup);
    cw_buf_unref(part->buf);
    cw_mem_free(part);
    if (!ended)
        return;
    cw_thread_join(&backup->thread);
    backup->begun = false;
    if (!backup->stream)
        backup_free(backup);
}

/* ---- on the backup thread ---- */

static bool wait_wanted(struct cw_backup *backup)
{
    cw_mutex_lock(&backup->mutex);
    while (!backup->wanted)
        cw_cond_wait(&backup->cond, &backup->mutex);
    backup->wanted = false;
    cw_mutex_unlock(&backup->mutex);
    return atomic_load(&backup->stop) == 0;
}

static int read_parts(struct cw_backup *backup, int fd, struct part *end)
{
    struct cw_hasher *hasher = cw_hasher_new();
    int rc = 0;
    while (rc == 0 && wait_wanted(backup)) {
        struct cw_buf *buf = cw_buf_new(PART_BYTES);
        ssize_t n = buf ? pread(fd, buf->data, PART_BYTES, (off_t)end->size) : 0;
        if (!buf || n < 0)
            rc = buf ? cw_err_errno(&end->err, errno, "cannot read the copy of state.db")
                     : cw_err_set(&end->err, CW_E_NOMEM, "out of memory");
        if (rc != 0 || n == 0) {
            cw_buf_unref(buf);
            break;
        }
        buf->len = (size_t)n;
        end->size += (uint64_t)n;
        cw_hasher_add(hasher, buf->data, buf->len);
        struct part *part = CW_NEW(struct part);
        *part = (struct part){.backup = backup, .buf = buf};
        cw_loop_post(backup->d->loop, on_part, part);
    }
    end->hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return rc;
}

static void run(void *arg)
{
    struct cw_backup *backup = arg;
    struct part *end = CW_NEW(struct part);
    end->backup = backup;
    int fd = -1;
    if (cw_state_backup(backup->d->state, &backup->stop, &fd, &end->err) == 0)
        (void)read_parts(backup, fd, end);
    if (fd >= 0)
        close(fd);
    cw_loop_post(backup->d->loop, on_part, end);
}

/* ---- the stream ---- */

static void on_low(void *arg)
{
    want(arg);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_backup *backup = arg;
    (void)code, (void)msg;
    cw_stream_free(cw_steal(&backup->stream));
    if (backup->begun)
        abandon(backup);
    else
        backup_free(backup);
}

static void begin(void *arg, const struct cw_err *err)
{
    struct cw_backup *backup = arg;
    if (!backup->stream || err) {
        if (backup->stream)
            cw_stream_finish(backup->stream, err->code, err->msg);
        backup->over = true;
        backup->begun = false;
        if (!backup->stream)
            backup_free(backup);
        return;
    }
    backup->wanted = true;
    cw_thread_start(&backup->thread, "cachew-backup", run, backup);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_backup *backup = arg;
    (void)msg; /* A backup request has no options. */
    if (backup->begun || backup->over)
        return;
    backup->begun = true;
    /* The copy then contains everything that was answered before. */
    cw_when_stored(backup->d, begin, backup);
}

static void open_backup(void *dispatcher, struct cw_stream *stream)
{
    static const struct cw_stream_cb callbacks = {
        .on_message = on_message, .on_low = on_low, .on_close = on_close};
    struct cw_dispatcher *d = dispatcher;
    struct cw_backup *backup = CW_NEW(struct cw_backup);
    backup->d = d;
    backup->stream = stream;
    cw_mutex_init(&backup->mutex);
    cw_cond_init(&backup->cond);
    cw_stream_accept(stream, &callbacks, backup);
    cw_stream_set_low(stream, QUEUED_BYTES);
    if (d->backup || d->stopping) {
        cw_stream_finish(stream, CW_E_UNAVAILABLE,
                         d->stopping ? "the dispatcher is stopping"
                                     : "another copy of the state is being made");
        backup->over = true;
        return;
    }
    d->backup = backup;
}

void cw_backup_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/Backup", NULL, open_backup, d};
    cw_server_add(d->server, &method);
}

void cw_backup_close(struct cw_dispatcher *d)
{
    if (!d->backup || !d->backup->begun)
        return;
    abandon(d->backup);
    /* Calls that the thread has posted run before the loop is freed. */
    cw_thread_join(&d->backup->thread);
}
