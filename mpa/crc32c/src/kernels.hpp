// SPDX-License-Identifier: Apache-2.0
// The CRC32c kernels, one definition per source file. The target architecture determines which
// kernels exist; at run time, supported() of each kernel determines whether the processor can run
// it.
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
