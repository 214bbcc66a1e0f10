// SPDX-License-Identifier: Apache-2.0
// Replaces that of mpa/bytes: a page has one thread.
#pragma once

#include <mutex>

namespace iwarp::bytes {

using Mutex = std::mutex;

}  // namespace iwarp::bytes
