// SPDX-License-Identifier: Apache-2.0
// The settings of this process, from its IWARP_* variables. Read once; a value that makes no sense
// is named on standard error, and the default holds. `iwarp run` sets these variables; which there
// are, and what they may say, is in verbs/options.
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

/// Returns options::from_environment() with the process id for %p in the paths of the trace and of
/// the socket for faults.
Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain);
/// The line of a record as this process writes it, line feed included.
std::string line_of(const verbs::LogRecord& record, verbs::LogFormat format);
/// The settings of this process, from secure_getenv(3) at the first call: a program with the rights
/// of another user writes no file that its caller names.
const Settings& settings();

}  // namespace iwarp::rdma_core
