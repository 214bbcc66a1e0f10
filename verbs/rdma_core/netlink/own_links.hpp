// SPDX-License-Identifier: Apache-2.0
// The devices of this process, including those that processes of the session have added with
// `rdma link add`.
#pragma once

#include "netlink/links.hpp"
#include "process/session.hpp"

namespace iwarp::rdma_core::netlink {

class OwnLinks final : public Links {
 public:
  /// `session` must exist as long as this object.
  explicit OwnLinks(Session& session) : session_(session) {}

  std::vector<LinkView> list() override;
  int add(const std::string& name, const std::string& type, const std::string& netdev) override;
  int remove(std::uint32_t index) override;

 private:
  Session& session_;
};

}  // namespace iwarp::rdma_core::netlink
