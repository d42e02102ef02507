/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which processes can share memory: those of one kernel (boot id) that see the same
 * abstract sockets (network namespace) and whose user ids mean the same users (user namespace). */
#include "shm/shm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned long long namespace_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (unsigned long long)st.st_ino : 0;
}

void cw_shm_host_id(char *ret_id, size_t cap)
{
    char boot[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, boot, sizeof(boot) - 1);
    if (fd >= 0)
        close(fd);
    boot[n > 0 ? n : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
    unsigned long long net = namespace_of("/proc/self/ns/net"),
                       user = namespace_of("/proc/self/ns/user");
    /* If the kernel does not provide these, no process counts as being on the same host. */
    if (boot[0] == '\0' || net == 0)
        snprintf(ret_id, cap, "unknown-%lld", (long long)getpid());
    else
        snprintf(ret_id, cap, "%s-%llx-%llx", boot, net, user);
}
