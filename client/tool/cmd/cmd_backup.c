/* SPDX-License-Identifier: Apache-2.0 */
/* cachew backup FILE: a consistent copy of a running dispatcher's state. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "rpc/rpc.h"
#include "wire/wire.h"

#define SILENCE_MS 60000 /* The dispatcher copies a large state before it sends the first part. */

struct backup {
    struct cw_loop *loop;
    struct cw_timer *timer;
    const char *path; /* The path of the file that is written. */
    int fd;
    uint64_t size;
    struct cw_hasher *hasher;
    bool whole;
    int rc;
    struct cw_err *err;
};

static void stop(struct backup *backup)
{
    cw_loop_stop(backup->loop);
}

static int write_all(struct backup *backup, const uint8_t *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t done = write(backup->fd, p + at, n - at);
        if (done < 0 && errno != EINTR)
            return cw_err_errno(backup->err, errno, "cannot write %s", backup->path);
        at += done > 0 ? (size_t)done : 0;
    }
    backup->size += n;
    cw_hasher_add(backup->hasher, p, n);
    return 0;
}

static int check_whole(struct backup *backup, const Cachew__V1__BackupPart *part)
{
    const struct cw_hash hash = cw_hasher_get(backup->hasher);
    if (part->size != backup->size ||
        !cw_hash_eq(hash, (struct cw_hash){part->hash_hi, part->hash_lo}))
        return cw_err_set(backup->err, CW_E_CORRUPT,
                          "the copy was damaged on its way: %" PRIu64 " of %" PRIu64
                          " bytes came: try again",
                          backup->size, part->size);
    backup->whole = true;
    return 0;
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct backup *backup = arg;
    Cachew__V1__BackupPart *part = (Cachew__V1__BackupPart *)cw_wire_unpack(
        &cachew__v1__backup_part__descriptor, msg, backup->err);
    cw_timer_start(backup->timer, SILENCE_MS, 0);
    backup->rc = !part        ? CW_E_CORRUPT
                 : part->last ? check_whole(backup, part)
                              : write_all(backup, part->data.data, part->data.len);
    if (part)
        protobuf_c_message_free_unpacked(&part->base, NULL);
    if (backup->rc != 0 || backup->whole)
        stop(backup);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct backup *backup = arg;
    if (!backup->whole && backup->rc == 0)
        backup->rc = cw_err_set(backup->err, code != 0 ? code : CW_E_UNAVAILABLE, "%s",
                                msg && msg[0] ? msg : "the copy ended too early");
    stop(backup);
}

static void on_silence(void *arg)
{
    struct backup *backup = arg;
    backup->rc = cw_err_set(backup->err, CW_E_TIMEOUT, "nothing came for %d s", SILENCE_MS / 1000);
    stop(backup);
}

static void request_copy(struct backup *backup, struct cw_channel *channel)
{
    static const struct cw_stream_cb callbacks = {.on_message = on_message, .on_close = on_close};
    struct cw_stream *stream =
        cw_channel_stream(channel, "/cachew.v1.Admin/Backup", &callbacks, backup);
    Cachew__V1__BackupRequest request = CACHEW__V1__BACKUP_REQUEST__INIT;
    cw_wire_send(stream, &request.base);
    cw_timer_start(backup->timer, SILENCE_MS, 0);
    cw_loop_run(backup->loop);
    cw_stream_free(stream);
}

static int receive(struct backup *backup, const char *address)
{
    if (cw_str_starts(address, "local:"))
        return cw_err_set(
            backup->err, CW_E_INVALID,
            "which dispatcher? give --dispatcher HOST:PORT, or set CACHEW_DISPATCHER");
    backup->loop = cw_loop_new();
    backup->timer = cw_timer_new(backup->loop, on_silence, backup);
    struct cw_rpc *rpc = cw_rpc_new(backup->loop);
    struct cw_channel *channel = tool_open_channel(rpc, address);
    request_copy(backup, channel);
    if (cw_channel_was_asked(channel)) { /* for the token, which the second stream shows */
        backup->rc = 0;
        request_copy(backup, channel);
    }
    cw_timer_free(backup->timer);
    cw_channel_close(channel);
    cw_rpc_free(rpc);
    cw_loop_free(backup->loop);
    return backup->rc < 0
               ? cw_err_wrap(backup->err, "cannot copy the state of the dispatcher at %s", address)
               : 0;
}

static int sync_folder(const char *file, struct cw_err *err)
{
    cw_autofree char *folder = cw_mem_strdup(file);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) != 0
                 ? cw_err_errno(err, errno, "cannot store the name of %s", file)
                 : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Afterwards FILE is complete, or it is as it was before. */
static int copy_to(const char *file, const char *address, uint64_t *ret_size, struct cw_err *err)
{
    cw_autofree char *tmp = cw_mem_printf("%s.tmp", file);
    struct backup backup = {.path = tmp, .err = err};
    backup.fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (backup.fd < 0)
        return cw_err_errno(err, errno, "cannot write %s", tmp);
    backup.hasher = cw_hasher_new();
    int rc = receive(&backup, address);
    cw_hasher_free(backup.hasher);
    if (rc == 0 && fsync(backup.fd) != 0)
        rc = cw_err_errno(err, errno, "cannot store %s", tmp);
    if (close(backup.fd) != 0 && rc == 0)
        rc = cw_err_errno(err, errno, "cannot store %s", tmp);
    if (rc == 0 && rename(tmp, file) != 0)
        rc = cw_err_errno(err, errno, "cannot give %s its name", file);
    if (rc != 0) {
        (void)unlink(tmp);
        return rc;
    }
    *ret_size = backup.size;
    return sync_folder(file, err);
}

int tool_cmd_backup(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew backup",
        .usage = "FILE [options]",
        .about = "Writes a copy of the state of a running dispatcher into FILE: all that was "
                 "answered before is in it. "
                 "The dispatcher goes on meanwhile. FILE is replaced when the copy is whole. It is "
                 "put back in the "
                 "place of state.db while no dispatcher runs (docs/backup.md).",
        .rows = rows,
        .tail = "examples:\n  cachew backup /backup/cachew.db --dispatcher host:7070\n"};
    const char *words[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "into which file?", words, 1, &code))
        return code;
    struct cw_err err = {0};
    uint64_t size = 0;
    if (copy_to(words[0], dispatcher, &size, &err) < 0)
        return tool_fail_err(&err);
    CW_STR_AUTO text = {0};
    tool_print_bytes((double)size, &text);
    printf("%s: %s\n", words[0], cw_str_text(&text));
    return TOOL_OK;
}
