// SPDX-License-Identifier: Apache-2.0
// Judge: what a case uses to name its calls, to compare what a device does with what it must do,
// and to find out about the device. A call that differs fails the case, which goes on, so that one
// run shows all differences. require() ends the case.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/frame/case.hpp"

namespace iwarp::judge {

/// The device under test, as the command line names it.
struct Target {
  std::string device;     ///< name, as in ibv_devinfo
  std::uint8_t port = 1;  ///< from 1
  int gid_index = -1;     ///< -1: the first GID that belongs to an IPv4 address, or else 0
};

/// One comparison. The text of `step` does not contain values that differ between runs: "CASE:
/// STEP" is the key by which the answers of two devices are compared. A text that a case repeats
/// gets a number, "STEP (2)".
struct Observation {
  std::string step;
  std::string observed;
  std::string expected;  ///< what is right: one value, or several as "EINVAL or ENOMEM"
  bool is_right = false;
};

class Judge {
 public:
  using Sink = std::function<void(const Observation&)>;
  /// `sink` is called for each comparison, in order.
  Judge(Target target, Sink sink);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  // Comparisons. Each returns whether the device is right.

  /// `code` is what a call returned: 0, or an errno value (errno_of() helps). `allowed` has the
  /// correct ones.
  bool expect(std::string_view step, int code, std::initializer_list<int> allowed = {0});
  bool expect(std::string_view step, ibv_wc_status observed,
              std::initializer_list<ibv_wc_status> allowed = {IBV_WC_SUCCESS});
  bool expect(std::string_view step, ibv_qp_state observed,
              std::initializer_list<ibv_qp_state> allowed);
  bool expect_text(std::string_view step, std::string_view observed,
                   std::initializer_list<std::string_view> allowed);
  /// For numbers that must be equal, for example byte_len.
  bool expect_equal(std::string_view step, std::uint64_t observed, std::uint64_t expected);
  /// For facts without a value. `expected` says what is right: "the old value of the word".
  bool expect_true(std::string_view step, bool holds, std::string_view expected);
  /// As expect(), but ends the case if the call failed, because the case cannot go on.
  void require(std::string_view step, int code);
  void require_true(std::string_view step, bool holds, std::string_view expected);

  /// Ends the case as `refused`: the device says that it does not offer this (EOPNOTSUPP, ENOSYS,
  /// a limit of 0).
  [[noreturn]] void refuse(std::string_view call, int code);
  /// Ends the case as `not applicable`.
  [[noreturn]] void not_applicable(std::string_view why);

  // The device.

  /// The context of the case, opened by the first call. The case may open others with open().
  ibv_context* context();
  /// Opens another context. The caller closes it.
  ibv_context* open();
  /// Ends the case if there is no such device.
  ibv_device* device();
  const Target& target() const { return target_; }
  std::uint8_t port() const { return target_.port; }
  std::uint8_t gid_index();
  ibv_gid gid();
  const ibv_device_attr& attributes();
  ibv_port_attr port_attributes();
  bool is_iwarp();
  /// An IPv4 address of the device, for rdma_cm; "" if it has none.
  std::string address();
  /// Returns the names of all devices.
  std::vector<std::string> devices();
  /// Ends the case as `not applicable` if the device lacks one of `needs`.
  void require_needs(Needs needs);

 private:
  bool record(std::string_view step, std::string observed, std::string expected, bool is_right);

  ibv_context* context_of_cm();
  std::string address_by_cm() const;

  Target target_;
  Sink sink_;
  std::map<std::string, int> counts_;  ///< of the steps, to make their texts unique
  ibv_device** list_ = nullptr;
  ibv_context* context_ = nullptr;
  bool is_of_cm_ = false;  ///< whether librdmacm owns the context
  std::optional<ibv_device_attr> attributes_;
};

/// Thrown by Judge to end a case.
struct Ended {};  ///< a comparison that the rest depends on failed
struct Refused {
  std::string why;
};  ///< the device does not offer what the case tests
struct NotApplicable {
  std::string why;
};
struct Gone {};  ///< the device is not in the list of devices

/// Ends the case if the call of a set-up failed. Reports nothing otherwise.
void must(Judge& judge, std::string_view step, int code);

/// The errno of a call that returns a pointer: 0 if the pointer is not null.
template <typename T>
int errno_of(const T* made) {
  return made != nullptr ? 0 : errno;
}
/// The error of a call that returns 0, an errno value, or -1 and sets errno. Libraries of some
/// devices return a negative errno value instead.
inline int errno_of(int returned) {
  if (returned == -1) return errno;
  return returned < 0 ? -returned : returned;
}

/// "EINVAL", "0"; "errno 1234" for an unknown value.
std::string errno_name(int code);
/// "RTS", as in ibv_qp_state without the prefix.
std::string_view state_name(ibv_qp_state state);
/// "WC_REM_ACCESS_ERR" without IBV_.
std::string status_name(ibv_wc_status status);

}  // namespace iwarp::judge
