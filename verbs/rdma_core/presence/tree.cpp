// SPDX-License-Identifier: Apache-2.0
// Makes the list of simulated files. The names are those of Linux 6.1 with rxe. In addition, a
// device has a parent, as a hardware adapter does, because programs look in the parent's folder for
// the network interface, the NUMA node and the processors.
#include "presence/tree.hpp"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "device/port.hpp"

namespace iwarp::rdma_core::presence {
namespace {

constexpr std::string_view kClass = "/sys/class/infiniband";
constexpr std::string_view kVerbsClass = "/sys/class/infiniband_verbs";
constexpr std::string_view kCmLink = "/sys/class/misc/rdma_cm";
constexpr std::string_view kCard = "/sys/devices/platform/iwarp";
constexpr std::string_view kCm = "/sys/devices/virtual/misc/rdma_cm";
constexpr std::string_view kNodes = "/dev/infiniband";
constexpr std::array kRegions{kClass, kVerbsClass, kCmLink, kCard, kCm, kNodes};

constexpr DeviceNumber kUverbs{231, 192};
constexpr DeviceNumber kRdmaCm{10, 124};

std::string operator+(std::string_view a, std::string_view b) { return std::string(a).append(b); }

std::string number_text(DeviceNumber n) { return fmt::format("{}:{}", n.major, n.minor); }

std::string uevent(DeviceNumber n, std::string_view name) {
  return fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=infiniband/{}\nDEVMODE=0666", n.major, n.minor,
                     name);
}

/// Formats octets as groups of four hexadecimal digits, as the kernel prints GUIDs and GIDs.
std::string groups(const void* octets, std::size_t size) {
  const auto* raw = static_cast<const std::uint8_t*>(octets);
  std::string out;
  for (std::size_t i = 0; i < size; i += 2) {
    out += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", raw[i], raw[i + 1]);
  }
  return out;
}

/// Formats the rate of the port as rate_show() of the kernel does.
std::string rate(const ibv_port_attr& port) {
  struct Speed {
    std::uint8_t value;
    const char* name;
    unsigned tenths;  ///< speed of one lane in tenths of Gbit/s
  };
  static constexpr std::array kSpeeds{
      Speed{1, "SDR", 25},   Speed{2, "DDR", 50},   Speed{4, "QDR", 100},  Speed{8, "FDR10", 100},
      Speed{16, "FDR", 140}, Speed{32, "EDR", 250}, Speed{64, "HDR", 500}, Speed{128, "NDR", 1000}};
  struct Width {
    std::uint8_t value;
    unsigned lanes;
  };
  static constexpr std::array kWidths{Width{1, 1}, Width{2, 4}, Width{4, 8}, Width{8, 12},
                                      Width{16, 2}};
  const auto speed = std::ranges::find(kSpeeds, port.active_speed, &Speed::value);
  const auto width = std::ranges::find(kWidths, port.active_width, &Width::value);
  const Speed& of_lane = speed != kSpeeds.end() ? *speed : kSpeeds.front();
  const unsigned lanes = width != kWidths.end() ? width->lanes : 1;
  const unsigned tenths = of_lane.tenths * lanes;
  return fmt::format("{}{} Gb/sec ({}X {})", tenths / 10, tenths % 10 != 0 ? ".5" : "", lanes,
                     of_lane.name);
}

/// Returns the folder of the device's parent.
std::string card(const DeviceSpec& device) {
  return kCard + (device.index == 0 ? std::string() : '.' + std::to_string(device.index));
}

std::string uverbs(const DeviceSpec& device) { return "uverbs" + std::to_string(device.index); }

DeviceNumber uverbs_number(unsigned index) { return {kUverbs.major, kUverbs.minor + index}; }

class Tree {
 public:
  void folder(const std::string& path) { out.push_back({path, EntryType::kFolder, {}}); }
  void text(const std::string& path, std::string_view text) {
    out.push_back({path, EntryType::kText, text + "\n"});
  }
  void link(const std::string& path, std::string_view to) {
    out.push_back({path, EntryType::kLink, std::string(to)});
  }
  void device(const std::string& path) { out.push_back({path, EntryType::kDevice, {}}); }

