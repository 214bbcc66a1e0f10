#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What test_careful_programs.py puts in the place of the iwarp command: programs are run carefully.
if [ "$1" = run ]; then
  shift
  exec "$CAREFUL_IWARP" run --careful "$@"
fi
exec "$CAREFUL_IWARP" "$@"
