// SPDX-License-Identifier: Apache-2.0
// Reads a profile from JSON. Each error names the value by its path. A member that no reader takes
// is an error, so that a misspelled name does not go unnoticed.
#include "iwarp/profiles/profile.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "iwarp/profiles/device_name.hpp"

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

/// Numbers of a profile that have the same highest value.
struct Numbers {
  std::uint64_t high;
  std::vector<std::string_view> names;
};

std::vector<Numbers> known_attributes() {
  return {
      {UINT64_MAX, {"max_mr_size", "page_size_cap"}},
      {UINT32_MAX, {"vendor_id", "vendor_part_id", "hw_ver", "device_cap_flags"}},
      {INT_MAX, {"max_qp", "max_qp_wr", "max_sge", "max_sge_rd", "max_cq", "max_cqe", "max_pd"}},
      {INT_MAX, {"max_mr", "max_mw", "max_fmr", "max_map_per_fmr", "max_ah"}},
      {INT_MAX, {"max_srq", "max_srq_wr", "max_srq_sge", "max_res_rd_atom"}},
      {INT_MAX, {"max_ee", "max_rdd", "max_ee_rd_atom", "max_ee_init_rd_atom"}},
      {INT_MAX, {"max_raw_ipv6_qp", "max_raw_ethy_qp", "max_mcast_grp"}},
      {INT_MAX, {"max_mcast_qp_attach", "max_total_mcast_qp_attach"}},
      {UINT16_MAX, {"max_pkeys"}},
      {UINT8_MAX, {"max_qp_rd_atom", "max_qp_init_rd_atom", "local_ca_ack_delay"}},
      {2, {"atomic_cap"}}};
}

std::vector<Numbers> known_of_port() {
  return {{UINT32_MAX, {"port_cap_flags", "max_msg_sz"}},
          {INT_MAX, {"gid_tbl_len"}},
          {UINT16_MAX, {"port_cap_flags2", "pkey_tbl_len", "lid", "sm_lid"}},
          {UINT8_MAX,
           {"lmc", "max_vl_num", "sm_sl", "subnet_timeout", "init_type_reply", "active_width",
            "active_speed", "flags"}},
          {5, {"max_mtu", "active_mtu"}},
          {2, {"link_layer"}}};
}

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

/// A value of the file.
struct Node {
  enum class Kind : std::uint8_t { kObject, kArray, kText, kNumber, kOther };
  Kind kind = Kind::kOther;
  std::string text;  ///< as in the file, for messages; the contents of a text
  std::uint64_t number = 0;
};

/// The values of a file by their paths, such as "device.name" or "gids[0]". Json itself cannot hold
/// the values here: its destructor allocates memory, and ends the process if there is none.
class Values : public nlohmann::json_sax<Json> {
 public:
  std::map<std::string, Node, std::less<>> nodes;
  std::size_t error_at = 0;

  bool null() override { return add({.text = "null"}); }
  bool boolean(bool value) override { return add({.text = value ? "true" : "false"}); }
  bool number_integer(std::int64_t value) override { return add({.text = std::to_string(value)}); }
  bool number_unsigned(std::uint64_t value) override {
    return add({.kind = Node::Kind::kNumber, .text = std::to_string(value), .number = value});
  }
  bool number_float(double, const std::string& text) override { return add({.text = text}); }
  bool string(std::string& text) override {
    return add({.kind = Node::Kind::kText, .text = std::move(text)});
  }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open({.kind = Node::Kind::kObject}); }
  bool key(std::string& name) override {
    names_.back().name = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open({.kind = Node::Kind::kArray}, 0); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
    error_at = at;
    return false;
  }

 private:
  // A profile is much flatter. The limit bounds the memory that a hostile file takes.
  static constexpr std::size_t kMaxDepth = 8;

  /// An open object or array: the key of the current member, or the index of the next element.
  struct Level {
    std::string name;
    std::optional<std::size_t> index;
  };

  std::string path() const {
    std::string out;
    for (const auto& [name, index] : names_) {
      if (index) {
        out += '[' + std::to_string(*index) + ']';
      } else {
        out += (out.empty() ? "" : ".") + name;
      }
    }
    return out;
  }
  bool add(Node node) {
    nodes[path()] = std::move(node);
    if (!names_.empty() && names_.back().index) ++*names_.back().index;
    return true;
  }
  bool open(Node node, std::optional<std::size_t> index = std::nullopt) {
    nodes[path()] = std::move(node);
    names_.push_back({.name = {}, .index = index});
    return names_.size() <= kMaxDepth;
  }
  bool close() {
    names_.pop_back();
    if (!names_.empty() && names_.back().index) ++*names_.back().index;
    return true;
  }

  std::vector<Level> names_;
};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Invalid(path + (path.empty() ? "" : " ") + why);
}

/// Takes values out of the file. Those that remain at the end are not part of a profile.
class Taker {
 public:
  explicit Taker(Values values) : nodes_(std::move(values.nodes)) {}

