# SPDX-License-Identifier: Apache-2.0
"""The tables that layers.py checks the sources against. docs/architecture.md says the same in words."""

# Top-level folders and their layers: a folder may include and call only what lies in a lower layer.
LAYER = {
    "src/base": 0,
    "src/auth": 1, "src/loop": 1, "src/conf": 1, "src/codec": 1,
    "src/data": 2, "policies": 2, "src/http": 2, "src/io": 2,
    "src/ops": 3, "src/format": 3, "src/kube": 3, "src/python": 3, "src/trace": 3,
    "src/graph": 4, "cache": 4,
    "src/plan": 5, "src/exec": 5, "src/rewrite": 5, "src/wire": 5, "src/rpc": 5, "src/shm": 5,
    "src/daemon": 6,
    "src/controller": 7, "dispatcher": 7, "worker": 7, "client": 7,
}
# Folders of one layer that may use each other, and why: plan and exec stand on graph and each other in this order; wire puts
# plan's results and rpc's messages together; operators read record formats and call functions in child processes; remote
# sources are read over HTTP.
BESIDE = {
    ("src/exec", "src/plan"), ("src/wire", "src/plan"), ("src/wire", "src/rpc"), ("src/ops", "src/format"),
    ("src/ops", "src/python"),
    ("src/io", "src/http"),
}
# Third-party headers: who alone may include them.
THIRD = {
    r"uv\.h": {"src/loop"},
    r"jansson\.h": {"src/conf"},
    r"zstd\.h": {"src/codec"},
    r"(glusterfs/|api/glfs).*": {"src/io", "cache"},
    r"curl/.*": {"src/http"},
    r"expat\.h": {"src/io"},
    r"yaml\.h": {"src/kube", "src/conf"},
    r"openssl/.*": {"src/auth"},
    r"grpc/.*": {"src/rpc"},
    r"sqlite3\.h": {"dispatcher"},
    r"microhttpd\.h": {"src/daemon"},
    r"Python\.h": {"client"},
    r"xxhash\.h": {"src/base"},
    r"(sndfile|mpg123|vorbis/vorbisfile)\.h": {"src/ops"},
    r"(jpeglib|jerror|turbojpeg|png|zlib)\.h": {"src/ops", "src/format"},
    r"(webp/decode|gif_lib)\.h": {"src/ops"},
    r"(snappy-c|lz4|lz4frame|brotli/decode)\.h": {"src/format"},
    r"hdf5/.*": {"src/format"},
    r"(utf8proc|pcre2)\.h": {"src/ops"},
    r"protobuf-c/.*": {"src/wire", "src/rpc", "src/controller", "dispatcher", "worker", "client"},
    r".*\.pb-c\.h": {"src/wire", "src/rpc", "src/controller", "dispatcher", "worker", "client"},
}

# Modules: the sub-folders of a folder, lowest level first. A module may include and call only modules of lower levels.
# "." is what lies in the folder itself: the program. A sub-folder that is not named here is an offence.
MODULES = {
    "dispatcher": [["model"], ["access", "state"], ["message", "web"], ["kubernetes"], ["cache", "scaling"], ["autocache", "lease"], ["optimize"], ["job"], ["session"], ["admin"], ["."]],
    "cache": [["store"], ["index", "source", "record"], ["."]],
    "client": [["model"], ["transport", "embedded", "arrays"], ["delivery"], ["session"], ["."],
               ["tool", "python"], ["tool/view", "tool/shard"], ["tool/cache"], ["tool/cmd"], ["tool/program"]],
    "worker": [["model"], ["message"], ["cache"], ["compute"], ["serve"], ["job"], ["session"], ["."]],
    "src/io": [["."], ["gluster"], ["remote"]],
    "src/format": [["."], ["arrow", "parquet"]],
    "src/ops": [["contract"], ["kernels"], ["call"], ["expr", "text"], ["element", "group", "index", "source"], ["."]],
}
# Modules that are some files of a folder, not a sub-folder: folder -> module -> paths below the folder, without suffix.
STEMS = {
    "client": {"tool/program": {"tool/main"}},
    "src/ops": {"contract": {"blocks", "infer_op", "loose_rows", "motion", "motion_maths", "motion_run", "op", "op_ctx", "op_facts", "op_lookup", "op_names", "op_reads", "op_traits", "op_util", "source_stamp",
                             "strip"},
                "call": {"apply_field"}},
}
# Circles of files within one module that are meant to be: the files, and why. docs/architecture.md names them.
DEFENDED = [
]
