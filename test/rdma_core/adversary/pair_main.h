// SPDX-License-Identifier: Apache-2.0
// The main() of programs that need only two ends. run() is the rest of the program.
#pragma once

#include "pair.h"

static struct end a, b;
static void run(void);

int main(int argc, char** argv) {
  begin(argc, argv, NULL);
  a = make_end(NULL, NULL, NULL);
  b = make_end(NULL, NULL, NULL);
  run();
  return 0;
}
