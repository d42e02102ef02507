#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""OpenStack Swift with its s3api, which checks signatures, in one process on loopback: swift_server.py HOST FOLDER.

The key is test:tester, its secret testing, the region test-1; lists have 7 objects a page. Prints `ready HOST:PORT`. Status 77: Swift is not here (the
package python3-swift of Debian).
"""
import os
import sys
from array import array

try:
    import eventlet
    from swift.common import utils
    utils.eventlet_monkey_patch()
    import eventlet.wsgi
    from swift.account import server as account_server
    from swift.common import ring, storage_policy, wsgi
    from swift.container import server as container_server
    from swift.obj import server as object_server
except ImportError as error:
    print("Swift is not here: %s (the package python3-swift)" % error, file=sys.stderr)
    sys.exit(77)

PROXY = """
[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:s3api]
use = egg:swift#s3api
location = test-1
max_bucket_listing = 7
auth_pipeline_check = false
"""


class Memory(dict):
    """What Swift asks of memcached."""

    def __bool__(self):
        return True

    def get(self, key, raise_on_error=False):
        return dict.get(self, key)

    def set(self, key, value, serialize=True, time=0, **_):
        self[key] = value

    def incr(self, key, delta=1, time=0):
        self[key] = int(dict.get(self, key, 0)) + delta
        return self[key]

    def delete(self, key, server_key=None):
        self.pop(key, None)


def with_memory(app):
    memory = Memory()

    def call(env, start_response):
        env["swift.cache"] = memory
        return app(env, start_response)
    return call


def listen(host):
    return eventlet.listen((host, 0))


def write_ring(folder, kind, host, port):
    device = {"id": 0, "zone": 0, "region": 1, "device": "sda", "ip": host, "port": port, "replication_ip": host, "replication_port": port, "weight": 1.0, "meta": ""}
    ring.RingData([array("H", [0, 0, 0, 0])], [device], 30).save("%s/%s.ring.gz" % (folder, kind))


def main():
    host, folder = sys.argv[1:3]
    os.makedirs(folder + "/devices/sda")
    os.makedirs(folder + "/devices/sda/tmp")
    utils.HASH_PATH_PREFIX, utils.HASH_PATH_SUFFIX = b"", b"test"
    utils.SWIFT_CONF_FILE = folder + "/swift.conf"
    with open(utils.SWIFT_CONF_FILE, "w", encoding="ascii") as f:
        f.write("[swift-hash]\nswift_hash_path_suffix = test\n")
    storage_policy.reload_storage_policies()
    conf = {"devices": folder + "/devices", "swift_dir": folder, "mount_check": "false", "disable_fallocate": "true", "fallocate_reserve": "0"}
    for kind, app in (("account", account_server.AccountController), ("container", container_server.ContainerController),
                      ("object", object_server.ObjectController)):
        socket = listen(host)
        write_ring(folder, kind, host, socket.getsockname()[1])
        if kind == "object":
            eventlet.spawn(eventlet.wsgi.server, socket, app(conf), utils.NullLogger(), protocol=wsgi.SwiftHttpProtocol)
        else:
            eventlet.spawn(eventlet.wsgi.server, socket, app(conf), utils.NullLogger())
    with open(folder + "/proxy-server.conf", "w", encoding="ascii") as f:
        f.write(PROXY.format(folder=folder))
    socket = listen(host)
    proxy = wsgi.loadapp(folder + "/proxy-server.conf", global_conf={"log_level": "ERROR"})
    print("ready %s:%d" % socket.getsockname()[:2], flush=True)
    eventlet.wsgi.server(socket, with_memory(proxy), utils.NullLogger(), protocol=wsgi.SwiftHttpProtocol)


main()
