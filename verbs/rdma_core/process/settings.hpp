// SPDX-License-Identifier: Apache-2.0
// The settings of this process, which it reads once from its IWARP_* variables. If a value is
// invalid, this is reported on standard error, and the default applies. `iwarp run` sets these
// variables; verbs/options defines them and their values.
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

/// Returns options::from_environment(). In the paths of the trace and of the fault socket, %p is
/// replaced with the process id.
Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain);
/// Returns the line that this process logs for a record, with a line feed.
std::string line_of(const verbs::LogRecord& record, verbs::LogFormat format);
/// Returns the settings of this process. The first call reads them with secure_getenv(3), so that a
/// set-user-ID program writes no file that its caller names.
const Settings& settings();

}  // namespace iwarp::rdma_core
