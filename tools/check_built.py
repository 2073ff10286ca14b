#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the compiler made of the rooms: nothing in it may end the process, run before main, or link what we do not promise.

    check_built.py BUILD_FOLDER

- Objects of the rooms call no function of BANNED; tools/symbols_allow.txt lists the exceptions: `OBJECT SYMBOL REASON`.
- They have no static initializers (allowed: `OBJECT static_initializer REASON`).
- libthalweg.so needs only the C and C++ run time, exports only the C ABI, and stays within 25 MB stripped.
"""
import glob
import os
import re
import subprocess
import sys

BANNED = re.compile(
    r"(abort|exit|_exit|_Exit|quick_exit|__assert_fail|raise|kill|system|popen|rand|srand|random|strtok|setenv|putenv|unsetenv|"
    r"getenv|secure_getenv|longjmp|gets|std::random_device::.*)$")
MAY_NEED = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux-x86-64|libpthread|libdl)\.so\.\d+$")
MAY_EXPORT = re.compile(r"tw_\w+$")
MOST_BYTES = 25 << 20


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def symbols(path):
    """[(kind, name)] as nm prints them."""
    rows = (re.match(r"[0-9a-f]* *([A-Za-z]) (.*)", line) for line in output("nm", "-C", path).splitlines())
    return [(m[1], m[2]) for m in rows if m]


def check_object(name, rows, allowed):
    complaints = []
    for kind, symbol in rows:
        bare = symbol.split("@")[0]
        if kind == "U" and BANNED.match(bare) and (name, bare) not in allowed:
            complaints.append(f"{name}: calls {bare}")
        if re.match(r"_GLOBAL__sub_I|__static_init", bare) and (name, "static_initializer") not in allowed:
            complaints.append(f"{name}: has a static initializer ({bare})")
    return complaints


def check_library(path):
    complaints = []
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path)):
        if not MAY_NEED.match(needed):
            complaints.append(f"{os.path.basename(path)}: links {needed}")
    for line in output("nm", "-D", "--defined-only", path).splitlines():
        symbol = line.split()[-1].split("@")[0]
        if not MAY_EXPORT.match(symbol):
            complaints.append(f"{os.path.basename(path)}: exports {symbol}")
    stripped = path + ".stripped"
    subprocess.run(["strip", "-o", stripped, path], check=True)
    size = os.path.getsize(stripped)
    os.remove(stripped)
    print(f"{os.path.basename(path)}: {size / 1e6:.1f} MB stripped")
    if size > MOST_BYTES:
        complaints.append(f"{os.path.basename(path)}: {size} bytes stripped, at most {MOST_BYTES}")
    return complaints


def read_allowed(text):
    rows = (line.split(None, 2) for line in text.splitlines() if line and not line.startswith("#"))
    return {(name, symbol) for name, symbol, reason in rows}


def main(build):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "tools/symbols_allow.txt")) as f:
        allowed = read_allowed(f.read())
    passed, complaints = 0, []
    objects = glob.glob(os.path.join(build, "thalweg/**/*.o"), recursive=True)
    for path in sorted(objects):
        name = re.sub(r"/CMakeFiles/[^/]*\.dir/", "/", os.path.relpath(path, build))
        if re.search(r"_(test|benchmark|fuzz)(_\d+)?\.cc\.o$", name) or name.startswith("thalweg/testing/"):
            continue
        found = check_object(name[:-2], symbols(path), allowed)
        passed += not found
        complaints += found
    libraries = [p for p in glob.glob(os.path.join(build, "**/libthalweg.so"), recursive=True)]
    for path in libraries[:1]:
        found = check_library(path)
        passed += not found
        complaints += found
    if not libraries:
        complaints.append(f"no libthalweg.so in {build}")
    print("\n".join(complaints + [f"{passed} passed, {len(complaints)} failed"]))
    return 1 if complaints or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
