# SPDX-License-Identifier: Apache-2.0
"""Every byte of the dumps in docs/formats is what lies in the golden file that the dump names, at that offset."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = os.path.join(ROOT, "docs", "formats")
DUMP = re.compile(r"^```hexdump (\S+)\n(.*?)^```$", re.M | re.S)
LINE = re.compile(r"^([0-9a-f]{6})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  .*)?$")


def complaints(text, read):
    """What is wrong in the dumps of a page; `read` gives the bytes of a file."""
    found = []
    for path, body in DUMP.findall(text):
        data, expected = read(path), None
        for line in body.splitlines():
            if line == "...":
                expected = None
                continue
            m = LINE.match(line)
            if m is None:
                found.append(f"{path}: no line of a dump: {line!r}")
                continue
            offset, given = int(m[1], 16), bytes.fromhex(m[2])
            if expected not in (None, offset):
                found.append(f"{path}: {offset:06x} comes after what ends at {expected:06x}, without ...")
            if data[offset:offset + len(given)] != given:
                found.append(f"{path}: at {offset:06x} the page has {given.hex(' ')}, the file "
                             f"{data[offset:offset + len(given)].hex(' ')}")
            expected = offset + len(given)
    return found


def read_golden(path):
    with open(os.path.join(ROOT, path), "rb") as f:
        return f.read()


def pages():
    return sorted(name for name in os.listdir(PAGES) if name.endswith(".md") and name != "README.md")


def test_dumps_are_the_files_bytes():
    for name in pages():
        with open(os.path.join(PAGES, name), encoding="utf-8") as f:
            text = f.read()
        assert complaints(text, read_golden) == [], name
        assert len(DUMP.findall(text)) == text.count("```hexdump") > 0, name


def test_the_table_lists_every_page():
    with open(os.path.join(PAGES, "README.md"), encoding="utf-8") as f:
        listed = re.findall(r"^\| \[\w+\]\((\w+\.md)\)", f.read(), re.M)
    assert sorted(listed) == pages()


def test_a_wrong_byte_is_found():
    page = "```hexdump a\n000000  01 02  a number\n000002  03\n...\n000005  05\n```\n"
    data = bytes([1, 2, 3, 4, 4, 5])
    assert complaints(page, lambda path: data) == []
    assert len(complaints(page, lambda path: b"\1\2\4\4\4\5")) == 1
    assert len(complaints(page.replace("...\n", ""), lambda path: data)) == 1
    assert len(complaints(page.replace("000005", "00005"), lambda path: data)) == 1
