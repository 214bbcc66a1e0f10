// SPDX-License-Identifier: Apache-2.0
#include "iwarp/profiles/profile.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

namespace iwarp::profiles {

/// Returns the contents of the built-in profile of this name, or an empty text. CMake makes this
/// function from the JSON files of this folder.
std::string_view built_in(std::string_view name);

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFile = std::size_t{1} << 20;
constexpr int kFormat = 1;
constexpr std::uint64_t kMaxName = 63;  // IBV_SYSFS_NAME_MAX without the terminating zero
constexpr int kRnicTransport = 1;       // IBV_TRANSPORT_IWARP

/// A number of a profile, with its highest value.
struct Number {
  std::string_view name;
  std::uint64_t high;
};

constexpr std::array kAttributes{Number{"max_mr_size", UINT64_MAX},
                                 Number{"page_size_cap", UINT64_MAX},
                                 Number{"vendor_id", UINT32_MAX},
                                 Number{"vendor_part_id", UINT32_MAX},
                                 Number{"hw_ver", UINT32_MAX},
                                 Number{"max_qp", INT_MAX},
                                 Number{"max_qp_wr", INT_MAX},
                                 Number{"device_cap_flags", UINT32_MAX},
                                 Number{"max_sge", INT_MAX},
                                 Number{"max_sge_rd", INT_MAX},
                                 Number{"max_cq", INT_MAX},
                                 Number{"max_cqe", INT_MAX},
                                 Number{"max_mr", INT_MAX},
                                 Number{"max_pd", INT_MAX},
                                 Number{"max_qp_rd_atom", UINT8_MAX},
                                 Number{"max_ee_rd_atom", INT_MAX},
                                 Number{"max_res_rd_atom", INT_MAX},
                                 Number{"max_qp_init_rd_atom", UINT8_MAX},
                                 Number{"max_ee_init_rd_atom", INT_MAX},
                                 Number{"atomic_cap", 2},
                                 Number{"max_ee", INT_MAX},
                                 Number{"max_rdd", INT_MAX},
                                 Number{"max_mw", INT_MAX},
                                 Number{"max_raw_ipv6_qp", INT_MAX},
                                 Number{"max_raw_ethy_qp", INT_MAX},
                                 Number{"max_mcast_grp", INT_MAX},
                                 Number{"max_mcast_qp_attach", INT_MAX},
                                 Number{"max_total_mcast_qp_attach", INT_MAX},
                                 Number{"max_ah", INT_MAX},
                                 Number{"max_fmr", INT_MAX},
                                 Number{"max_map_per_fmr", INT_MAX},
                                 Number{"max_srq", INT_MAX},
                                 Number{"max_srq_wr", INT_MAX},
                                 Number{"max_srq_sge", INT_MAX},
                                 Number{"max_pkeys", UINT16_MAX},
                                 Number{"local_ca_ack_delay", UINT8_MAX}};
constexpr std::array kPort{Number{"max_mtu", 5},
                           Number{"active_mtu", 5},
                           Number{"gid_tbl_len", INT_MAX},
                           Number{"port_cap_flags", UINT32_MAX},
                           Number{"port_cap_flags2", UINT16_MAX},
                           Number{"max_msg_sz", UINT32_MAX},
                           Number{"pkey_tbl_len", UINT16_MAX},
                           Number{"lid", UINT16_MAX},
                           Number{"sm_lid", UINT16_MAX},
                           Number{"lmc", UINT8_MAX},
                           Number{"max_vl_num", UINT8_MAX},
                           Number{"sm_sl", UINT8_MAX},
                           Number{"subnet_timeout", UINT8_MAX},
                           Number{"init_type_reply", UINT8_MAX},
                           Number{"active_width", UINT8_MAX},
                           Number{"active_speed", UINT8_MAX},
                           Number{"link_layer", 2},
                           Number{"flags", UINT8_MAX}};
// The attributes without which no program could work.
constexpr std::array<std::string_view, 7> kPositive{"max_qp",  "max_qp_wr", "max_sge", "max_cq",
                                                    "max_cqe", "max_mr",    "max_pd"};

struct GidWord {
  std::string_view word;
  GidRow row;
};
constexpr std::array kGidWords{
    GidWord{"mac", {GidSource::kMac, GidType::kNone}},
    GidWord{"ipv4-as-mac", {GidSource::kIpv4AsMac, GidType::kNone}},
    GidWord{"ipv4", {GidSource::kIpv4, GidType::kNone}},
    GidWord{"ipv6", {GidSource::kIpv6, GidType::kNone}},
    GidWord{"link-local v1", {GidSource::kLinkLocal, GidType::kV1}},
    GidWord{"link-local v2", {GidSource::kLinkLocal, GidType::kV2}},
    GidWord{"assigned-link-local v2", {GidSource::kAssignedLinkLocal, GidType::kV2}},
    GidWord{"ipv4 v1", {GidSource::kIpv4, GidType::kV1}},
    GidWord{"ipv4 v2", {GidSource::kIpv4, GidType::kV2}},
    GidWord{"ipv6 v1", {GidSource::kIpv6, GidType::kV1}},
    GidWord{"ipv6 v2", {GidSource::kIpv6, GidType::kV2}}};

/// What is wrong with a value; what() names the value.
struct Invalid : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An object of the file. Each value is read once; finish() refuses the values that remain.
class Section {
 public:
  Section(const Json& json, std::string path) : path_(std::move(path)) {
    if (!json.is_object()) fail("", "must be an object");
    values_ = json.get<std::map<std::string, Json>>();
  }

