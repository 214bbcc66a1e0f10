// SPDX-License-Identifier: Apache-2.0
// Completion channels. The file descriptor of a channel belongs to the core. The core may make the
// descriptor readable as soon as a TCP socket of a queue pair is readable, so that incoming data
// directly wakes the thread that waits on the channel. Blocking, O_NONBLOCK and signals have the
// same effect as with the kernel's channels.
#include <fcntl.h>
#include <signal.h>

#include <cerrno>

#include "objects/objects.hpp"
#include "process/acks.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core {
namespace {

bool is_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_NONBLOCK) == 0;
}

// Waits for the next event of the channel, unless its descriptor is set to O_NONBLOCK. Returns the
// completion queue of the event, or an errno.
std::expected<verbs::CompletionQueue*, int> next(CompChannel& channel) {
  if (!is_blocking(channel.abi.fd)) {
    if (const auto cq = channel.events.poll()) return *cq;
    return std::unexpected(EAGAIN);
  }
  while (true) {
    const auto cq = channel.events.wait_interruptible();
    if (cq) return *cq;
    const int code = cq.error().value();
    if (code != EINTR || has_interrupting_handler()) return std::unexpected(code);
  }
}

}  // namespace

bool has_interrupting_handler() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    const bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (handled && (action.sa_flags & SA_RESTART) == 0) return true;
  }
  return false;
}

extern "C" {

// [IBV-210, IBV-211]
ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return guarded_pointer<ibv_comp_channel>([&] {
    auto* channel = new CompChannel{.context{Context::of(context)}};
    channel->abi.context = context;
    channel->abi.fd = channel->high ? channel->high.get() : channel->events.fd();
    return &channel->abi;
  });
}

// [IBV-212]
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  CompChannel& self = CompChannel::of(channel);
  if (std::atomic_ref(channel->refcnt).load() != 0) return EBUSY;
  leave(self);
  return 0;
}

// [IBV-213, IBV-214, IBV-215, IBV-221]
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  const CallSite here(__builtin_return_address(0));
  CompChannel& self = CompChannel::of(channel);
  if (!self.context.alive()) return minus_one(EIO);
  const Visit visit(self);
  return or_no_memory([&] {
    Hooks* const hooks = self.context.hooks;
    if (hooks != nullptr) hooks->sleeping(self, is_blocking(channel->fd));
    Cq* found = nullptr;
    while (found == nullptr) {
      const auto core = next(self);
      if (!core) return minus_one(core.error());
      // If the completion queue is being destroyed, with_queue() does not call the function, so the
      // loop waits for another event.
      self.context.core.with_queue<Cq>(*core, [&](Cq& queue) {
        found = &queue;
        queue.comp_events.fetch_add(1);
      });
    }
    if (hooks != nullptr) hooks->took_event(*found);
    *cq = found->handle();
    *cq_context = found->abi.cq_context;
    return 0;
  });
}

// [IBV-216]
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  acknowledge(cq->mutex, cq->cond, cq->comp_events_completed, count);
}

}  // extern "C"

}  // namespace iwarp::rdma_core
