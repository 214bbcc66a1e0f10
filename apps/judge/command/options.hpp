// SPDX-License-Identifier: Apache-2.0
// The options that only the judge of devices has. `iwarp conform` declares them too, so that its
// help describes them, and passes them on to the judge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command_line/command.hpp"

namespace iwarp::judge {

struct DeviceOptions {
  static constexpr unsigned kAnyGid = 256;

  std::string device;
  unsigned port = 1;
  unsigned gid_index = kAnyGid;
  bool lines = false;
  std::string program;
  bool dangerous = false;
  std::optional<std::string> litmus;  ///< "": the built-in files
  std::uint64_t runs = 2000;          ///< of each litmus file
};

void add_device_options(apps::cli::Command& command, DeviceOptions& options);

}  // namespace iwarp::judge