  std::optional<Json> take(const std::string& key) {
    const auto node = values_.extract(key);
    return node ? std::optional(node.mapped()) : std::nullopt;
  }
  std::optional<std::string> text(const std::string& key) {
    const auto value = take(key);
    if (!value) return std::nullopt;
    if (!value->is_string()) fail(key, "must be a text");
    auto out = value->get<std::string>();
    if (out.size() > kMaxName)
      fail(key, "must have at most " + std::to_string(kMaxName) + " bytes");
    return out;
  }
  std::optional<std::uint64_t> number(const std::string& key, std::uint64_t high) {
    const auto value = take(key);
    if (!value) return std::nullopt;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > high) {
      fail(key, value->dump() + ": must be an integer from 0 to " + std::to_string(high));
    }
    return value->get<std::uint64_t>();
  }
  template <typename T>
  T needed(std::optional<T> value, const std::string& key) const {
    if (!value) fail(key, "is missing");
    return *std::move(value);
  }
  std::map<std::string, std::uint64_t, std::less<>> numbers(std::span<const Number> known) {
    std::map<std::string, std::uint64_t, std::less<>> out;
    for (const auto& [name, high] : known) {
      const std::string key(name);
      if (const auto value = number(key, high)) out[key] = *value;
    }
    finish();
    return out;
  }
  void finish() const {
    if (!values_.empty()) fail(values_.begin()->first, "is not a key of a profile");
  }
  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    const std::string dot = path_.empty() || key.empty() ? "" : ".";
    const std::string where = path_ + dot + key;
    throw Invalid(where + (where.empty() ? "" : " ") + why);
  }

 private:
  std::string path_;
  std::map<std::string, Json> values_;
};

bool is_name_pattern(std::string_view name) {
  std::string plain(name);
  for (const std::string_view mark : {"{n}", "{interface}"}) {
    if (const auto at = plain.find(mark); at != plain.npos) plain.replace(at, mark.size(), "0");
  }
  return !plain.empty() && plain.find_first_of("/{} \t\n") == plain.npos && plain != "." &&
         plain != "..";
}