  std::optional<Node> take(const std::string& path) {
    auto node = nodes_.extract(path);
    return node ? std::optional(std::move(node.mapped())) : std::nullopt;
  }
  /// Takes the object, if there is one. Fails if the value is not an object.
  bool object(const std::string& path) {
    const auto node = take(path);
    if (node && node->kind != Node::Kind::kObject) fail(path, "must be an object");
    return node.has_value();
  }
  std::optional<std::string> text(const std::string& path) {
    auto node = take(path);
    if (!node) return std::nullopt;
    if (node->kind != Node::Kind::kText) fail(path, "must be a string");
    if (node->text.size() > kMaxName) {
      fail(path, "must have at most " + std::to_string(kMaxName) + " bytes");
    }
    return std::move(node->text);
  }
  std::optional<std::uint64_t> number(const std::string& path, std::uint64_t high) {
    const auto node = take(path);
    if (!node) return std::nullopt;
    if (node->kind != Node::Kind::kNumber || node->number > high) {
      const bool is_text = node->kind == Node::Kind::kText;
      const std::string shown = is_text ? '"' + node->text + '"' : node->text;
      fail(path, shown + ": must be an integer from 0 to " + std::to_string(high));
    }
    return node->number;
  }
  std::map<std::string, std::uint64_t, std::less<>> numbers(const std::string& path,
                                                            const std::vector<Numbers>& known) {
    std::map<std::string, std::uint64_t, std::less<>> out;
    if (!object(path)) return out;
    for (const auto& [high, names] : known) {
      for (const std::string_view name : names) {
        std::string full = path;
        full.append(".").append(name);
        if (const auto value = number(full, high)) out.emplace(name, *value);
      }
    }
    return out;
  }
  /// Removes the value with this path, and what is in it.
  void ignore(const std::string& path) {
    std::erase_if(nodes_, [&](const auto& node) {
      return node.first == path || node.first.starts_with(path + '.') ||
             node.first.starts_with(path + '[');
    });
  }
  void finish() const {
    if (!nodes_.empty()) fail(nodes_.begin()->first, "is not a known key");
  }

 private:
  std::map<std::string, Node, std::less<>> nodes_;
};

template <typename T>
T needed(std::optional<T> value, const std::string& path) {
  if (!value) fail(path, "is missing");
  return *std::move(value);
}

bool is_name_pattern(std::string_view name) {
  std::string plain(name);
  for (const std::string_view mark : {"{n}", "{interface}"}) {
    if (const auto at = plain.find(mark); at != plain.npos) plain.replace(at, mark.size(), "0");
  }
  return is_device_name(plain);
}

void read_device(Taker& file, Profile& out) {
  if (!file.object("device")) fail("device", "is missing");
  out.device_name = needed(file.text("device.name"), "device.name");
  if (!is_name_pattern(out.device_name)) {
    fail("device.name", '"' + out.device_name + "\": must be " + std::string(kDeviceNameRule) +
                            "; {n} stands for a number and {interface} for a network interface");
  }
  constexpr std::uint64_t kChannelAdapter = 1;
  constexpr std::uint64_t kRnic = 4;
  const auto node = needed(file.number("device.node_type", kRnic), "device.node_type");
  const auto transport = needed(file.number("device.transport", 1), "device.transport");
  if (node != (transport == kRnicTransport ? kRnic : kChannelAdapter)) {
    fail("device.node_type",
         std::to_string(node) +
             ": must be 1 with transport 0 (RoCE) and 4 with transport 1 (iWARP)");
  }
  out.node_type = static_cast<int>(node);
  out.transport = static_cast<int>(transport);
  out.uverbs_abi = static_cast<int>(file.number("device.uverbs_abi", INT_MAX).value_or(1));
  out.firmware = file.text("device.fw_ver");
  out.description = file.text("device.node_desc");
  out.type = file.text("device.hca_type");
  out.board = file.text("device.board_id");
  out.modalias = file.text("device.modalias");
  out.is_virtual = !file.text("device.driver");
}

std::vector<GidRow> read_gids(Taker& file, bool is_rnic) {
  const auto list = needed(file.take("gids"), "gids");
  std::vector<GidRow> out;
  while (const auto word = file.take("gids[" + std::to_string(out.size()) + ']')) {
    const auto known = std::ranges::find_if(kGidWords, [&](const GidWord& candidate) {
      return word->kind == Node::Kind::kText && word->text == candidate.word &&
             is_rnic == (candidate.row.type == GidType::kNone);
    });
    if (known == kGidWords.end()) {
      fail("gids", '"' + word->text +
                       (is_rnic ? "\": must be mac, ipv4-as-mac, ipv4 or ipv6"
                                : "\": must be link-local, ipv4 or ipv6 followed by v1 or v2, or "
                                  "assigned-link-local v2"));
    }
    out.push_back(known->row);
  }
  if (list.kind != Node::Kind::kArray || out.empty()) fail("gids", "must be a non-empty list");
  return out;
}

Profile read(Taker file) {
  if (!file.object("")) fail("", "must be an object");
  for (const char* const for_readers : {"about", "files", "sources"}) file.ignore(for_readers);
  const auto format = needed(file.number("format", INT_MAX), "format");
  if (format != kFormat) fail("format", std::to_string(format) + ": must be 1");
  Profile out;
  out.name = needed(file.text("name"), "name");
  read_device(file, out);
  out.attributes = file.numbers("attributes", known_attributes());
  for (const std::string_view name : kPositive) {
    const auto value = out.attributes.find(name);
    if (value != out.attributes.end() && value->second == 0) {
      fail("attributes." + std::string(name), "0: must be at least 1");
    }
  }
  out.port = file.numbers("port", known_of_port());
  out.gids = read_gids(file, out.is_rnic());
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
  Values values;
  if (!Json::sax_parse(json, &values)) {
    return std::unexpected("is not JSON (at byte " + std::to_string(values.error_at) + ")");
  }
  try {
    return read(Taker(std::move(values)));
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
