#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of parse_example from messages that Google's protobuf library serializes.

Run by hand from anywhere; needs protobuf and NumPy of PyPI. The results are in the tree."""
import json
import os

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

HERE = os.path.dirname(os.path.abspath(__file__))
F = descriptor_pb2.FieldDescriptorProto


def classes(packed):
    """The messages of tensorflow/core/example, built here."""
    file = descriptor_pb2.FileDescriptorProto(name="example%d.proto" % packed, package="p%d" % packed, syntax="proto3")

    def message(name, fields, within=None):
        m = (within.nested_type if within else file.message_type).add(name=name)
        for number, (field, label, kind) in enumerate(fields, 1):
            f = m.field.add(name=field, number=number, label=label, type=kind if isinstance(kind, int) else F.TYPE_MESSAGE)
            if not isinstance(kind, int):
                f.type_name = ".%s.%s" % (file.package, kind)
            elif label == F.LABEL_REPEATED and kind != F.TYPE_BYTES:
                f.options.packed = packed
        return m
    many, one = F.LABEL_REPEATED, F.LABEL_OPTIONAL
    message("BytesList", [("value", many, F.TYPE_BYTES)])
    message("FloatList", [("value", many, F.TYPE_FLOAT)])
    message("Int64List", [("value", many, F.TYPE_INT64)])
    feature = message("Feature", [("bytes_list", one, "BytesList"), ("float_list", one, "FloatList"), ("int64_list", one, "Int64List")])
    feature.oneof_decl.add(name="kind")
    for f in feature.field:
        f.oneof_index = 0
    message("FeatureList", [("feature", many, "Feature")])
    for name, map_name, value in (("Features", "feature", "Feature"), ("FeatureLists", "feature_list", "FeatureList")):
        entry = "".join(w.capitalize() for w in map_name.split("_")) + "Entry"
        m = message(name, [(map_name, many, "%s.%s" % (name, entry))])
        message(entry, [("key", one, F.TYPE_STRING), ("value", one, value)], m).options.map_entry = True
    message("Example", [("features", one, "Features")])
    message("SequenceExample", [("context", one, "Features"), ("feature_lists", one, "FeatureLists")])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName("%s.%s" % (file.package, n)))
            for n in ("Example", "SequenceExample")}


def set_feature(feature, values):
    values = [values] if isinstance(values, (bytes, int, float)) else values
    if values is None:
        return
    target = (feature.bytes_list if isinstance(values[0], bytes) else feature.int64_list if isinstance(values[0], int)
              else feature.float_list)
    target.value.extend(values)


def example(features, packed=True):
    m = classes(packed)["Example"]()
    for name, values in features.items():
        set_feature(m.features.feature[name], values)
    return m.SerializeToString(deterministic=True)


def sequence(context, lists):
    m = classes(True)["SequenceExample"]()
    for name, values in context.items():
        set_feature(m.context.feature[name], values)
    for name, steps in lists.items():
        target = m.feature_lists.feature_list[name]
        for values in steps:
            set_feature(target.feature.add(), values)
    return m.SerializeToString(deterministic=True)


def tensor(value):
    if isinstance(value, bytes):
        return {"dtype": "str", "hex": value.hex()}
    a = np.asarray(value)
    return {"dtype": {"i": "i64", "f": "f32"}[a.dtype.kind], "shape": list(a.shape), "data": [v.item() for v in a.flatten()]}


def record(data, **more):
    return {"record": {"dtype": "str", "hex": data.hex()}, **{k: tensor(v) for k, v in more.items()}}


def f32(v):
    return np.asarray(v, "f4")


def cases():
    big = [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -2**63]
    features = {"image/encoded": b"\xff\xd8 jpeg", "label": 7, "box": [0.5, 1.25, -3.0, 1e-7], "ids": big, "unused": [b"a", b"b"], "x": 2.5}
    want = {"image": {"feature": "image/encoded", "type": "str"}, "label": "i64", "box": "f32[4]", "ids": "i64[-1]", "x": "f32"}
    spec = "image: str, label: i64, box: f32[4], ids: i64[?], x: f32"
    out = {"image": features["image/encoded"], "label": np.int64(7), "box": f32(features["box"]), "ids": np.int64(big), "x": f32(2.5)}
    for packed in (True, False):
        yield {"name": "packed" if packed else "not packed", "options": {"features": want}, "input": [record(example(features, packed))] * 2,
               "expect": {"spec": spec, "elements": [{k: tensor(v) for k, v in out.items()}] * 2}}
    yield {"name": "beside other fields, in another order", "options": {"features": {"b": {"type": "f32[2,2]", "feature": "box"}, "label": "i64"},
                                                                       "input": "record"},
           "input": [{"key": {"dtype": "str", "text": "k"}, **record(example(features)), "n": tensor(np.int64(3))}],
           "expect": {"spec": "key: str, n: i64, b: f32[2,2], label: i64",
                      "elements": [{"key": {"dtype": "str", "text": "k"}, "n": tensor(np.int64(3)),
                                    "b": tensor(f32([[0.5, 1.25], [-3.0, 1e-7]])), "label": tensor(np.int64(7))}]}}
    yield {"name": "a field of the record's name", "options": {"features": {"record": {"type": "i64", "feature": "label"}}},
           "input": [record(example(features))], "expect": {"elements": [{"record": tensor(np.int64(7))}]}}
    defaults = {"s": {"type": "str", "default": "none"}, "i": {"type": "i64", "default": -5}, "f": {"type": "f32[2,1]", "default": 0.5},
                "g": {"type": "f32", "default": 3}, "v": "f32[-1,2]", "w": "i64[-1]"}
    none = {"s": tensor(b"none"), "i": tensor(np.int64(-5)), "f": tensor(f32([[0.5], [0.5]])), "g": tensor(f32(3)),
            "v": tensor(f32(np.zeros((0, 2)))), "w": tensor(np.zeros(0, "i8"))}
    yield {"name": "defaults", "options": {"features": defaults},
           "input": [record(example({"other": 1})), record(b""), record(example({"s": None, "i": None, "v": None})),
                     record(example({"s": b"", "v": [1.0, 2.0, 3.0, 4.0]}))],
           "expect": {"spec": "s: str, i: i64, f: f32[2,1], g: f32, v: f32[?,2], w: i64[?]",
                      "elements": [none, none, none, {**none, "s": tensor(b""), "v": tensor(f32([[1, 2], [3, 4]]))}]}}
    yield {"name": "a sequence", "options": {"features": {"id": "i64"}, "sequence_features": {
        "frames": "f32[-1,2]", "tokens": "i64[-1]", "two": "i64[2,1]", "none": "i64[-1]"}},
        "input": [record(sequence({"id": 4, "tokens": 9}, {"frames": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "tokens": [[1], [300]], "two": [[1], [2]]}))],
        "expect": {"spec": "id: i64, frames: f32[?,2], tokens: i64[?], two: i64[2,1], none: i64[?]",
                   "elements": [{"id": tensor(np.int64(4)), "frames": tensor(f32([[1, 2], [3, 4], [5, 6]])), "tokens": tensor(np.int64([1, 300])),
                                 "two": tensor(np.int64([[1], [2]])), "none": tensor(np.zeros(0, "i8"))}]}}
    twice = example({"a": 1}) + example({"a": 2, "b": 3})
    yield {"name": "messages that are joined: the last one counts", "options": {"features": {"a": "i64", "b": "i64"}}, "input": [record(twice)],
           "expect": {"elements": [{"a": tensor(np.int64(2)), "b": tensor(np.int64(3))}]}}
    good = example(features)
    for name, data, want, error in (
            ("missing", good, {"y": "i64"}, "feature \"y\": it is not there, and has no default"),
            ("another kind", good, {"label": "f32"}, "feature \"label\": it is a list of int64s, not of floats"),
            ("several values for one", good, {"ids": "i64"}, "feature \"ids\": it has 9 values, which is not i64"),
            ("several strings for one", good, {"unused": "str"}, "it has 2 values, which is not str"),
            ("another number", good, {"box": "f32[3]"}, "it has 4 values, which is not f32[3]"),
            ("no whole rows", good, {"box": "f32[-1,3]"}, "it has 4 values, which is not f32[-1,3]"),
            ("cut", good[:-1], {"label": "i64"}, "not a tf.train.Example, or damaged, at byte"),
            ("not a message", b"hello world", {"label": "i64"}, "not a tf.train.Example"),
            ("a text", b"\xff" * 20, {"label": "i64"}, "at byte 10 of the record"),
            ("no steps", sequence({}, {}), {}, "option features: is needed")):
        yield {"name": "error: " + name, "options": {"features": want}, "input": [record(data)], "expect": {"error": error}}
    uneven = sequence({}, {"t": [[1], [2, 3]]})
    for name, type, error in (("steps of unlike length", "i64[-1]", "2 steps with 3 values, not as many in each"),
                              ("another number of steps", "i64[3,1]", "2 steps with 3 values"),
                              ("a list without steps", "i64", "a dimension of steps"), ("strings", "str", "lists of strings")):
        yield {"name": "error: " + name, "options": {"sequence_features": {"t": type}}, "input": [record(uneven)], "expect": {"error": error}}
    for name, options, error in (
            ("a list", {"features": []}, "must be an object"), ("nothing", {}, "is needed"), ("u8", {"features": {"a": "u8"}}, "cast it behind"),
            ("no type", {"features": {"a": "i63"}}, "its type is none"), ("a number", {"features": {"a": 1}}, "must be a type"),
            ("an unknown key", {"features": {"a": {"type": "i64", "dtype": 1}}}, "must be a type"),
            ("a bad name", {"features": {"a/b": "i64"}}, "a feature with such a name"),
            ("twice", {"features": {"a": "i64", "b": {"feature": "a", "type": "i64"}}}, "asked for twice"),
            ("strings", {"features": {"a": "str[2,2]"}}, "its type is none"), ("two unknown dims", {"features": {"a": "f32[-1,-1]"}}, "only its first"),
            ("a default of another type", {"features": {"a": {"type": "i64", "default": 1.5}}}, "does not have its type"),
            ("a default of what may be empty", {"features": {"a": {"type": "i64[-1]", "default": 1}}}, "has no default"),
            ("no such input", {"features": {"a": "i64"}, "input": "r"}, "no field \"r\"")):
        yield {"name": "option: " + name, "options": options, "input": [record(good)], "expect": {"error": error}}
    yield {"name": "option: which string", "options": {"features": {"label": "i64"}},
           "input": [{"s": {"dtype": "str", "text": ""}, **record(good)}], "expect": {"error": "the element has 2 strings"}}
    yield {"name": "option: not a string", "options": {"features": {"label": "i64"}, "input": "s"},
           "input": [{"s": tensor(np.int64(1)), **record(good)}], "expect": {"error": "is a i64"}}


with open(os.path.join(HERE, "parse_example.json"), "w") as f:
    f.write('{"op": "parse_example",\n "cases": [\n   ' + ",\n   ".join(json.dumps(c) for c in cases()) + "]}\n")
