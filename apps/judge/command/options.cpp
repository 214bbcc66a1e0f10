// SPDX-License-Identifier: Apache-2.0
// Declares the options: the device and its port and GID, litmus files, and what a run prints or
// writes.
#include "judge/command/options.hpp"

namespace iwarp::judge {

void add_device_options(apps::cli::Command& command, DeviceOptions& options) {
  command.begin_group("Judging a device");
  command.text("--device", "DEV", options.device,
               "Judge this RDMA device of this machine, instead of a peer, through the C interface "
               "of libibverbs and librdmacm");
  command.number("--port", "N", options.port, {1, 255}, "Port of the device");
  command
      .number("--gid-index", "N", options.gid_index, {0, 255},
              "Index of the GID that queue pairs use")
      .default_text = "the first GID of an IPv4 address";
  command
      .flag("--lines", options.lines,
            "Instead of the text report, print a line CASE: CALL = VALUE for each comparison, so "
            "that diff can compare two devices")
      .excludes("--json");
  command
      .text("--program", "FILE", options.program,
            "With --generated: write a C program that runs the shortest sequence on which the "
            "device differs from the model")
      .completes(apps::cli::Completion::kFile);
  command.flag("--dangerous", options.dangerous,
               "Also run the cases that are known to crash a kernel or a library");
  command
      .optional_text(
          "--litmus", "FILE", options.litmus,
          "Instead of the cases, run a litmus file (short threads whose Writes, Reads and Sends "
          "race) or all litmus files of a directory; without FILE, the built-in ones")
      .excludes("--junit")
      .excludes("--lines");
  command.number("--runs", "N", options.runs, {1, 1e12},
                 "With --litmus: number of runs of each file");
}

}  // namespace iwarp::judge
