# SPDX-License-Identifier: Apache-2.0
"""gen_page.py: a page with all that it needs in it."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import gen_page  # noqa: E402


def _page(folder, text, **files):
    for name, content in {"page.html": text, **{name.replace("_", "."): content for name, content in files.items()}}.items():
        (folder / name).write_text(content)
    return str(folder / "page.html")


def test_styles_and_scripts_are_put_in(tmp_path):
    page = _page(tmp_path, '<link rel="stylesheet" href="a.css">\n<script src="b.js"></script>', a_css="p { }\n", b_js="let \\d;\n")
    assert gen_page.joined(page) == "<style>\np { }\n</style>\n<script>\nlet \\d;\n</script>"


@pytest.mark.parametrize("text, found", [('<img src="x.png">', 'src="x.png"'), ('<script src="https://a/b.js"></script>', "src="),
                                         ("<style>@import 'a';</style>", "@import"), ("<style>p { background: url(a.png) }</style>", r"url\("),
                                         (')page"', "ends the text in C")])
def test_what_would_have_to_be_fetched_is_refused(tmp_path, text, found):
    with pytest.raises(SystemExit, match=found):
        gen_page.joined(_page(tmp_path, text))
