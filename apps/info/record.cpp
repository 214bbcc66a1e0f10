// SPDX-License-Identifier: Apache-2.0
// Loads libibverbs, and records the attributes of the device, the order of its GID table, and the
// names of its files in sysfs. Omits what differs between two cards of the same type.
#include "info/record.hpp"

#include "common/base/error.hpp"

#ifdef IWARP_HAS_PORT
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>
#endif

namespace iwarp::apps {

#ifdef IWARP_HAS_PORT

namespace {

namespace fs = std::filesystem;
using Sorted = nlohmann::json;  // sorts the members of an object by name

constexpr const char* kOption = "--record-device";
constexpr int kProfileFormat = 1;

/// The functions of libibverbs that recording calls. `iwarp` is not linked to the library, so that
/// it starts on machines without it.
class Ibverbs {
 public:
  /// Returns the file name of the library, which contains its version.
  std::string file() const {
    link_map* map = nullptr;
    if (::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return "libibverbs.so.1";
    std::error_code error;
    const fs::path real = fs::canonical(map->l_name, error);
    return error ? "libibverbs.so.1" : real.filename().string();
  }

 private:
  static void* load() {
    void* const handle = ::dlopen("libibverbs.so.1", RTLD_NOW);
    if (handle != nullptr) return handle;
    throw Error(
        fmt::format("{}: cannot load libibverbs: {} (install libibverbs1)", kOption, ::dlerror()));
  }

  template <typename Function>
  Function find(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) {
      throw Error(fmt::format("{}: libibverbs.so.1 does not export \"{}\"", kOption, name));
    }
    return reinterpret_cast<Function>(found);
  }

  void* const handle_ = load();  // never closed, because provider libraries remain in use

 public:
  decltype(&ibv_get_device_list) get_device_list =
      find<decltype(get_device_list)>("ibv_get_device_list");
  decltype(&ibv_free_device_list) free_device_list =
      find<decltype(free_device_list)>("ibv_free_device_list");
  decltype(&ibv_open_device) open_device = find<decltype(open_device)>("ibv_open_device");
  decltype(&ibv_close_device) close_device = find<decltype(close_device)>("ibv_close_device");
  decltype(&ibv_query_device) query_device = find<decltype(query_device)>("ibv_query_device");
};

/// Returns the first line of a file, or nullopt if it cannot be read.
std::optional<std::string> read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

void add_text(Sorted& to, const char* name, const fs::path& path) {
  if (auto text = read_line(path)) to[name] = std::move(*text);
}

/// An open device.
class OpenDevice {
 public:
  OpenDevice(const Ibverbs& verbs, const std::string& name) : verbs_(verbs) {
    int count = 0;
    const std::unique_ptr<ibv_device*, decltype(verbs.free_device_list)> list(
        verbs.get_device_list(&count), verbs.free_device_list);
    std::string names;
    for (int i = 0; i < (list ? count : 0); ++i) {
      ibv_device* const device = list.get()[i];
      if (device->name == name) {
        open(device);
        return;
      }
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", device->name);
    }
    if (names.empty()) {
      throw Error(
          fmt::format("{} \"{}\": this machine has no RDMA device that libibverbs can use "
                      "(load the driver of the card and install ibverbs-providers)",
                      kOption, printable(name)));
    }
    throw Error(fmt::format("{} \"{}\": no such RDMA device (available: {})", kOption,
                            printable(name), names));
  }
  ~OpenDevice() { verbs_.close_device(context_); }
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  const ibv_device& device() const { return *context_->device; }
  fs::path sysfs() const { return device().ibdev_path; }

  ibv_device_attr attributes() const {
    ibv_device_attr out{};
    check("ibv_query_device", verbs_.query_device(context_, &out));
    return out;
  }

  ibv_port_attr port() const {
    ibv_port_attr out{};
    // The exported ibv_query_port() fills only the members that existed when it was first released.
    const verbs_context* const calls = verbs_get_ctx_op(context_, query_port);
    check("ibv_query_port",
          calls == nullptr ? ENOSYS : calls->query_port(context_, 1, &out, sizeof out));
    return out;
  }

 private:
  void open(ibv_device* device) {
    context_ = verbs_.open_device(device);
    if (context_ != nullptr) return;
    const auto node = fmt::format("/dev/infiniband/{}", device->dev_name);
    // libibverbs has looked elsewhere since, so errno does not say why this file cannot be opened.
    const int fd = ::open(node.c_str(), O_RDWR | O_CLOEXEC);
    const auto why = fd < 0 ? errno_text() : "ibv_open_device() failed";
    if (fd >= 0) ::close(fd);
    throw Error(fmt::format(
        "{} \"{}\": cannot open {}: {} (recording needs the right to read and write this file)",
        kOption, device->name, node, why));
  }