  std::vector<Entry> out;
};

std::string interface_of(const Port& port, const PortGid& entry) {
  std::array<char, IF_NAMESIZE> name{};
  const bool is_known =
      entry.interface != 0 && ::if_indextoname(entry.interface, name.data()) != nullptr;
  return is_known ? name.data() : port.interface;
}

void add_port(Tree& tree, const std::string& at, const DeviceSpec& device, const Port& port) {
  const ibv_port_attr attr = port_attributes(*device.profile, port);
  tree.folder(at);
  tree.text(at + "/state", port.is_up() ? "4: ACTIVE" : "1: DOWN");
  tree.text(at + "/phys_state", port.is_up() ? "5: LinkUp" : "3: Disabled");
  tree.text(at + "/rate", rate(attr));
  tree.text(at + "/link_layer", "Ethernet");
  tree.text(at + "/cap_mask", fmt::format("{:#010x}", attr.port_cap_flags));
  tree.text(at + "/lid", fmt::format("{:#x}", attr.lid));
  tree.text(at + "/lid_mask_count", std::to_string(attr.lmc));
  tree.text(at + "/sm_lid", fmt::format("{:#x}", attr.sm_lid));
  tree.text(at + "/sm_sl", std::to_string(attr.sm_sl));
  tree.folder(at + "/pkeys");
  for (int i = 0; i < attr.pkey_tbl_len; ++i) {
    tree.text(fmt::format("{}/pkeys/{}", at, i), i == 0 ? "0xffff" : "0x0000");
  }
  for (const char* name : {"/gids", "/gid_attrs", "/gid_attrs/types", "/gid_attrs/ndevs"}) {
    tree.folder(at + name);
  }
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const PortGid& entry = port.gids[i];
    const auto path = [&](const char* folder) { return at + folder + std::to_string(i); };
    tree.text(path("/gids/"), groups(entry.gid.raw, sizeof entry.gid.raw));
    tree.text(path("/gid_attrs/types/"), entry.type == GidType::kV2 ? "RoCE v2" : "IB/RoCE v1");
    tree.text(path("/gid_attrs/ndevs/"), interface_of(port, entry));
  }
}

void add_device(Tree& tree, const DeviceSpec& device, const Port& port) {
  const Profile& profile = *device.profile;
  const std::string folder = card(device) + "/infiniband";
  const std::string at = folder + "/" + device.name;
  const std::string guid = groups(&port.guid, sizeof port.guid);
  const auto add_if_known = [&](const char* name, const std::optional<std::string>& text) {
    if (text) tree.text(at + name, *text);
  };
  tree.folder(folder);
  tree.folder(at);
  tree.text(at + "/node_type", profile.is_rnic() ? "4: RNIC" : "1: CA");
  tree.text(at + "/node_guid", guid);
  tree.text(at + "/sys_image_guid", guid);
  add_if_known("/node_desc", profile.description);
  // The kernel's software devices have no firmware, for which libibverbs prints 0.0.0.
  tree.text(at + "/fw_ver", profile.firmware == "0.0.0" ? "" : firmware(profile));
  add_if_known("/hca_type", profile.type);
  add_if_known("/board_id", profile.board);
  tree.text(at + "/uevent", "NAME=" + device.name);
  tree.link(at + "/device", "../../../" + card(device).substr(kCard.rfind('/') + 1));
  tree.link(at + "/subsystem", "../../../../../class/infiniband");
  tree.folder(at + "/ports");
  add_port(tree, at + "/ports/1", device, port);
}

