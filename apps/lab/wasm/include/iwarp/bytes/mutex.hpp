// SPDX-License-Identifier: Apache-2.0
// Replaces the header with the same name in mpa/bytes. The module runs in a single thread, so this
// mutex does nothing.
#pragma once

#include <mutex>

namespace iwarp::bytes {

using Mutex = std::mutex;

}  // namespace iwarp::bytes
