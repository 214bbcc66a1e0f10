// SPDX-License-Identifier: Apache-2.0
// The settings of this process, which the library reads once from the IWARP_* environment
// variables. If a value is invalid, the library reports it on standard error and uses the default.
// `iwarp run` sets these variables. verbs/options defines the variables and their values.
#pragma once

#include <functional>
#include <string>

#include "iwarp/options/options.hpp"

namespace iwarp::rdma_core {

using options::Environment;
using options::kMaxPortOffset;
using options::OutOfBandPeers;
using options::Persona;
using options::Settings;
using options::TlsSettings;

/// Returns options::from_environment(), with the devices that the session has added, and with %p
/// replaced by the process id in the paths of the trace file and of the fault socket.
Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain);
/// Reads the settings of this process anew, because its session may have other devices now. Ignores
/// invalid values, which settings() reports.
Settings settings_now();
/// Returns the log line for a record, including the line feed.
std::string line_of(const verbs::LogRecord& record, verbs::LogFormat format);
/// Returns the settings of this process. The first call reads them with secure_getenv(3), which
/// finds no variable in a set-user-ID program. So a user who starts such a program cannot choose
/// the files to which the program writes.
const Settings& settings();
/// If the adversary uses Freedom::kDescriptors and the process may open descriptors above
/// FD_SETSIZE, which a program cannot use with select(2), returns a duplicate of `fd` there, which
/// the caller closes. Otherwise returns -1.
int high_duplicate(int fd);

}  // namespace iwarp::rdma_core
