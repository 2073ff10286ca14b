#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the Python package as built into a wheel: make_wheel.py OUT_FOLDER

Takes build/release/python/thalweg as it is, with debugging symbols stripped; the wheel needs numpy, and ml_dtypes for bfloat16.
`pip install thalweg[tf1]` brings the packages, too, that TensorFlow 1 brought along and programs of its time import;
`pip install thalweg[keras]` what tf.keras is made of.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "build", "release", "python", "thalweg")


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt")) as f:
        return re.search(r"project\(thalweg VERSION ([\d.]+)", f.read())[1]


def brought_along():
    """What the components for oneDNN, pictures and RE2 link beyond the C and C++ run time: they find it beside themselves. ICU's, of 35 MB,
    is left to the system, as zlib is: without them the operations that need them say so. SQLite's component has it within."""
    for component in ("libthalweg_dnnl.so", "libthalweg_images.so", "libthalweg_re2.so"):
        path = os.path.join(PACKAGE, component)
        if os.path.exists(path):
            listed = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
            yield from re.findall(r"^\s*(lib(?:dnnl|OpenCL|gomp|re2|jpeg|png16|gif|z\.so)\S*) => (\S+)", listed, re.M)


def stripped(path, scratch):
    out = os.path.join(scratch, "stripped")
    subprocess.run(["strip", "--strip-unneeded", "-o", out, path], check=True)
    return out


def files_of_package(scratch):
    """(name in the wheel, bytes) of every file of the package."""
    for name, path in brought_along():
        with open(stripped(path, scratch), "rb") as f:
            yield os.path.join("thalweg", name), f.read()
    for folder, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(d for d in folders if d != "__pycache__")
        for file in sorted(files):
            path = os.path.join(folder, file)
            name = os.path.join("thalweg", os.path.relpath(path, PACKAGE))
            if re.search(r"\.so(\.\d+)*$", file) or name == os.path.join("thalweg", "bin", "thalweg"):
                path = stripped(path, scratch)
            with open(path, "rb") as f:
                yield name, f.read()


# What TensorFlow 1 brought along, in versions that the code of its time can use: messages that an old protoc has generated
# need protobuf before 3.21.
TF1 = ("absl-py>=0.9", "gast>=0.2.2", "h5py>=2.9", "protobuf>=3.8,<3.21", "six>=1.12", "termcolor>=1.1", "wrapt>=1.11")


# What tf.keras is made of; h5py keeps its models.
KERAS = ("keras>=2.3.1,<2.4", "h5py>=2.9")


def extra(name, requirements):
    """What `pip install thalweg[name]` installs."""
    return [f"Provides-Extra: {name}", *(f'Requires-Dist: {r}; extra == "{name}"' for r in requirements)]


def metadata():
    """METADATA: what package indexes show, and what is installed along."""
    with open(os.path.join(ROOT, "README.md")) as f:
        readme = f.read()
    rows = ["Metadata-Version: 2.1", "Name: thalweg", f"Version: {version()}", "Summary: A virtual machine for tensor dataflow graphs",
            "Author: The Thalweg authors", "License: Apache-2.0", "Keywords: dataflow,tensor,machine learning,tensorflow",
            "Classifier: License :: OSI Approved :: Apache Software License", "Classifier: Operating System :: POSIX :: Linux",
            "Classifier: Programming Language :: Python :: 3", f"Requires-Python: >=3.{sys.version_info[1]}",
            "Requires-Dist: numpy", "Requires-Dist: ml_dtypes", *extra("tf1", TF1), *extra("keras", KERAS),
            "Description-Content-Type: text/markdown"]
    return "\n".join(rows) + f"\n\n{readme}"


ENTRY_POINTS = "[console_scripts]\nthalweg = thalweg.__main__:main\n"


def entry(name):
    """The same time and rights for all, so that the same tree gives the same bytes."""
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    rights = 0o755 if name.startswith("thalweg/bin/") else 0o644
    info.external_attr, info.compress_type = (0o100000 | rights) << 16, zipfile.ZIP_DEFLATED
    return info


def main(out):
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}-cp{sys.version_info[0]}{sys.version_info[1]}-linux_{os.uname().machine}"
    info = f"thalweg-{version()}.dist-info"
    with open(os.path.join(ROOT, "LICENSE"), "rb") as f:
        license = f.read()
    wheel = f"Wheel-Version: 1.0\nGenerator: thalweg\nRoot-Is-Purelib: false\nTag: {tag}\n"
    record = []
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"thalweg-{version()}-{tag}.whl")
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        contents = [*files_of_package(scratch), (f"{info}/METADATA", metadata().encode()), (f"{info}/WHEEL", wheel.encode()),
                    (f"{info}/entry_points.txt", ENTRY_POINTS.encode()), (f"{info}/LICENSE", license)]
        for name, data in contents:
            z.writestr(entry(name), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
        z.writestr(entry(f"{info}/RECORD"), "".join(record) + f"{info}/RECORD,,\n")
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not os.path.isdir(PACKAGE):
        sys.exit(f"{PACKAGE} is not there: build first")
    sys.exit(main(sys.argv[1]))
