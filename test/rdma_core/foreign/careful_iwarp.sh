#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_careful_programs.py uses this script as the iwarp command. It adds --careful to `iwarp run`.
if [ "$1" = run ]; then
  shift
  exec "$CAREFUL_IWARP" run --careful "$@"
fi
exec "$CAREFUL_IWARP" "$@"
