// SPDX-License-Identifier: Apache-2.0
// Session: the devices that processes have added with `rdma link add`. All processes that inherit
// IWARP_SESSION from one `iwarp run` belong to a session. The variable is the path of a file, which
// exists only if a process has added a device. Each line of the file is a device, NAME TYPE NETDEV,
// or "-" in the place of a device that was removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iwarp::rdma_core {

/// The environment variable that contains the path of the session's file.
inline constexpr const char* kSessionVariable = "IWARP_SESSION";
/// How the name of a session's file begins. Then follow the id of the process that removes the file
/// when it ends (0 if no process does), "-" and an arbitrary text.
inline constexpr std::string_view kSessionPrefix = "iwarp-session-";
/// The maximum number of devices that a session has at any time.
inline constexpr std::size_t kMaxAddedDevices = 32;

struct AddedDevice {
  unsigned number = 0;  ///< the line in the file, from 0; does not change while the device exists
  std::string name;
  std::string type;
  std::string netdev;  ///< network interface
};

class Session {
 public:
  /// `path` is the path of the file, or empty if this process belongs to no session.
  explicit Session(std::string path) : path_(std::move(path)) {}

  /// Returns the devices that processes of the session have added and not removed.
  std::vector<AddedDevice> devices() const;
  /// Adds a device for all processes of the session. Returns 0 or an errno: EEXIST if the name is
  /// in use, or the interface already has a device of this type; ENOSPC if there are
  /// kMaxAddedDevices; EOPNOTSUPP without a session. If two processes add a device of one name,
  /// only one of them succeeds.
  int add(const std::string& name, const std::string& type, const std::string& netdev);
  /// Removes the device with this number. Returns 0 or an errno: EINVAL if there is none.
  int remove(unsigned number);

 private:
  const std::string path_;
};

}  // namespace iwarp::rdma_core
