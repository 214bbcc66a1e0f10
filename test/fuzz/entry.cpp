// SPDX-License-Identifier: Apache-2.0
// The entry point through which libFuzzer calls a target.
#include <cstddef>
#include <cstdint>

#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iwarp::fuzz::run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
