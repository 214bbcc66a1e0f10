// SPDX-License-Identifier: Apache-2.0
#include "judge/command/options.hpp"

namespace iwarp::judge {

void add_device_options(apps::cli::Command& command, DeviceOptions& options) {
  command.begin_group("Judging a device");
  command.text("--device", "DEV", options.device,
               "Judge this RDMA device of this machine by the C interface of libibverbs and "
               "librdmacm, instead of a peer");
  command.number("--port", "N", options.port, {1, 255}, "The port of the device");
  command.number("--gid-index", "N", options.gid_index, {0, 255}, "The GID that queue pairs use")
      .default_text = "the first one of an IPv4 address";
  command
      .flag("--lines", options.lines,
            "Instead of the text report, print each comparison as one line, CASE: CALL = VALUE, by "
            "which the answers of two devices can be compared")
      .excludes("--json");
  command
      .text("--program", "FILE", options.program,
            "With --generated: write the shortest sequence that differs as a C program")
      .completes(apps::cli::Completion::kFile);
  command.flag("--dangerous", options.dangerous,
               "Run the cases that are known to crash a kernel or a library as well");
  command
      .optional_text(
          "--litmus", "FILE", options.litmus,
          "Instead of the cases, run a litmus file, or all of a directory: short threads "
          "whose Writes, Reads and Sends race. Without FILE: the built-in ones")
      .excludes("--junit")
      .excludes("--lines");
  command.number("--runs", "N", options.runs, {1, 1e12}, "With --litmus: runs of each file");
}

}  // namespace iwarp::judge
