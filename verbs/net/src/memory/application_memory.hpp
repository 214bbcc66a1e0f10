// SPDX-License-Identifier: Apache-2.0
// Checks, before an STag for a memory range is issued, that this process may access the range
// [RDMAP-123] [SEC-33], and installs signal handlers, so that a fault while this layer accesses the
// memory later ends the connection instead of the process.
#pragma once

#include <cstddef>
#include <span>

namespace iwarp::net {

/// Installs the handlers. If SIGSEGV or SIGBUS is raised while this layer accesses application
/// memory, the handler ends bytes::guarded(). It passes all other faults on to the handler that was
/// installed before. A handler that the application installs later replaces the handlers of this
/// layer, so call this function at each registration of memory. Thread-safe.
void catch_faults();

/// Returns whether every octet lies in a mapping that is readable and, if `writable` is true,
/// writable. Does not access the memory. If the application unmaps or protects the memory later,
/// the handlers of catch_faults() catch the fault when the memory is accessed.
bool is_mapped(std::span<const std::byte> octets, bool writable);

}  // namespace iwarp::net
