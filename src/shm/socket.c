/* SPDX-License-Identifier: Apache-2.0 */
/* Passes memfds over an abstract unix socket: whole packets (SOCK_SEQPACKET), with one descriptor
 * each; and messages, in packets without one. An abstract name is not in a file system and ends with its process. */
#include "shm/shm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/rng.h"

#define NAME_BYTES 40
#define BACKLOG 64

struct token_message {
    uint64_t magic, token;
};
struct slot_message {
    uint64_t magic, slot, cap;
};
#define TOKEN_MAGIC 0x4341434845575430u
#define SLOT_MAGIC 0x4341434845575330u
#define MESSAGE_MAGIC 0x4341434845574d30u

/* what a client may find in a packet */
union packet {
    uint64_t magic;
    struct slot_message slot;
    struct {
        uint64_t magic;
        uint8_t bytes[CW_SHM_MESSAGE_MAX];
    } message;
};

static socklen_t abstract_address(const char *name, struct sockaddr_un *ret_addr)
{
    memset(ret_addr, 0, sizeof(*ret_addr));
    ret_addr->sun_family = AF_UNIX;
    size_t n = strlen(name);
    memcpy(ret_addr->sun_path + 1, name, n);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int cw_shm_listen(char *ret_name, size_t cap, int *ret_fd, struct cw_err *err)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "cachew-shm-%016llx", (unsigned long long)cw_rng_process_id());
    if (cap <= strlen(name))
        return cw_err_set(err, CW_E_INVALID, "no room for a socket name");
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return cw_err_errno(err, errno, "shared memory: unix socket");
    struct sockaddr_un addr;
    socklen_t len = abstract_address(name, &addr);
    if (bind(fd, (const struct sockaddr *)&addr, len) != 0 || listen(fd, BACKLOG) != 0) {
        int rc = errno;
        close(fd);
        return cw_err_errno(err, rc, "shared memory: socket @%s", name);
    }
    memcpy(ret_name, name, strlen(name) + 1);
    *ret_fd = fd;
    return 0;
}

static bool peer_is_same_user(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid == geteuid();
}

int cw_shm_accept(int listen_fd, int *ret_fd, struct cw_err *err)
{
    for (;;) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno == EAGAIN)
            return cw_err_set(err, CW_E_AGAIN, "no connection waits");
        if (fd < 0)
            return cw_err_errno(err, errno, "shared memory: accept");
        if (peer_is_same_user(fd)) {
            *ret_fd = fd;
            return 0;
        }
        close(fd);
    }
}

/* Takes the descriptors of a control message. Its buffer is rounded up and so has room for two: a
 * second one that a peer sends is closed. */
static void take_fds(const struct cmsghdr *c, int *ret_fd)
{
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        if (n == 1)
            *ret_fd = fd;
        else
            close(fd);
    }
}

/* Receives one message with at most one descriptor. Returns its length, 0 at the end, or a negative
 * code. */
static int receive(int fd, void *p, size_t n, int *ret_passed_fd, struct cw_err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {p, n};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    ssize_t got;
    do
        got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return cw_err_set(err, CW_E_AGAIN, "nothing to read yet");
    if (got < 0 && errno != ECONNRESET)
        return cw_err_errno(err, errno, "shared memory: socket");
    *ret_passed_fd = -1;
    if (got <= 0)
        return 0;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        take_fds(c, ret_passed_fd);
    return (msg.msg_flags & MSG_TRUNC) ? (int)n + 1 : (int)got;
}

int cw_shm_recv_token(int fd, uint64_t *ret_token, struct cw_err *err)
{
    struct token_message m = {0};
    int passed = -1;
    int got = receive(fd, &m, sizeof(m), &passed, err);
    if (passed >= 0)
        close(passed);
    if (got < 0)
        return got;
    if (got == 0)
        return cw_err_set(err, CW_E_END, "the client closed its shared-memory socket");
    if (got != (int)sizeof(m) || m.magic != TOKEN_MAGIC)
        return cw_err_set(err, CW_E_CORRUPT,
                          "shared memory: the client's first message is not a token");
    *ret_token = m.token;
    return 0;
}

