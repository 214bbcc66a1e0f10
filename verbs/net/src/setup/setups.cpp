// SPDX-License-Identifier: Apache-2.0
// Setups: applies the verdicts of PendingSetups. Ends connections without its mutex locked, because
// ending one takes the lock of that connection.
#include "setup/setups.hpp"

#include "driver/driven_connection.hpp"

namespace iwarp::net {

std::optional<Setups::Mark> Setups::admit(const PendingSetups::Newcomer& newcomer) {
  PendingSetups::Verdict verdict;
  {
    const std::lock_guard lock(mutex_);
    verdict = policy_.admit(newcomer);
  }
  end(verdict.leave);
  if (!verdict.id) return std::nullopt;
  return Mark(*this, *verdict.id);
}

void Setups::started(Id id, const std::shared_ptr<DrivenConnection>& connection) {
  const std::lock_guard lock(mutex_);
  connections_[id] = connection;
}

std::size_t Setups::under_way() {
  const std::lock_guard lock(mutex_);
  return policy_.size();
}

bool Setups::make_room(std::size_t count) {
  std::vector<Id> leave;
  {
    const std::lock_guard lock(mutex_);
    leave = policy_.make_room(count);
  }
  end(leave);
  return !leave.empty();
}

void Setups::end(const std::vector<Id>& ids) {
  for (const Id id : ids) {
    std::shared_ptr<DrivenConnection> connection;
    {
      const std::lock_guard lock(mutex_);
      const auto it = connections_.find(id);
      if (it != connections_.end()) connection = it->second.lock();
    }
    if (connection != nullptr) connection->end_if_unproven();
  }
}

void Setups::Mark::request_arrived() const {
  const std::lock_guard lock(setups_->mutex_);
  setups_->policy_.request_arrived(id_);
}

void Setups::Mark::accepted() const {
  const std::lock_guard lock(setups_->mutex_);
  setups_->policy_.accepted(id_);
}

void Setups::Mark::over() {
  if (setups_ == nullptr) return;
  const std::lock_guard lock(setups_->mutex_);
  setups_->policy_.over(id_);
  setups_->connections_.erase(id_);
  setups_ = nullptr;
}

}  // namespace iwarp::net
