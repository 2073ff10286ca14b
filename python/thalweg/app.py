# SPDX-License-Identifier: Apache-2.0
"""tw.app.run: reads the flags, calls main(argv) and ends the program with what it returns."""
import sys

from thalweg import flags, names


def _usage(program):
    main = sys.modules.get("__main__")
    print(getattr(main, "__doc__", None) or f"\nUSAGE: {program} [flags]\n")
    print("flags:\n")
    print(flags.FLAGS.main_module_help())


def run(main=None, argv=None):
    """Runs the program; what is left of argv after the flags goes to main."""
    argv = sys.argv if argv is None else argv
    main = main or sys.modules["__main__"].main
    flags.define_help()
    try:
        rest = flags.FLAGS(argv, known_only=True)
    except flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\nPass --helpshort or --helpfull to see help on flags.\n")
        sys.exit(1)
    if flags.FLAGS["help"].value:
        _usage(argv[0])
        sys.exit(1)
    sys.exit(main(rest))


names.complete(globals())
