#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiler launcher: runs the compiler (or ccache and the compiler) and writes the processor seconds
# it took, user and system, beside the object file as OBJECT.seconds. What ccache had already leaves
# the earlier figure as it is. Read by test/architecture/check_unit_times.py.
# Usage: time_unit.sh COMPILER ARGUMENT...
object='' before=''
for argument in "$@"; do
  if [ "$before" = -o ]; then object=$argument; fi
  before=$argument
done
if [ -z "$object" ]; then exec "$@"; fi

TIMEFORMAT='%U %S'
export CCACHE_STATSLOG=$object.ccache
rm -f "$CCACHE_STATSLOG"
exec 3>&2
{ time "$@" 2>&3; } 2>"$object.times"
status=$?
if [ "$status" = 0 ] && ! grep -qsE '^(direct|preprocessed)_cache_hit$' "$CCACHE_STATSLOG"; then
  mv "$object.times" "$object.seconds" 2>/dev/null
fi
rm -f "$object.times" "$CCACHE_STATSLOG"
exit "$status"
