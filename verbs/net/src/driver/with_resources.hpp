// SPDX-License-Identifier: Apache-2.0
// with_resources(): converts the exceptions that report a lack of memory, threads or descriptors to
// error codes, because no exception may leave a function of this layer.
#pragma once

#include <boost/system/system_error.hpp>
#include <expected>
#include <new>
#include <system_error>
#include <type_traits>

namespace iwarp::net {

/// Calls `make` and returns its result, which is an Expected or an error. If `make` throws because
/// memory, a thread or a descriptor is not available, returns the system's error.
template <typename Make>
auto with_resources(Make make) -> decltype(make()) {
  std::error_code error;
  try {
    return make();
  } catch (const std::bad_alloc&) {
    error = std::make_error_code(std::errc::not_enough_memory);
  } catch (const std::system_error& failed) {
    error = failed.code();
  } catch (const boost::system::system_error& failed) {  // does not derive from the one above
    error = failed.code();
  }
  if constexpr (std::is_same_v<decltype(make()), std::error_code>) {
    return error;
  } else {
    return std::unexpected(error);
  }
}

}  // namespace iwarp::net
