// SPDX-License-Identifier: Apache-2.0
// CRC32c (RFC 5044 section 4.4, the iSCSI digest): the reflected polynomial is 0x82F63B78; the
// initial value and the final exclusive-or are all ones. A kernel is an implementation of CRC32c;
// the best kernel for this processor is chosen once, at run time. This library only computes the
// value; MPA writes it to the FPDU, in MPA's octet order.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/bytes/view.hpp"

namespace iwarp::crc32c {

/// Returns the CRC32c of `octets` continued from `crc`, the CRC of the octets before them (0 if
/// there are none). extend(extend(0, a), b) is the CRC of a followed by b. "123456789" gives
/// 0xE3069283. Thread-safe.
std::uint32_t extend(std::uint32_t crc, bytes::View octets);

/// Copies `from` to `to` and extends `crc` over the copy in one pass. `to` has at least from.size()
/// octets and does not overlap `from`. The result is the CRC of the octets written to `to`, even if
/// another thread changes `from` during the call. Thread-safe.
std::uint32_t copy_extend(std::uint32_t crc, std::byte* to, bytes::View from);

/// Returns the CRC32c of `octets`.
inline std::uint32_t compute(bytes::View octets) { return extend(0, octets); }

/// One implementation of CRC32c. All kernels return the same results; tests run each kernel that
/// the processor supports.
struct Kernel {
  const char* name;     ///< "portable", "sse4.2+pclmul", "avx512+vpclmul", "armv8"
  bool (*supported)();  ///< returns whether this processor can run the kernel
  std::uint32_t (*extend)(std::uint32_t crc, bytes::View octets);
  std::uint32_t (*copy_extend)(std::uint32_t crc, std::byte* to, bytes::View from);
};

/// Returns all kernels that are compiled in, slowest first. By default, the last supported one is
/// used.
std::span<const Kernel> kernels();
/// Returns the kernel that extend() and copy_extend() use.
const Kernel& active();
/// Makes the whole program use `kernel`, which must be one of kernels() that the processor
/// supports. Serves to measure the cost of a kernel; CRC values do not change.
void use(const Kernel& kernel);

}  // namespace iwarp::crc32c
