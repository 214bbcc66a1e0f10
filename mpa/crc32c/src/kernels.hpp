// SPDX-License-Identifier: Apache-2.0
// The kernels, one definition per source file. Which of them exist depends on the target
// architecture; which of them may run is decided by their supported() at run time.
#pragma once

#include "iwarp/crc32c/crc32c.hpp"

namespace iwarp::crc32c {

extern const Kernel kPortableKernel;
#if defined(__x86_64__)
extern const Kernel kSse42Kernel;
extern const Kernel kAvx512Kernel;
#elif defined(__aarch64__)
extern const Kernel kArmv8Kernel;
#endif

}  // namespace iwarp::crc32c
