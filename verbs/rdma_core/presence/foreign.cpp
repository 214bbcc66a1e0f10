// SPDX-License-Identifier: Apache-2.0
// The kernel keeps the files of an RDMA device in the folders of its classes: infiniband,
// infiniband_verbs, infiniband_mad and others. They are in /sys/class, and in the folder of the PCI
// function or of the virtual bus below /sys/devices. So no list of drivers or devices is necessary.
#include "presence/foreign.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "presence/tree.hpp"

namespace iwarp::rdma_core::presence {
namespace {

constexpr std::string_view kClassFolder = "/infiniband";
constexpr std::string_view kCmSettings = "/sys/kernel/config/rdma_cm";  // a folder per device

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns whether a component of the path is "infiniband" or begins with "infiniband_".
bool has_class(std::string_view path) {
  for (auto at = path.find(kClassFolder); at != std::string_view::npos;
       at = path.find(kClassFolder, at + 1)) {
    const std::string_view rest = path.substr(at + kClassFolder.size());
    if (rest.empty() || rest.front() == '/' || rest.front() == '_') return true;
  }
  return false;
}

bool is_foreign(std::string_view path) {
  const bool has_devices = path.starts_with("/sys/class/") || path.starts_with("/sys/devices/");
  return (has_devices && has_class(path)) || path.starts_with(kCmSettings);
}

}  // namespace

bool is_rdma(std::string_view path) { return is_region(path) || is_foreign(path); }

bool may_lead_to_rdma(const char* path) {
  constexpr std::array kNames{"infiniband", "rdma_cm", "iwarp", "char/"};
  if (std::ranges::any_of(kNames, [&](const char* name) { return std::strstr(path, name); })) {
    return true;
  }
  const std::string_view text = path;
  return is_device_number(text.substr(0, text.find('/')));
}

bool is_device_number(std::string_view name) {
  const auto colon = name.find(':');
  return colon != std::string_view::npos && is_digits(name.substr(0, colon)) &&
         is_digits(name.substr(colon + 1));
}

}  // namespace iwarp::rdma_core::presence
