/* SPDX-License-Identifier: Apache-2.0 */
/* The server of a network file system may drop a lock although its holder is alive, and give it to
 * another one; the holder does not learn of it, and writes over the other's rows. */
#include "dispatcher/state/network_file_system.h"

#include <stddef.h>
#include <sys/vfs.h>
#include "base/compiler.h"

/* The numbers are of linux/magic.h and of statfs(2); FUSE is what GlusterFS, sshfs and many others
 * are mounted by. */
static const struct {
    unsigned long type;
    const char *name;
} networks[] = {
    {0x6969, "NFS"},       {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},    {0x517b, "SMB"},
    {0x65735546, "FUSE"},  {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},  {0x0bd00bd0, "Lustre"}, {0x01021997, "9p"},     {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"}, {0x47504653, "GPFS"},   {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"},
    {0xaad7aaea, "PanFS"}, {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"},
};

const char *cw_state_network_file_system(unsigned long type)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(networks); i++)
        if (networks[i].type == (type & 0xffffffff))
            return networks[i].name;
    return NULL;
}

int cw_state_check_file_system(const char *dir, struct cw_err *err)
{
    struct statfs found;
    const char *name =
        statfs(dir, &found) == 0 ? cw_state_network_file_system((unsigned long)found.f_type) : NULL;
    if (!name)
        return 0; /* One that cannot be asked is used as before. */
    return cw_err_set(
        err, CW_E_UNSUPPORTED,
        "state directory %s is on a network file system (%s), whose locks do not keep "
        "a second dispatcher out: both would write one state.db. Give a directory on "
        "a disk of this host, or --lease, which elects one dispatcher by a Lease of "
        "Kubernetes",
        dir, name);
}
