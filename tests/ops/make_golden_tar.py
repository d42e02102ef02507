#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of webdataset, and tar files as GNU tar and Python's tarfile write them.

Run by hand from anywhere; needs python3-numpy, GNU tar and the command zstd. The results are in the tree."""
import gzip
import io
import json
import os
import subprocess
import tarfile
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
DTYPES = {"u1": "u8", "i8": "i64", "i2": "i16", "i4": "i32", "f2": "f16", "f4": "f32", "f8": "f64", "b1": "bool"}


def npy(array, **more):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), allow_pickle=False, **more)
    return out.getvalue()


def member(name, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def tar_bytes(members, format=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def short(content):
    """Only one end mark, without the rest of the record of 10 KiB: the files stay small."""
    return content.rstrip(b"\0") + b"\0" * (-len(content.rstrip(b"\0")) % 512) + b"\0" * 1024


def data_file(name, content):
    with open(os.path.join(DATA, name), "wb") as f:
        f.write(content)


def gnu_tar(folder_members, *options):
    with tempfile.TemporaryDirectory() as folder:
        for name, data in folder_members:
            os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        names = [name for name, _ in folder_members]
        return subprocess.run(["tar", "-c", "-b", "2", "--owner=0", "--group=0", "--mtime=@0", "-C", folder, *options, *names],
                              check=True, stdout=subprocess.PIPE).stdout


def zst(data):
    return subprocess.run(["zstd", "-q", "-c", "-3"], input=data, capture_output=True, check=True).stdout


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return {"dtype": "str", "hex": value.hex()}


def tensor(array):
    array = np.asarray(array)
    return {"dtype": DTYPES[array.dtype.newbyteorder("=").str[1:]], "shape": list(array.shape),
            "data": [v.item() for v in array.flatten()]}


def i64(value):
    return {"dtype": "i64", "shape": [], "data": [value]}


def plain():
    return [member("%03d.%s" % (i, ext), data) for i in range(40)
            for ext, data in (("jpg", b"image %d" % i), ("cls", b"%d\n" % (i * 7 - 3)))]


def cases():
    both = {"pattern": "${DATA}/wds_plain.tar", "columns": ["jpg", "cls"]}

    def element(i):
        return {"jpg": text("image %d" % i), "cls": i64(i * 7 - 3)}
    data_file("wds_plain.tar", short(tar_bytes(plain())))
    yield {"name": "two members a sample", "options": both,
           "expect": {"spec": "jpg: str, cls: i64", "count": 40, "at": [0, 1, 39, 15, 16, 17, 2],
                      "elements": [element(i) for i in (0, 1, 39, 15, 16, 17, 2)], "describe": "wds_plain.tar sample 0"}}
    yield {"name": "names, other order, a key", "options": {"pattern": "${DATA}/wds_plain.tar", "key": "key",
                                                            "columns": {"label": "cls", "image": "png;JPG"}},
           "expect": {"spec": "label: i64, image: str, key: str", "count": 40, "at": [3, 20],
                      "elements": [{"label": i64(i * 7 - 3), "image": text("image %d" % i), "key": text("%03d" % i)}
                                   for i in (3, 20)]}}
    yield {"name": "one column, other type", "options": {"pattern": "${DATA}/wds_plain.tar", "columns": ["cls"],
                                                         "types": {"cls": "str"}},
           "expect": {"spec": "cls: str", "count": 40, "elements": [{"cls": text("-3\n")}]}}
    yield {"name": "twice the file", "options": {"pattern": ["${DATA}/wds_{plain,plain}.tar", "${DATA}/./wds_plain.tar"],
                                                 "columns": ["cls"]},
           "expect": {"count": 80, "at": [40, 79], "elements": [{"cls": i64(-3)}, {"cls": i64(39 * 7 - 3)}]}}
    # What is in a compressed file, a field with its name and all columns found out included.
    packed = gzip.compress(short(tar_bytes(plain())), mtime=0)
    data_file("wds_packed.tar.gz", packed)
    yield {"name": "gzip", "options": {"pattern": "${DATA}/wds_packed.tar.gz", "columns": ["jpg", "cls"], "key": "key"},
           "expect": {"spec": "jpg: str, cls: i64, key: str", "count": 40, "at": [39, 5],
                      "elements": [dict(element(i), key=text("%03d" % i)) for i in (39, 5)], "describe": "wds_packed.tar.gz sample 39"}}
    yield {"name": "gzip, no columns given", "options": {"pattern": "${DATA}/wds_packed.tar.gz"},
           "expect": {"spec": "cls: i64, jpg: str", "count": 40, "at": [7], "elements": [element(7)]}}
    yield {"name": "gzip, too large", "options": {"pattern": "${DATA}/wds_packed.tar.gz", "columns": ["cls"], "inflated_max": 1000},
           "expect": {"error": "82944 inflated bytes, from 0 on, can only be inflated together; option inflated_max allows 1000"}}
    data_file("wds_bad_cut.tar.gz", packed[:-20])
    yield {"name": "gzip, cut", "options": {"pattern": "${DATA}/wds_bad_cut.tar.gz", "columns": ["cls"]},
           "expect": {"error": "wds_bad_cut.tar.gz: truncated"}}

    whole = short(tar_bytes(plain()))
    data_file("wds_frames.tar.zst", zst(whole[:30000]) + zst(whole[30000:])) # two frames, with a member across them
    yield {"name": "zstd of two frames", "options": {"pattern": "${DATA}/wds_frames.tar.zst", "columns": ["jpg", "cls"], "key": "key"},
           "expect": {"spec": "jpg: str, cls: i64, key: str", "count": 40, "at": [39, 5, 14],
                      "elements": [dict(element(i), key=text("%03d" % i)) for i in (39, 5, 14)], "describe": "wds_frames.tar.zst sample 39"}}
    yield {"name": "zstd, too large", "options": {"pattern": "${DATA}/wds_frames.tar.zst", "columns": ["cls"], "inflated_max": 1000},
           "expect": {"error": "wds_frames.tar.zst: 82944 inflated bytes, from 0 on, can only be inflated together; option inflated_max allows 1000"}}
    data_file("wds_bad_cut.tar.zst", zst(whole)[:-3])
    yield {"name": "zstd, cut", "options": {"pattern": "${DATA}/wds_bad_cut.tar.zst", "columns": ["cls"]},
           "expect": {"error": "wds_bad_cut.tar.zst: truncated"}}

    mixed = plain()
    np.random.RandomState(4).shuffle(mixed)
    first = list(dict.fromkeys(info.name[:3] for info, _ in mixed))
    data_file("wds_mixed.tar", short(tar_bytes(mixed)))
    yield {"name": "members in any order", "options": {"pattern": "${DATA}/wds_mixed.tar", "columns": ["jpg", "cls"], "key": "key"},
           "expect": {"count": 40, "elements": [dict(element(int(k)), key=text(k)) for k in first]}}

    arrays = [("a", np.arange(6, dtype="<f4").reshape(2, 3)), ("b", np.asfortranarray(np.arange(9, dtype="<f4").reshape(3, 3) / 8)),
              ("c", np.arange(3, dtype=">f4").reshape(1, 3)), ("d", np.zeros((0, 3), "<f4")),
              ("e", np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)))]
    data_file("wds_npy.tar", short(tar_bytes([m for k, a in arrays for m in (
        member(k + ".x.npy", npy(a, version=(1 + len(k + "x") % 2, 0))), member(k + ".score.txt", b" -0.5e1 "))])))
    yield {"name": "arrays and floats", "options": {"pattern": "${DATA}/wds_npy.tar", "columns": {"x": "x.npy", "score": "score.txt"},
                                                    "types": {"x": "f32[-1,3]", "score.txt": "f64"}},
           "expect": {"spec": "x: f32[?,3], score: f64", "count": 5,
                      "elements": [{"x": tensor(a), "score": tensor(np.float64(-5))} for _, a in arrays]}}
    yield {"name": "an array of another shape", "options": {"pattern": "${DATA}/wds_npy.tar", "columns": ["x.npy"],
                                                            "types": {"x.npy": "f32[2,3]"}},
           "expect": {"error": "its array is f32[3,3], not f32[2,3]"}}
    yield {"name": "an array of another dtype", "options": {"pattern": "${DATA}/wds_npy.tar", "columns": ["x.npy"],
                                                            "types": {"npy": "f32[2,3]"}},
           "expect": {"error": "option types"}}
    yield {"name": "a text that is no whole number", "options": {"pattern": "${DATA}/wds_npy.tar", "columns": ["score.txt"],
                                                                 "types": {"score.txt": "i64"}},
           "expect": {"error": "sample 0, whose header is at byte"}}

    long_dir = "d/" + "x" * 90 + "/"
    longer = "d/" + "y" * 120 + "/" + "z" * 120
    odd = [member("./", type=tarfile.DIRTYPE), member("./README", b"no extension"), member("__meta__.cls__", b"not a sample"),
           member("notes.md", b"not wanted"), member(".hidden.txt", b"no key"),
           member(long_dir + "k1.txt", b"one"), member(longer + ".txt", b"two"), member("\u00e4\u00f6\u00fc.txt", b"three"),
           member("d.d/k.txt", b"four"), member("k.TXT", b"")]
    keys = [long_dir + "k1", longer, "\u00e4\u00f6\u00fc", "d.d/k", "k"]
    for name, form in (("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        data_file("wds_%s.tar" % name, short(tar_bytes(odd, form)))
        yield {"name": "long and odd names, " + name, "options": {"pattern": "${DATA}/wds_%s.tar" % name, "columns": ["txt"], "key": "k"},
               "expect": {"count": 5, "elements": [{"txt": text(t), "k": text(k)}
                                                   for t, k in zip((b"one", b"two", b"three", b"four", b""), keys)]}}
    files = [("s%d/%s.%s" % (i, "q" * (i * 40), ext), b"%s %d" % (ext.encode(), i)) for i in range(1, 5) for ext in ("txt", "json")]
    for form in ("v7", "ustar", "gnu", "posix"):
        content = [f for f in files if form not in ("v7", "ustar") or len(f[0]) < 90]
        data_file("wds_gnutar_%s.tar" % form, gnu_tar(content, "--format=" + form))
        yield {"name": "GNU tar, " + form, "options": {"pattern": "${DATA}/wds_gnutar_%s.tar" % form, "columns": ["json", "txt"]},
               "expect": {"count": len(content) // 2, "elements": [{"json": text(content[i + 1][1]), "txt": text(content[i][1])}
                                                                   for i in range(0, len(content), 2)]}}
    some = [member("a.txt", b"A"), member("a.cls", b"1"), member("b.cls", b"2"), member("c.txt", b"C"), member("c.npy", npy(np.int16([5]))),
            member("d.txt", b"D"), member("d.cls", b"4"), member("d.npy", npy(np.int16([6, 7])))]
    data_file("wds_missing.tar", short(tar_bytes(some)))
    options = {"pattern": "${DATA}/wds_missing.tar", "columns": ["txt", "cls", "npy"], "types": {"npy": "i16[-1]"}}
    yield {"name": "missing: fail", "options": options,
           "expect": {"error": "sample 0 has no member with the extension npy, of field \"npy\""}}
    yield {"name": "missing: skip", "options": dict(options, missing="skip"),
           "expect": {"count": 1, "elements": [{"txt": text("D"), "cls": i64(4), "npy": tensor(np.int16([6, 7]))}]}}
    yield {"name": "missing: empty", "options": dict(options, missing="empty", key="key"),
           "expect": {"count": 4, "elements": [
               {"txt": text("A"), "cls": i64(1), "npy": tensor(np.int16([])), "key": text("a")},
               {"txt": text(""), "cls": i64(2), "npy": tensor(np.int16([])), "key": text("b")},
               {"txt": text("C"), "cls": i64(0), "npy": tensor(np.int16([5])), "key": text("c")},
               {"txt": text("D"), "cls": i64(4), "npy": tensor(np.int16([6, 7])), "key": text("d")}]}}
    data_file("wds_empty.tar", b"\0" * 1024)
    yield {"name": "an empty file", "options": {"pattern": "${DATA}/wds_empty.tar", "columns": ["txt"]},
           "expect": {"spec": "txt: str", "count": 0}}
    yield {"name": "as the file says", "options": {"pattern": "${DATA}/wds_missing.tar", "missing": "skip"},
           "expect": {"spec": "cls: i64, npy: i16[?], txt: str", "count": 1,
                      "elements": [{"cls": i64(4), "npy": tensor(np.int16([6, 7])), "txt": text("D")}]}}
    yield {"name": "as an empty file says", "options": {"pattern": "${DATA}/wds_empty.tar"},
           "expect": {"error": "no member is named KEY.EXTENSION"}}
    yield {"name": "no such extension", "options": {"pattern": ["${DATA}/wds_empty.tar", "${DATA}/wds_missing.tar"], "columns": {"image": "jpg;jpeg", "mask": "png"}},
           "expect": {"error": "no sample has any of the columns (jpg;jpeg, png): the first one, a in "}}
    yield {"name": "no such extension in one file", "options": {"pattern": ["${DATA}/wds_missing.tar", "${DATA}/wds_plain.tar"], "columns": ["jpg"]},
           "expect": {"count": 40, "elements": [{"jpg": text("image 0")}]}}
    yield {"name": "no such extension, skip", "options": {"pattern": "${DATA}/wds_packed.tar.gz", "columns": ["jpg", "clss"], "missing": "skip"},
           "expect": {"error": "wds_packed.tar.gz, has jpg, cls"}}
    yield from bad_files()
    for name, options, error in (
            ("columns: a text", {"columns": "jpg"}, "must be a list"),
            ("columns: nothing", {"columns": []}, "must be a list"), ("columns: numbers", {"columns": [1]}, "extensions are strings"),
            ("a bad name", {"columns": ["a-b"]}, "an object names fields"), ("no extension", {"columns": {"a": ""}}, "has no extension"),
            ("an empty extension", {"columns": {"a": "b;;c"}}, "do not go together"),
            ("extensions of different kinds", {"columns": {"a": "cls;txt"}}, "do not go together"),
            ("an extension twice", {"columns": {"a": "txt", "b": "jpg;TXT"}}, "\"txt\" is in two of them"),
            ("the key's name", {"columns": ["txt"], "key": "txt"}, "txt"),
            ("an array without type", {"columns": ["npy"]}, "needs the type of the array"),
            ("a type of nothing", {"columns": ["txt"], "types": {"cls": "i64"}}, "there is no column \"cls\""),
            ("types: a list", {"columns": ["txt"], "types": []}, "must be an object"),
            ("types: a number", {"columns": ["txt"], "types": {"txt": 1}}, "must be a string"),
            ("no such type", {"columns": ["txt"], "types": {"txt": "i63"}}, "is no type"),
            ("dims of a str", {"columns": ["txt"], "types": {"txt": "str[3]"}}, "is no type"),
            ("dims that end", {"columns": ["npy"], "types": {"npy": "f32[3"}}, "is no type"),
            ("dims that go on", {"columns": ["npy"], "types": {"npy": "f32[3]]"}}, "is no type"),
            ("dims below -1", {"columns": ["npy"], "types": {"npy": "f32[-2]"}}, "is no type"),
            ("too many dims", {"columns": ["npy"], "types": {"npy": "f32[1,1,1,1,1,1,1,1,1]"}}, "is no type"),
            ("a text as u8", {"columns": ["txt"], "types": {"txt": "u8"}}, "a text becomes"),
            ("no such file", {"columns": ["txt"], "pattern": "${DATA}/no_such.tar"}, "no_such.tar")):
        yield {"name": name, "options": {"pattern": "${DATA}/wds_plain.tar", **options}, "expect": {"error": error}}


def bad_files():
    good = tar_bytes(plain()[:4])
    header = bytearray(good[1024:1536])
    header[0] ^= 1
    link = tar_bytes([member("a.txt", b"A"), member("b.txt", type=tarfile.SYMTYPE, linkname="a.txt")])
    hard = tar_bytes([member("a.txt", b"A"), member("b.txt", type=tarfile.LNKTYPE, linkname="a.txt")])
    sparse = tar_bytes([member("a.txt", b"A", pax_headers={"GNU.sparse.major": "1"})])
    size = tar_bytes([member("a.txt", b"A", pax_headers={"size": "x"})])
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "a.txt"), "wb") as f:
            f.truncate(1 << 20)
            f.write(b"x")
        old_sparse = subprocess.run(["tar", "-c", "-S", "--format=gnu", "-b", "2", "-C", folder, "a.txt"], check=True,
                                    stdout=subprocess.PIPE).stdout
    unknown = bytearray(good[:512])
    unknown[156] = ord("Q")
    unknown[148:156] = b"        "
    unknown[148:155] = b"%06o\0" % sum(unknown)
    for name, content, error in (
            ("cut", good[:1536 + 1], "member 1 at byte 1024: truncated, the file ends at byte 1537"),
            ("cut_header", good[:1024 + 100], "member 1 at byte 1024: truncated"),
            ("no_end", good[:1024], "member 1 at byte 1024: truncated, the file ends at byte 1024 without an end mark"),
            ("nothing", b"", "member 0 at byte 0: truncated"),
            ("header", good[:1024] + bytes(header) + good[1536:], "member 1 at byte 1024: the checksum of its header"),
            ("joined", short(good) + short(good), "bytes behind the end mark"),
            ("gzip", gzip.compress(good[:2048], compresslevel=0, mtime=0), "compressed file"), ("text", b"something else" * 100, "not a tar file"),
            ("link", short(link), "member 1 at byte 1024: a link"), ("hard", short(hard), "a link"),
            ("sparse", short(sparse), "a sparse file"), ("old_sparse", old_sparse, "a sparse file"), ("size", short(size), "not a number"),
            ("type", bytes(unknown) + bytes(512) + bytes(1024), "member 0 at byte 0: its type"),
            ("twice", short(tar_bytes([member("a.txt", b"1"), member("b.txt", b"2"), member("a.txt", b"3")])),
             "the member at byte 2048: its sample 0 has this field already"),
            ("cls", short(tar_bytes([member("a.cls", b"1"), member("b.cls", b"x1")])), "field \"cls\" of sample 1"),
            ("npy", short(tar_bytes([member("a.npy", npy(np.int16([1, 2]))[:-1])])), "its array needs 4 bytes, it has 3"),
            ("object", short(tar_bytes([member("a.npy", npy(np.array(["x"])))])), "an array of this dtype"),
            ("not_npy", short(tar_bytes([member("a.npy", b"hello")])), "not an .npy file")):
        data_file("wds_bad_%s.tar" % name, content)
        columns = ["npy"] if name in ("npy", "object", "not_npy") else ["cls"] if name == "cls" else ["txt", "jpg"]
        yield {"name": "bad: " + name, "options": {"pattern": "${DATA}/wds_bad_%s.tar" % name, "columns": columns, "missing": "empty",
                                                   "types": {"npy": "i16[2]"} if columns == ["npy"] else {}},
               "expect": {"error": error}}


with open(os.path.join(HERE, "webdataset.json"), "w") as f:
    f.write('{"op": "webdataset",\n "cases": [\n   ')
    f.write(",\n   ".join(json.dumps(c) for c in cases()))
    f.write("]}\n")