  void check(const char* call, int error) const {
    if (error == 0) return;
    throw Error(fmt::format("{} \"{}\": {}: {}", kOption, device().name, call,
                            to_text(std::error_code(error, std::generic_category()))));
  }

  const Ibverbs& verbs_;
  ibv_context* context_ = nullptr;
};

/// The facts about the device that are not in its attributes.
Sorted device_facts(const ibv_device& device, const ibv_device_attr& attributes) {
  const fs::path sysfs = device.ibdev_path;
  Sorted out{{"name", device.name},
             {"node_type", static_cast<int>(device.node_type)},
             {"transport", static_cast<int>(device.transport_type)},
             {"fw_ver", attributes.fw_ver}};
  for (const char* name : {"node_desc", "hca_type", "board_id"}) add_text(out, name, sysfs / name);
  const auto abi = read_line(fs::path(device.dev_path) / "abi_version");
  if (!abi) {
    throw Error(fmt::format("{} \"{}\": cannot read {}/abi_version (is sysfs mounted?)", kOption,
                            device.name, device.dev_path));
  }
  out["uverbs_abi"] = std::stoi(*abi);
  add_text(out, "modalias", sysfs / "device/modalias");
  std::error_code none;
  const fs::path driver = fs::read_symlink(sysfs / "device/driver", none);
  if (!none) out["driver"] = driver.filename().string();
  return out;
}

#define IWARP_MEMBER(name) {#name, from.name}

/// Returns the integers of ibv_device_attr, except those that differ between two cards of a type.
Sorted attribute_members(const ibv_device_attr& from) {
  return {
      IWARP_MEMBER(max_mr_size),
      IWARP_MEMBER(page_size_cap),
      IWARP_MEMBER(vendor_id),
      IWARP_MEMBER(vendor_part_id),
      IWARP_MEMBER(hw_ver),
      IWARP_MEMBER(max_qp),
      IWARP_MEMBER(max_qp_wr),
      IWARP_MEMBER(device_cap_flags),
      IWARP_MEMBER(max_sge),
      IWARP_MEMBER(max_sge_rd),
      IWARP_MEMBER(max_cq),
      IWARP_MEMBER(max_cqe),
      IWARP_MEMBER(max_mr),
      IWARP_MEMBER(max_pd),
      IWARP_MEMBER(max_qp_rd_atom),
      IWARP_MEMBER(max_ee_rd_atom),
      IWARP_MEMBER(max_res_rd_atom),
      IWARP_MEMBER(max_qp_init_rd_atom),
      IWARP_MEMBER(max_ee_init_rd_atom),
      {"atomic_cap", static_cast<int>(from.atomic_cap)},
      IWARP_MEMBER(max_ee),
      IWARP_MEMBER(max_rdd),
      IWARP_MEMBER(max_mw),
      IWARP_MEMBER(max_raw_ipv6_qp),
      IWARP_MEMBER(max_raw_ethy_qp),
      IWARP_MEMBER(max_mcast_grp),
      IWARP_MEMBER(max_mcast_qp_attach),
      IWARP_MEMBER(max_total_mcast_qp_attach),
      IWARP_MEMBER(max_ah),
      IWARP_MEMBER(max_fmr),
      IWARP_MEMBER(max_map_per_fmr),
      IWARP_MEMBER(max_srq),
      IWARP_MEMBER(max_srq_wr),
      IWARP_MEMBER(max_srq_sge),
      IWARP_MEMBER(max_pkeys),
      IWARP_MEMBER(local_ca_ack_delay),
  };
}

/// Returns the integers of ibv_port_attr, except the states and the counters of violations.
Sorted port_members(const ibv_port_attr& from) {
  return {
      {"max_mtu", static_cast<int>(from.max_mtu)},
      {"active_mtu", static_cast<int>(from.active_mtu)},
      IWARP_MEMBER(gid_tbl_len),
      IWARP_MEMBER(port_cap_flags),
      IWARP_MEMBER(max_msg_sz),
      IWARP_MEMBER(pkey_tbl_len),
      IWARP_MEMBER(lid),
      IWARP_MEMBER(sm_lid),
      IWARP_MEMBER(lmc),
      IWARP_MEMBER(max_vl_num),
      IWARP_MEMBER(sm_sl),
      IWARP_MEMBER(subnet_timeout),
      IWARP_MEMBER(init_type_reply),
      IWARP_MEMBER(active_width),
      IWARP_MEMBER(active_speed),
      IWARP_MEMBER(link_layer),
      IWARP_MEMBER(flags),
      IWARP_MEMBER(port_cap_flags2),
  };
}

#undef IWARP_MEMBER

/// Returns what the card made the GID of: "mac" (the MAC address, followed by zeros), "link-local",
/// "ipv4" or "ipv6".
std::string origin(const in6_addr& gid) {
  if (std::all_of(gid.s6_addr + 6, gid.s6_addr + 16, [](auto octet) { return octet == 0; })) {
    return "mac";
  }
  if (IN6_IS_ADDR_LINKLOCAL(&gid)) return "link-local";
  return IN6_IS_ADDR_V4MAPPED(&gid) ? "ipv4" : "ipv6";
}

/// Returns the kinds of GIDs in the order in which the table lists them for its first interface. A
/// GID of an RNIC has no RoCE version.
std::vector<std::string> gid_kinds(const fs::path& port, int table_length, bool is_rnic) {
  std::vector<std::string> out;
  std::optional<std::string> interface;
  for (int i = 0; i < table_length; ++i) {
    const auto index = std::to_string(i);
    const auto text = read_line(port / "gids" / index);
    in6_addr gid{};
    if (!text || ::inet_pton(AF_INET6, text->c_str(), &gid) != 1) break;
    const auto on = read_line(port / "gid_attrs/ndevs" / index);
    if (IN6_IS_ADDR_UNSPECIFIED(&gid) || (interface && on != interface)) continue;
    interface = on.value_or("");
    auto kind = origin(gid);
    if (!is_rnic) {
      const auto type = read_line(port / "gid_attrs/types" / index).value_or("");
      kind += type.ends_with("v2") ? " v2" : " v1";
    }
    if (std::ranges::find(out, kind) == out.end()) out.push_back(kind);
  }
  return out;
}

/// Returns whether the file is an entry of a numbered table, other than the first. The length of
/// such a table is an attribute of the port.
bool is_later_entry(const std::string& file) {
  return file != "0" && file.find_first_not_of("0123456789") == file.npos;
}

/// Returns the paths of the files and links below `folder`, relative to it.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::end(entry); entry.increment(error)) {
    if (entry->symlink_status().type() == fs::file_type::directory) continue;
    if (is_later_entry(entry->path().filename())) continue;
    out.push_back(entry->path().lexically_relative(folder));
  }
  if (error) {
    throw Error(fmt::format("{}: cannot read {}: {}", kOption, folder.string(), to_text(error)));
  }
  std::ranges::sort(out);
  return out;
}

