# SPDX-License-Identifier: Apache-2.0
"""The command: python -m thalweg, or `thalweg` where the package is installed. Its verbs are those of the program beside it."""
import os
import sys

_HELP = """usage: thalweg [--version] VERB ...       the same as python -m thalweg

Python programs:
  import thalweg as tf                                TensorFlow 1's interface
  python -m thalweg.as_tensorflow PROGRAM ARGS        runs a program that imports tensorflow
  thalweg replay [--debug] FILE                       runs a failed step again that tw.debugging.capture has kept
"""


def main() -> int:
    """Runs the command; gives its exit status where it is not there."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["replay"]:
        from thalweg.debugger import replay
        return replay.main(arguments[1:])
    folder = os.path.dirname(os.path.abspath(__file__))
    command = os.path.join(folder, "bin", "thalweg")
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(_HELP + "\n")
        sys.stdout.flush()
        arguments = ["--help"]
    if os.path.exists(command):
        places = [folder, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]  # libthalweg.so.0 lies beside this file
        os.execve(command, ["thalweg", *arguments], {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(places)})
    if arguments[0] == "--help":
        return 0
    if arguments[0] == "--version":
        import thalweg
        from thalweg import _core  # noqa: F401  (fails where the package is not whole)
        print("thalweg", thalweg.__version__)
        return 0
    sys.stderr.write(f"thalweg: {command} is missing: this package was built without the command\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
