// SPDX-License-Identifier: Apache-2.0
// iwarp info: prints version, build, defaults and limits.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common/connection/options.hpp"
#include "info/gids.hpp"
#include "info/record.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/version.hpp"
#include "transfer/messages.hpp"

namespace iwarp::apps {

namespace {

Json crc_kernels() {
  Json available = Json::array();
  for (const auto& kernel : crc32c::kernels()) {
    if (kernel.supported()) available.push_back(kernel.name);
  }
  return {{"in_use", crc32c::active().name}, {"available", available}};
}

/// Returns the default of each connection option that has one. Times are in seconds.
Json option_defaults() {
  Json out;
  for (const auto& option : options::all()) {
    const auto value = options::show(option, {});
    if (option.group != options::Group::kConnection || value.empty()) continue;
    const auto name = json_name(option);
    if (option.value.is_number()) {
      out[name + "_s"] = std::stod(value) / (option.value.title == "MS" ? 1e3 : 1e6);
    } else if (option.value.is_switch) {
      out[name] = value == "on";
    } else {
      out[name] = value;
    }
  }
  return out;
}

Json defaults() {
  const verbs::ConnectionOptions connection;
  const auto& startup = connection.startup;
  const auto seconds = [](auto d) {
    return std::chrono::duration_cast<std::chrono::duration<double>>(d).count();
  };
  Json out{{"mpa_revision", startup.revision}};
  out.update(option_defaults());
  out.erase("mpa_rev");
  out.update({{"fall_back_to_revision_1", net::ConnectOptions().fall_back_to_revision_1},
              {"ird", startup.ird},
              {"ord", startup.ord},
              {"setup_timeout_s", seconds(startup.timeout)},
              {"close_timeout_s", seconds(connection.close_timeout)},
              {"stage_octets", connection.stage},
              {"transmit_batch_octets", connection.transmit_batch},
              {"file_port", kFilePort},
              {"ping_port", kPingPort},
              {"perf_port", kPerfPort}});
  return out;
}

Json limits() {
  const net::RnicOptions rnic;
  return {{"protection_domains", rnic.max_pds},
          {"regions", rnic.max_regions},
          {"queue_pairs", rnic.max_qps},
          {"completion_queues", rnic.max_cqs},
          {"shared_receive_queues", rnic.max_srqs},
          {"completion_queue_entries", rnic.max_cqe},
          {"work_requests", rnic.max_wr},
          {"scatter_gather_elements", bytes::kMaxSge},
          {"pending_connects", rnic.max_pending_connects},
          {"pending_connects_per_source", rnic.max_pending_per_source},
          {"pending_connects_per_listener", rnic.max_pending_per_listener},
          {"reserved_descriptors", rnic.reserved_descriptors},
          {"private_data_octets", mpa::kMaxPrivateData},
          {"portable_private_data_octets", mpa::kPortablePrivateData},
          {"file_window_octets", kMaxPiece},
          {"file_windows", kMaxWindows}};
}

std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const auto& item : value) out += (out.empty() ? "" : ", ") + plain(item);
  return out;
}

void print_text(const Json& info) {
  for (const auto& [name, value] : info.items()) {
    if (!value.is_object()) {
      fmt::print("{} {}\n", name, plain(value));
      continue;
    }
    fmt::print("{}\n", name);
    for (const auto& [key, item] : value.items()) fmt::print("  {:<26} {}\n", key, plain(item));
  }
}

}  // namespace

cli::Command info_command() {
  cli::Command command("info", "Show the version, the CRC32c kernel in use, limits and defaults");
  auto json = std::make_shared<bool>(false);
  auto gids = std::make_shared<bool>(false);
  command.flag("--json", *json, "Print JSON");
  auto like = std::make_shared<std::vector<std::string>>();
  command.flag(
      "--gids", *gids,
      "Print only the GID tables that programs see under iwarp run, with the index of each GID");
  command.texts("--like", "PROFILE", *like,
                "With --gids: print the tables of these profiles of iwarp run --like; the default "
                "is roce and iwarp");
  auto device = std::make_shared<std::string>();
  command
      .text("--record-device", "DEV", *device,
            "Print the profile of an RDMA device of this machine as JSON: its names, identity, "
            "attributes, port, kinds of GIDs, and files. Sends no traffic")
      .excludes("--gids")
      .excludes("--json");
  command.shown = {"iwarp info --record-device mlx5_0 > card.json  records a card",
                   "iwarp info --gids --like connectx  shows the GIDs of a ConnectX card"};
  command.run = [json, gids, like, device](const cli::Given& given) {
    if (given.has("--like") && !*gids) throw UsageError("--like requires --gids");
    if (given.has("--record-device")) {
      const auto profile = record_device(*device);
      std::puts(profile.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
      return 0;
    }
    if (like->empty()) *like = {"roce", "iwarp"};
    const Json info = *gids ? Json{{"gids", gid_tables(*like)}}
                            : Json{{"iwarp", kVersion},
                                   {"crc32c", crc_kernels()},
                                   {"defaults", defaults()},
                                   {"limits", limits()}};
    if (*json) {
      std::puts(info.dump(2).c_str());
    } else if (*gids) {
      print_gids(info["gids"]);
    } else {
      print_text(info);
    }
    return 0;
  };
  return command;
}

}  // namespace iwarp::apps
