// SPDX-License-Identifier: Apache-2.0
// The files of data/, as CMake compiled them in.
#pragma once

#include <cstddef>
#include <string_view>

namespace iwarp::offload_model {

struct DataFile {
  std::string_view name;
  std::string_view text;
};
extern const DataFile kDataFiles[];
extern const std::size_t kDataFileCount;

}  // namespace iwarp::offload_model
