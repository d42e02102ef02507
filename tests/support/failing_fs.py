#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A file system (FUSE) that shows DIRECTORY at MOUNTPOINT, of which parts cannot be read.

usage: failing_fs.py DIRECTORY MOUNTPOINT BAD

Each line of the file BAD is "BEGIN END PATH": these bytes of the file of that path (relative to DIRECTORY) give EIO, to a read and, by SIGBUS, to
whoever touches them in a mapping. BAD is read anew at each read. Runs until it is unmounted."""
import errno
import os
import sys

from fusepy import FUSE, FuseOSError, Operations


class Failing(Operations):
    def __init__(self, root, bad):
        self.root, self.bad = root, bad

    def path(self, path):
        return os.path.join(self.root, path.lstrip("/"))

    def is_bad(self, path, offset, size):
        with open(self.bad) as file:
            rules = [line.rstrip("\n").split(" ", 2) for line in file]
        return any(name == path.lstrip("/") and offset < int(end) and offset + size > int(begin) for begin, end, name in rules)

    def read(self, path, size, offset, fh):
        if self.is_bad(path, offset, size):
            raise FuseOSError(errno.EIO)
        return os.pread(fh, size, offset)

    def getattr(self, path, fh=None):
        st = os.lstat(self.path(path))
        return {key: getattr(st, key) for key in ("st_atime", "st_ctime", "st_mtime", "st_gid", "st_uid", "st_mode", "st_nlink", "st_size", "st_blocks")}

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self.path(path))]

    def statfs(self, path):
        st = os.statvfs(self.path(path))
        return {key: getattr(st, key) for key in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_files", "f_ffree", "f_frsize", "f_namemax")}

    def open(self, path, flags):
        return os.open(self.path(path), flags & ~os.O_DIRECT)

    def create(self, path, mode, fi=None):
        return os.open(self.path(path), os.O_RDWR | os.O_CREAT, mode)

    def init(self, path):
        print("ready at %s" % path, flush=True)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self.path(path), length)

    def fsync(self, path, datasync, fh):
        os.fsync(fh)

    def release(self, path, fh):
        os.close(fh)

    def mkdir(self, path, mode):
        os.mkdir(self.path(path), mode)

    def rmdir(self, path):
        os.rmdir(self.path(path))

    def unlink(self, path):
        os.unlink(self.path(path))

    def rename(self, old, new):
        os.rename(self.path(old), self.path(new))

    def chmod(self, path, mode):
        os.chmod(self.path(path), mode)

    def chown(self, path, uid, gid):
        os.chown(self.path(path), uid, gid)

    def utimens(self, path, times=None):
        os.utime(self.path(path), times)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    FUSE(Failing(os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[3])), sys.argv[2], foreground=True, nothreads=True, allow_other=True)
