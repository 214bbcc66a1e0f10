#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Replaces the iwarp command for test_careful_programs.py: adds --careful to `iwarp run`.
if [ "$1" = run ]; then
  shift
  exec "$CAREFUL_IWARP" run --careful "$@"
fi
exec "$CAREFUL_IWARP" "$@"