void add_uverbs(Tree& tree, const DeviceSpec& device) {
  const std::string folder = card(device) + "/infiniband_verbs";
  const std::string at = folder + "/" + uverbs(device);
  const DeviceNumber number = uverbs_number(device.index);
  tree.folder(folder);
  tree.folder(at);
  tree.text(at + "/ibdev", device.name);
  tree.text(at + "/abi_version", std::to_string(device.profile->uverbs_abi));
  tree.text(at + "/dev", number_text(number));
  tree.text(at + "/uevent", uevent(number, uverbs(device)));
  tree.link(at + "/device", "../../../" + card(device).substr(kCard.rfind('/') + 1));
  tree.link(at + "/subsystem", "../../../../../class/infiniband_verbs");
}

void add_card(Tree& tree, const DeviceSpec& device, const Port& port) {
  const std::string at = card(device);
  const std::string modalias = device.profile->modalias.value_or("platform:iwarp");
  tree.folder(at);
  tree.text(at + "/uevent", "MODALIAS=" + modalias);
  tree.text(at + "/modalias", modalias);
  tree.text(at + "/numa_node", "-1");
  tree.link(at + "/subsystem", "/sys/bus/platform");
  tree.folder(at + "/net");
  tree.link(at + "/net/" + port.interface, "/sys/class/net/" + port.interface);
}

void add_cm(Tree& tree) {
  tree.folder(std::string(kCm));
  tree.text(kCm + "/abi_version", "4");
  tree.text(kCm + "/dev", number_text(kRdmaCm));
  tree.text(kCm + "/uevent", uevent(kRdmaCm, "rdma_cm"));
  tree.link(kCm + "/subsystem", "../../../../class/misc");
}

// The kernel keeps the files of an RDMA device in the folders of its classes: infiniband,
// infiniband_verbs, infiniband_mad and others. They are in /sys/class, and in the folder of the PCI
// function or of the virtual bus below /sys/devices. So no list of drivers or devices is necessary.
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

std::vector<Entry> entries(std::span<const DeviceSpec> devices) {
  Tree tree;
  add_cm(tree);
  tree.folder(std::string(kClass));
  tree.folder(std::string(kVerbsClass));
  tree.text(kVerbsClass + "/abi_version", "6");
  tree.link(std::string(kCmLink), "../../devices/virtual/misc/rdma_cm");
  tree.folder(std::string(kNodes));
  for (const DeviceSpec& device : devices) {
    const Port port = look_at_port(device);
    add_card(tree, device, port);
    add_device(tree, device, port);
    add_uverbs(tree, device);
    const std::string target = "../.." + card(device).substr(std::string_view("/sys").size());
    tree.link(kClass + "/" + device.name, target + "/infiniband/" + device.name);
    tree.link(kVerbsClass + "/" + uverbs(device), target + "/infiniband_verbs/" + uverbs(device));
    tree.device(kNodes + "/" + uverbs(device));
  }
  tree.device(kNodes + "/rdma_cm");
  return std::move(tree.out);
}

bool is_region(std::string_view path) {
  return std::ranges::any_of(kRegions, [path](std::string_view region) {
    if (!path.starts_with(region)) return false;
    // The parents of the devices are iwarp, iwarp.1, iwarp.2, ...
    return path.size() == region.size() || path[region.size()] == '/' ||
           (region == kCard && path[region.size()] == '.');
  });
}

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

bool leads_to_region(std::string_view path) {
  return std::ranges::any_of(kRegions, [path](std::string_view region) {
    return region.starts_with(path) && region.size() > path.size() && region[path.size()] == '/';
  });
}

DeviceNumber device_number(std::string_view path) {
  if (path.ends_with("rdma_cm")) return kRdmaCm;
  unsigned index = 0;
  const auto digits = path.find_last_not_of("0123456789") + 1;
  std::from_chars(path.data() + digits, path.data() + path.size(), index);
  return uverbs_number(index);
}

}  // namespace iwarp::rdma_core::presence