/// Returns the name without the number at its end: "mlx5" for "mlx5_0".
std::string profile_name(std::string_view device) {
  const auto end = device.find_last_not_of("0123456789_");
  return std::string(device.substr(0, end == device.npos ? end : end + 1));
}

}  // namespace

nlohmann::ordered_json record_device(const std::string& name) {
  const Ibverbs verbs;
  const OpenDevice open(verbs, name);
  const auto attributes = open.attributes();
  const auto port = open.port();
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) {
    throw Error(
        fmt::format("{} \"{}\": port 1 is an InfiniBand port (a profile describes a device "
                    "with an Ethernet port)",
                    kOption, name));
  }
  const bool is_rnic = open.device().node_type == IBV_NODE_RNIC;
  utsname system{};
  ::uname(&system);
  return {
      {"format", kProfileFormat},
      {"name", profile_name(name)},
      {"about", fmt::format("{} of {} {}, recorded with iwarp info {}", name, system.sysname,
                            system.release, kOption)},
      {"device", device_facts(open.device(), attributes)},
      {"attributes", attribute_members(attributes)},
      {"port", port_members(port)},
      {"gids", gid_kinds(open.sysfs() / "ports/1", port.gid_tbl_len, is_rnic)},
      {"files", files_below(open.sysfs())},
      {"sources",
       {{"", fmt::format("iwarp info {} {}, {} {} {}, {}", kOption, name, system.sysname,
                         system.release, system.version, verbs.file())}}},
  };
}

#else

nlohmann::ordered_json record_device(const std::string&) {
  throw Error(
      "--record-device: this iwarp was built without the headers of rdma-core (install "
      "libibverbs-dev and build again)");
}

#endif

}  // namespace iwarp::apps
