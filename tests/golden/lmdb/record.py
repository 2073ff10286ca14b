# SPDX-License-Identifier: Apache-2.0
"""Makes the files of this folder again: `python record.py FOLDER`, with the package lmdb 3.0."""
import os
import sys

import lmdb


def write(path, pairs, **options):
    with lmdb.open(path, subdir=False, map_size=1 << 22, lock=False, **options) as environment:
        for pair in pairs:
            with environment.begin(write=True) as transaction:
                transaction.put(*pair)


def main(folder):
    path = lambda name: os.path.join(folder, name + ".mdb")  # noqa: E731
    write(path("empty"), [])
    write(path("small"), [(b"b", b"two"), (b"a", b"one"), (b"c", b"")])
    # Three levels of pages, and values of several pages.
    long = [(b"%0500d" % (i * 37 % 60), b"v%d" % (i * 37 % 60)) for i in range(60)]
    write(path("tall"), long + [(b"w%d" % i, bytes([i]) * (3000 * i)) for i in range(1, 4)])
    with lmdb.open(path("inner"), subdir=False, map_size=1 << 20, lock=False, max_dbs=1) as environment:
        environment.open_db(b"inside")


if __name__ == "__main__":
    main(sys.argv[1])
