#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh OBJECT...: fails when an object of an instruction set level defines a weak or unique symbol, which the
# linker could merge with that of another level.
[ $# -gt 0 ] || { echo "no objects given"; exit 2; }
bad=$(nm --defined-only -A -C "$@" | grep -E ' [WwVvu] ')
[ -z "$bad" ] && exit 0
echo "weak symbols in files compiled for one instruction set:"
echo "$bad"
exit 1
