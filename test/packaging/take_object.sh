#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A compiler launcher for a second tree of the same sources. If BUILD already has an object, copies the object
# instead of compiling it, so that a test of the build rules does not compile the whole project again. Otherwise
# compiles the object and appends its name to COMPILED.
# Usage: take_object.sh BUILD COMPILED INSIDE COMPILER ARGUMENT...
# INSIDE is the path of this project's tree within the second tree, or "." for its root.
set -euo pipefail
build=$1 compiled=$2 inside=$3
shift 3
object='' depfile='' before=''
for argument in "$@"; do
  case $before in
    -o) object=$argument ;;
    -MF) depfile=$argument ;;
  esac
  before=$argument
done
if [ "$inside" != . ]; then there=${object#"$inside/"}; else there=$object; fi
if [ -n "$object" ] && [ -e "$build/$there" ]; then
  cp "$build/$there" "$object"
  if [ -n "$depfile" ]; then echo "$object:" >"$depfile"; fi
  exit 0
fi
echo "$object" >>"$compiled"
exec "$@"
