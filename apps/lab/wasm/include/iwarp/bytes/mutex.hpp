// SPDX-License-Identifier: Apache-2.0
// Replaces the header of the same name in mpa/bytes: a page has one thread, so a mutex that does
// nothing suffices.
#pragma once

#include <mutex>

namespace iwarp::bytes {

using Mutex = std::mutex;

}  // namespace iwarp::bytes
