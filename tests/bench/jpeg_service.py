#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the JPEG pipeline costs through dispatcher and worker, against bare decoding of the same files.

usage: jpeg_service.py BUILD_DIR [DIRECTORY_OF_JPEGS]     (a release build with -DBUILD_TESTING=ON)

Runs tests/bare_decode (a C loop that decodes each file fully with libjpeg-turbo), then cachew-dispatcher, cachew-worker and
`cachew run` on files -> shuffle -> read_file -> decode_image -> random_resized_crop 224 -> random_flip -> normalize -> batch 64, then
bare_decode again. Prints one line: CPU seconds (user + system, all processes, from start to end) per image of both, and
their ratio. Without a directory it makes 96 photographs (support/make_photos.py).
"""
import glob
import os
import subprocess
import sys
import tempfile

from service import bare_cpu_s, element_cpu_s, write_pipeline

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = 12000  # at least: short runs show start-up costs


def pipeline(photos):
    return [{"op": "files", "pattern": os.path.join(os.path.dirname(photos[0]), "*.jpg")},
            {"op": "repeat", "count": -(-IMAGES // len(photos))}, {"op": "shuffle"}, {"op": "read_file"}, {"op": "decode_image", "channels": 3},
            {"op": "random_resized_crop", "size": [224, 224]}, {"op": "random_flip", "p": 0.5},
            {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
            {"op": "batch", "size": 64, "drop_remainder": True}]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        directory = sys.argv[2] if len(sys.argv) == 3 else os.path.join(work, "photos")
        if len(sys.argv) == 2:
            subprocess.run(["/usr/bin/python3", os.path.join(HERE, "../support/make_photos.py"), directory, "96"], check=True)
        photos = sorted(glob.glob(os.path.join(os.path.abspath(directory), "*.jpg")))
        bare = bare_cpu_s(build, photos)
        service = element_cpu_s(build, write_pipeline(work, pipeline(photos)), work)
        bare = (bare + bare_cpu_s(build, photos)) / 2
    print("jpeg_service: bare_us=%.1f service_us=%.1f ratio=%.3f" % (bare * 1e6, service * 1e6, service / bare))


if __name__ == "__main__":
    main()