void read_device(Section device, Profile& out) {
  out.device_name = device.needed(device.text("name"), "name");
  if (!is_name_pattern(out.device_name)) {
    device.fail("name", "\"" + out.device_name +
                            "\": must be a file name, in which {n} stands for a number and "
                            "{interface} for a network interface");
  }
  constexpr std::uint64_t kChannelAdapter = 1;
  constexpr std::uint64_t kRnic = 4;
  const auto node = device.needed(device.number("node_type", kRnic), "node_type");
  const auto transport = device.needed(device.number("transport", 1), "transport");
  if (node != (transport == kRnicTransport ? kRnic : kChannelAdapter)) {
    device.fail("node_type", std::to_string(node) +
                                 ": must be 1 with transport 0 (RoCE) and 4 with transport 1 "
                                 "(iWARP)");
  }
  out.node_type = static_cast<int>(node);
  out.transport = static_cast<int>(transport);
  out.uverbs_abi = static_cast<int>(device.number("uverbs_abi", INT_MAX).value_or(1));
  out.firmware = device.text("fw_ver");
  out.description = device.text("node_desc");
  out.type = device.text("hca_type");
  out.board = device.text("board_id");
  out.modalias = device.text("modalias");
  out.is_virtual = !device.take("driver");
  device.finish();
}

std::vector<GidRow> read_gids(const Section& file, const Json& words, bool is_rnic) {
  std::vector<GidRow> out;
  if (!words.is_array() || words.empty()) file.fail("gids", "must be a list of words");
  for (const Json& word : words) {
    const auto known = std::ranges::find_if(kGidWords, [&](const GidWord& candidate) {
      return word.is_string() && word.get<std::string>() == candidate.word &&
             is_rnic == (candidate.row.type == GidType::kNone);
    });
    if (known == kGidWords.end()) {
      file.fail("gids", word.dump() + (is_rnic ? ": must be mac, ipv4-as-mac, ipv4 or ipv6"
                                               : ": must be link-local, ipv4 or ipv6, followed by "
                                                 "v1 or v2"));
    }
    out.push_back(known->row);
  }
  return out;
}

Profile read(const Json& json) {
  Section file(json, "");
  const auto format = file.needed(file.number("format", INT_MAX), "format");
  if (format != kFormat) file.fail("format", std::to_string(format) + ": must be 1");
  Profile out;
  out.name = file.needed(file.text("name"), "name");
  read_device(Section(file.needed(file.take("device"), "device"), "device"), out);
  if (const auto values = file.take("attributes")) {
    out.attributes = Section(*values, "attributes").numbers(kAttributes);
  }
  for (const std::string_view name : kPositive) {
    const auto value = out.attributes.find(name);
    if (value != out.attributes.end() && value->second == 0) {
      file.fail("attributes." + std::string(name), "0: must be at least 1");
    }
  }
  if (const auto values = file.take("port")) out.port = Section(*values, "port").numbers(kPort);
  out.gids = read_gids(file, file.needed(file.take("gids"), "gids"), out.is_rnic());
  for (const char* const for_readers : {"about", "files", "sources"}) file.take(for_readers);
  file.finish();
  return out;
}

std::expected<std::string, std::string> contents(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return std::unexpected(std::strerror(errno));
  std::string text(kMaxFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return std::unexpected("cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxFile) return std::unexpected("is larger than 1 MiB");
  return text;
}

}  // namespace

bool Profile::is_rnic() const { return transport == kRnicTransport; }

std::expected<Profile, std::string> parse(std::string_view json) {
  try {
    return read(Json::parse(json));
  } catch (const Json::parse_error& error) {
    return std::unexpected("is not JSON (at byte " + std::to_string(error.byte) + ")");
  } catch (const Invalid& error) {
    return std::unexpected(error.what());
  }
}

std::expected<std::shared_ptr<const Profile>, std::string> load(std::string_view name_or_path) {
  const std::string path(name_or_path);
  std::string text(built_in(name_or_path));
  if (text.empty()) {
    auto read = contents(path);
    if (!read) {
      return std::unexpected(path + ": " + read.error() +
                             " (use iwarp, roce, rxe, siw, connectx, mana, or the path of a "
                             "profile that iwarp info --record-device has written)");
    }
    text = *std::move(read);
  }
  auto profile = parse(text);
  if (!profile) return std::unexpected(path + ": " + profile.error());
  return std::make_shared<const Profile>(*std::move(profile));
}

}  // namespace iwarp::profiles
