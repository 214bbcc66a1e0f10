// SPDX-License-Identifier: Apache-2.0
// Chooses the CRC32c kernel once, at the first use, and forwards all calls to it. This file
// contains no kernel code.
#include <array>
#include <atomic>

#include "kernels.hpp"

namespace iwarp::crc32c {
namespace {

std::atomic<const Kernel*> g_chosen{nullptr};

const Kernel& choose() {
  const Kernel* best = &kPortableKernel;
  for (const Kernel& kernel : kernels()) {
    if (kernel.supported()) best = &kernel;
  }
  return *best;
}

}  // namespace

std::span<const Kernel> kernels() {
  static const std::array all{
      kPortableKernel,
#if defined(__x86_64__)
      kSse42Kernel,
      kAvx512Kernel,
#elif defined(__aarch64__)
      kArmv8Kernel,
#endif
  };
  return all;
}

const Kernel& active() {
  const auto* kernel = g_chosen.load(std::memory_order_acquire);
  if (kernel == nullptr) {
    // Several threads may get here at the same time; all of them choose the same kernel.
    kernel = &choose();
    g_chosen.store(kernel, std::memory_order_release);  // also publishes the table of kernels
  }
  return *kernel;
}

void use(const Kernel& kernel) { g_chosen.store(&kernel, std::memory_order_release); }

std::uint32_t extend(std::uint32_t crc, bytes::View octets) { return active().extend(crc, octets); }

std::uint32_t copy_extend(std::uint32_t crc, std::byte* to, bytes::View from) {
  return active().copy_extend(crc, to, from);
}

}  // namespace iwarp::crc32c