int cw_shm_connect(const char *name, uint64_t token, int *ret_fd, struct cw_err *err)
{
    struct sockaddr_un addr;
    if (strlen(name) == 0 || strlen(name) >= sizeof(addr.sun_path) - 1)
        return cw_err_set(err, CW_E_INVALID, "shared memory: a socket name of %zu bytes",
                          strlen(name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return cw_err_errno(err, errno, "shared memory: unix socket");
    socklen_t len = abstract_address(name, &addr);
    struct token_message m = {TOKEN_MAGIC, token};
    if (connect(fd, (const struct sockaddr *)&addr, len) != 0 ||
        send(fd, &m, sizeof(m), MSG_NOSIGNAL) != (ssize_t)sizeof(m)) {
        int rc = errno;
        close(fd);
        return cw_err_errno(err, rc, "shared memory: connecting to the worker's socket @%s", name);
    }
    *ret_fd = fd;
    return 0;
}

/* ETOOMANYREFS: too many descriptors are in flight, which also ends when the client reads. */
static bool is_full(int rc)
{
    return rc == EAGAIN || rc == ETOOMANYREFS || rc == ENOBUFS;
}

static int send_packet(int fd, const struct msghdr *msg, size_t n, struct cw_err *err)
{
    ssize_t sent;
    do
        sent = sendmsg(fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)n)
        return 0;
    if (is_full(errno))
        return cw_err_set(err, CW_E_AGAIN, "the client has not read what was sent before");
    return cw_err_errno(err, errno, "shared memory: sending to the client");
}

int cw_shm_send_fd(int fd, uint64_t slot, size_t cap, int memfd, struct cw_err *err)
{
    struct slot_message m = {SLOT_MAGIC, slot, cap};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof(control));
    struct iovec iov = {&m, sizeof(m)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &memfd, sizeof(int));
    return send_packet(fd, &msg, sizeof(m), err);
}

int cw_shm_send_message(int fd, const void *p, size_t n, struct cw_err *err)
{
    uint64_t magic = MESSAGE_MAGIC;
    struct iovec iov[] = {{&magic, sizeof(magic)}, {(void *)(uintptr_t)p, n}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = CW_ARRAY_LEN(iov)};
    CW_ASSERT(n > 0 && n <= CW_SHM_MESSAGE_MAX);
    return send_packet(fd, &msg, sizeof(magic) + n, err);
}

static bool is_slot(const union packet *packet, int got, int passed)
{
    return got == (int)sizeof(packet->slot) && packet->magic == SLOT_MAGIC &&
           packet->slot.slot != 0 && passed >= 0;
}

static bool is_message(const union packet *packet, int got, int passed)
{
    return got > (int)sizeof(packet->magic) && got <= (int)sizeof(packet->message) &&
           packet->magic == MESSAGE_MAGIC && passed < 0;
}

int cw_shm_recv(int fd, struct cw_shm_packet *ret_packet, struct cw_err *err)
{
    union packet packet;
    int passed = -1;
    int got = receive(fd, &packet, sizeof(packet), &passed, err);
    if (got < 0)
        return got;
    if (got == 0)
        return cw_err_set(err, CW_E_END, "the worker closed its shared-memory socket");
    ret_packet->slot = 0;
    if (is_slot(&packet, got, passed)) {
        ret_packet->slot = packet.slot.slot;
        ret_packet->cap = (size_t)packet.slot.cap;
        ret_packet->memfd = passed;
        return 0;
    }
    if (is_message(&packet, got, passed)) {
        ret_packet->n = (size_t)got - sizeof(packet.magic);
        memcpy(ret_packet->bytes, packet.message.bytes, ret_packet->n);
        return 0;
    }
    if (passed >= 0)
        close(passed);
    return cw_err_set(err, CW_E_CORRUPT,
                      "shared memory: neither a slot's descriptor nor a message");
}

int cw_shm_recv_fd(int fd, uint64_t *ret_slot, size_t *ret_cap, int *ret_memfd, struct cw_err *err)
{
    struct cw_shm_packet packet;
    packet.slot = packet.cap = 0;
    packet.memfd = -1;
    int rc = cw_shm_recv(fd, &packet, err);
    if (rc != 0)
        return rc;
    if (packet.slot == 0)
        return cw_err_set(err, CW_E_CORRUPT, "shared memory: not a slot's descriptor");
    *ret_slot = packet.slot;
    *ret_cap = packet.cap;
    *ret_memfd = packet.memfd;
    return 0;
}
