// SPDX-License-Identifier: Apache-2.0
// Opens the device in a child process, as a case would, and checks the port and the GID index that
// the user has chosen.
#include "judge/report/examine.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "command_line/error.hpp"
#include "judge/frame/run.hpp"
#include "judge/tools/objects.hpp"

namespace iwarp::judge {
namespace {

constexpr std::string_view kIwarpName = "iWARP";

std::string_view transport_name(ibv_transport_type transport) {
  if (transport == IBV_TRANSPORT_IWARP) return kIwarpName;
  return transport == IBV_TRANSPORT_IB ? "InfiniBand or RoCE" : "another transport";
}

/// What makes all cases impossible ends the process as not applicable, with the text that the user
/// sees.
Answers look_at(Judge& judge) {
  const Target& target = judge.target();
  const auto names = judge.devices();
  if (std::ranges::find(names, target.device) == names.end()) {
    judge.not_applicable(
        fmt::format("unknown device \"{}\" ({})", target.device,
                    names.empty() ? "this machine has no RDMA device; iwarp conform --as iwarp or "
                                    "--as roce judges the device of iwarp run"
                                  : fmt::format("the devices are: {}", fmt::join(names, " "))));
  }
  const Context context(ibv_open_device(judge.device()));
  if (!context) {
    const int code = errno;
    judge.not_applicable(fmt::format("{}: ibv_open_device: {}{}", target.device, errno_name(code),
                                     code == EACCES || code == EPERM
                                         ? " (the user needs access to /dev/infiniband/uverbs*)"
                                         : ""));
  }
  ibv_device_attr device{};
  ibv_port_attr port{};
  if (const int code = ibv_query_device(context.get(), &device); code != 0) {
    judge.not_applicable(fmt::format("{}: ibv_query_device: {}", target.device, errno_name(code)));
  }
  if (target.port > device.phys_port_cnt) {
    judge.not_applicable(fmt::format("--port {}: the last port of {} is {}", target.port,
                                     target.device, device.phys_port_cnt));
  }
  if (const int code = ibv_query_port(context.get(), target.port, &port); code != 0) {
    judge.not_applicable(fmt::format("{}: ibv_query_port: {}", target.device, errno_name(code)));
  }
  if (target.gid_index >= port.gid_tbl_len) {
    judge.not_applicable(fmt::format("--gid-index {}: the GID table of {} has {} entries",
                                     target.gid_index, target.device, port.gid_tbl_len));
  }
  return {{"transport", std::string(transport_name(judge.device()->transport_type))},
          {"firmware", device.fw_ver}};
}

}  // namespace

Examined examine(const Target& target, std::chrono::nanoseconds limit) {
  Result result = run_in_child(look_at, target, limit);
  if (result.verdict == Verdict::kNotApplicable) throw apps::UsageError(result.why);
  if (!result.why.empty()) {
    throw apps::UsageError(fmt::format("{}: {}", target.device, result.why));
  }
  utsname machine{};
  ::uname(&machine);
  const std::string& transport = result.answers["transport"];
  return {.about = {{"device", target.device},
                    {"transport", transport},
                    {"firmware", result.answers["firmware"]},
                    {"kernel", machine.release}},
          .is_iwarp = transport == kIwarpName};
}

}  // namespace iwarp::judge
