// SPDX-License-Identifier: Apache-2.0
// Recognizes commands of set-up scripts that would change the kernel, or that would lose the
// preloaded libraries. The functions in this header allocate no memory for other commands.
#pragma once

namespace iwarp::rdma_core::presence {

/// If `words` is a modprobe or rmmod command that loads or unloads only RDMA modules, which no
/// program needs under `iwarp run`, logs one line and ends the process with status 0.
void end_module_command(const char* const* words);

/// If `words` is a sudo command that runs modprobe or rmmod for RDMA modules, or an RDMA program,
/// returns the words of the command that sudo runs. Otherwise returns null. sudo itself would run
/// the command without the preloaded libraries.
char* const* without_sudo(char* const* words);

}  // namespace iwarp::rdma_core::presence
