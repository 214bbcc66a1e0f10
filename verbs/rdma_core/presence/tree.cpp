// SPDX-License-Identifier: Apache-2.0
// Makes the list of simulated files. The names are those of Linux 6.1 with rxe. In addition, the
// device has a parent, as a hardware adapter does, because programs look in the parent's folder for
// the network interface, the NUMA node and the processors.
#include "presence/tree.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "device/persona.hpp"
#include "iwarp/version.hpp"

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
std::string rate(const Port& port) {
  struct Speed {
    std::uint8_t value;
    const char* name;
    unsigned tenths;  ///< speed of one lane in tenths of Gbit/s
  };
  static constexpr std::array kSpeeds{Speed{1, "SDR", 25},   Speed{2, "DDR", 50},
                                      Speed{4, "QDR", 100},  Speed{8, "FDR10", 100},
                                      Speed{16, "FDR", 140}, Speed{32, "EDR", 250}};
  const LinkSpeed& link = link_speed(port.mbit);
  const Speed& speed = *std::ranges::find(kSpeeds, link.speed, &Speed::value);
  const unsigned lanes = link.width == 1 ? 1 : 4;
  const unsigned tenths = speed.tenths * lanes;
  return fmt::format("{}{} Gb/sec ({}X {})", tenths / 10, tenths % 10 != 0 ? ".5" : "", lanes,
                     speed.name);
}

class Tree {
 public:
  void folder(const std::string& path) { out.push_back({path, Kind::kFolder, {}}); }
  void text(const std::string& path, std::string_view text) {
    out.push_back({path, Kind::kText, text + "\n"});
  }
  void link(const std::string& path, std::string_view to) {
    out.push_back({path, Kind::kLink, std::string(to)});
  }
  void device(const std::string& path) { out.push_back({path, Kind::kDevice, {}}); }

  std::vector<Entry> out;
};

std::string interface_of(const Port& port, std::size_t gid) {
  std::array<char, IF_NAMESIZE> name{};
  const unsigned index = port.interfaces[gid];
  return index != 0 && ::if_indextoname(index, name.data()) != nullptr ? name.data()
                                                                       : port.interface;
}

void add_port(Tree& tree, const std::string& at, const Port& port) {
  tree.folder(at);
  tree.text(at + "/state", port.is_up() ? "4: ACTIVE" : "1: DOWN");
  tree.text(at + "/phys_state", port.is_up() ? "5: LinkUp" : "3: Disabled");
  tree.text(at + "/rate", rate(port));
  tree.text(at + "/link_layer", "Ethernet");
  tree.text(at + "/cap_mask", "0x00010000");
  tree.text(at + "/lid", fmt::format("{:#x}", port.lid()));
  tree.text(at + "/lid_mask_count", "0");
  tree.text(at + "/sm_lid", "0x0");
  tree.text(at + "/sm_sl", "0");
  tree.folder(at + "/pkeys");
  tree.text(at + "/pkeys/0", "0xffff");
  for (const char* name : {"/gids", "/gid_attrs", "/gid_attrs/types", "/gid_attrs/ndevs"}) {
    tree.folder(at + name);
  }
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const auto path = [&](const char* folder) { return at + folder + std::to_string(i); };
    tree.text(path("/gids/"), groups(port.gids[i].raw, sizeof port.gids[i].raw));
    tree.text(path("/gid_attrs/types/"), facts(port.persona).gid_type_text);
    tree.text(path("/gid_attrs/ndevs/"), interface_of(port, i));
  }
}

void add_device(Tree& tree, const Port& port) {
  const std::string at = kCard + "/infiniband/iwarp0";
  const std::string guid = groups(&port.guid, sizeof port.guid);
  tree.folder(kCard + "/infiniband");
  tree.folder(at);
  tree.text(at + "/node_type", facts(port.persona).node_type_text);
  tree.text(at + "/node_guid", guid);
  tree.text(at + "/sys_image_guid", guid);
  tree.text(at + "/node_desc", facts(port.persona).node_description);
  tree.text(at + "/fw_ver", kVersion);
  tree.text(at + "/hca_type", facts(port.persona).hca_type);
  tree.text(at + "/uevent", "NAME=iwarp0");
  tree.link(at + "/device", "../../../iwarp");
  tree.link(at + "/subsystem", "../../../../../class/infiniband");
  tree.folder(at + "/ports");
  add_port(tree, at + "/ports/1", port);
}

void add_uverbs(Tree& tree, const Port& port) {
  const std::string at = kCard + "/infiniband_verbs/uverbs0";
  tree.folder(kCard + "/infiniband_verbs");
  tree.folder(at);
  tree.text(at + "/ibdev", "iwarp0");
  tree.text(at + "/abi_version", std::to_string(facts(port.persona).uverbs_abi));
  tree.text(at + "/dev", number_text(kUverbs));
  tree.text(at + "/uevent", uevent(kUverbs, "uverbs0"));
  tree.link(at + "/device", "../../../iwarp");
  tree.link(at + "/subsystem", "../../../../../class/infiniband_verbs");
}

void add_card(Tree& tree, const Port& port) {
  tree.folder(std::string(kCard));
  tree.text(kCard + "/uevent", "MODALIAS=platform:iwarp");
  tree.text(kCard + "/modalias", "platform:iwarp");
  tree.text(kCard + "/numa_node", "-1");
  tree.link(kCard + "/subsystem", "/sys/bus/platform");
  tree.folder(kCard + "/net");
  tree.link(kCard + "/net/" + port.interface, "/sys/class/net/" + port.interface);
}

void add_cm(Tree& tree) {
  tree.folder(std::string(kCm));
  tree.text(kCm + "/abi_version", "4");
  tree.text(kCm + "/dev", number_text(kRdmaCm));
  tree.text(kCm + "/uevent", uevent(kRdmaCm, "rdma_cm"));
  tree.link(kCm + "/subsystem", "../../../../class/misc");
}

}  // namespace

std::vector<Entry> entries(const Port& port) {
  Tree tree;
  add_card(tree, port);
  add_device(tree, port);
  add_uverbs(tree, port);
  add_cm(tree);
  tree.folder(std::string(kClass));
  tree.link(kClass + "/iwarp0", "../../devices/platform/iwarp/infiniband/iwarp0");
  tree.folder(std::string(kVerbsClass));
  tree.text(kVerbsClass + "/abi_version", "6");
  tree.link(kVerbsClass + "/uverbs0", "../../devices/platform/iwarp/infiniband_verbs/uverbs0");
  tree.link(std::string(kCmLink), "../../devices/virtual/misc/rdma_cm");
  tree.folder(std::string(kNodes));
  tree.device(kNodes + "/uverbs0");
  tree.device(kNodes + "/rdma_cm");
  return std::move(tree.out);
}

bool is_region(std::string_view path) {
  return std::ranges::any_of(kRegions, [path](std::string_view region) {
    return path.starts_with(region) && (path.size() == region.size() || path[region.size()] == '/');
  });
}

bool leads_to_region(std::string_view path) {
  return std::ranges::any_of(kRegions, [path](std::string_view region) {
    return region.starts_with(path) && region.size() > path.size() && region[path.size()] == '/';
  });
}

DeviceNumber device_number(std::string_view path) {
  return path.ends_with("rdma_cm") ? kRdmaCm : kUverbs;
}

}  // namespace iwarp::rdma_core::presence
