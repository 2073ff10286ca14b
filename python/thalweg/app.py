# SPDX-License-Identifier: Apache-2.0
"""tw.app.run: calls main(argv) and ends the program with what it returns."""
import sys


def run(main=None, argv=None):
    main = main or sys.modules["__main__"].main
    sys.exit(main(sys.argv if argv is None else argv))
