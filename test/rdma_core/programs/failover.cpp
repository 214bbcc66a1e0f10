// SPDX-License-Identifier: Apache-2.0
// Sends numbered messages over several devices, and goes on over the other devices when one fails.
//   failover PORT HOST|- STOP DEVICE=OWN=PEER...
// OWN and PEER are the IPv4 addresses of the two ends of a link; each link has a queue pair of type
// RC. With `-`, the program is the server, which receives. The client sends until the file STOP
// exists. A message whose request fails is sent again over another link, and the link is used again
// when its port is active. Both ends print asynchronous events. The client also prints when a link
// fails and when it works again; the server prints how many messages have arrived and how many of
// them twice. Exits with 1 if a message is wrong or missing, or if a request or receive fails with
// a status that a broken link does not give.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "control.hpp"

namespace {

using rdma_core_test::check;
using rdma_core_test::must;
using Number = std::uint64_t;

constexpr std::size_t kSlots = 16;
constexpr std::size_t kWords = 512;
constexpr std::size_t kSize = kWords * sizeof(Number);

ibv_context* open_device(const std::string& name) {
  ibv_device** const list = must(ibv_get_device_list(nullptr), "ibv_get_device_list");
  ibv_context* out = nullptr;
  for (int i = 0; list[i] != nullptr; ++i) {
    if (ibv_get_device_name(list[i]) == name) out = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  return must(out, name.c_str());
}

/// Messages of Control: a link is to be set up anew, or has been; or kEnd and the number of
/// messages.
constexpr Number kEnd = 1000;

struct Link {
  enum class State : std::uint8_t { kWorks, kBroken, kAsked };

  /// `text` is DEVICE=OWN=PEER.
  Link(const std::string& text, const Control& control)
      : name(text.substr(0, text.find('='))),
        own(text.substr(name.size() + 1, text.rfind('=') - name.size() - 1)),
        peer(text.substr(text.rfind('=') + 1)),
        context(open_device(name)),
        end({.cap = {kSlots, kSlots, 1, 1, 0},
             .memory = kSlots * kSize,
             .context = context,
             .pd = must(ibv_alloc_pd(context))}) {
    control.send<Number>(end.qp->qp_num);
    peer_qpn = static_cast<std::uint32_t>(control.receive<Number>());
  }

  void bring_up() {
    free.clear();
    for (std::size_t i = 0; i != kSlots; ++i) free.push_back(i);
    constexpr std::uint8_t k67Ms = 14;
    ibv_qp_attr attr{.path_mtu = IBV_MTU_1024,
                     .dest_qp_num = peer_qpn,
                     .port_num = 1,
                     .timeout = k67Ms,
                     .retry_cnt = 2,
                     .rnr_retry = 7};
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = rdma_core_test::gid_of(peer.c_str());
    attr.ah_attr.grh.sgid_index = index;
    end.bring_up(attr);
    state = State::kWorks;
  }
  void reset() const { check(rdma_core_test::move_to(end.qp, IBV_QPS_RESET) == 0, "RESET"); }
  Number* slot(std::size_t at) const { return reinterpret_cast<Number*>(end.memory + at * kSize); }
  void receive(std::size_t at) const {
    check(end.receive(end.sge(at * kSize, kSize), at) == 0, "ibv_post_recv");
  }
  bool is_active() const {
    ibv_port_attr attr{};
    check(ibv_query_port(context, 1, &attr) == 0, "ibv_query_port");
    return attr.state == IBV_PORT_ACTIVE;
  }
  void say(const std::string& what) const {
    std::printf("%s: %s\n", name.c_str(), what.c_str());
    std::fflush(stdout);
  }
  void print_events() const {
    while (rdma_core_test::is_readable(context->async_fd)) {
      say(ibv_event_type_str(end.take_async_event().event_type));
    }
  }

  const std::string name;
  const std::string own;
  const std::string peer;
  ibv_context* context;
  rdma_core_test::VerbsEnd end;
  std::uint8_t index = static_cast<std::uint8_t>(end.index_of(rdma_core_test::gid_of(own.c_str())));
  std::uint32_t peer_qpn = 0;
  State state = State::kBroken;
  bool has_failed = false;       ///< the link has failed, and no request has succeeded since
  std::deque<std::size_t> free;  ///< the slots that no request uses
};

using Links = std::vector<std::unique_ptr<Link>>;

Number word_of(Number number, std::size_t at) { return number * 0x9E3779B97F4A7C15 + at; }

class Client {
 public:
  Client(const Links& links, const Control& control) : links_(links), control_(control) {}

  void run(const char* stop) {
    while (!(is_over_ = is_over_ || access(stop, F_OK) == 0) || answered_ != next_) {
      for (Number i = 0; i != links_.size(); ++i) step(i);
      if (control_.has_message()) {
        Link& link = *links_.at(control_.receive<Number>());
        link.reset();
        link.bring_up();
      }
    }
    control_.send(kEnd);
    control_.send(next_);
    std::printf("%llu sent, %llu of them again\n", static_cast<unsigned long long>(next_),
                static_cast<unsigned long long>(again_));
  }

 private:
  void step(Number number_of_link) {
    Link& link = *links_[number_of_link];
    link.print_events();
    ibv_wc wc{};
    while (ibv_poll_cq(link.end.cq, 1, &wc) == 1) completed(link, wc);
    while (link.state == Link::State::kWorks && !link.free.empty() && send_one(link)) {
    }
    if (link.state == Link::State::kBroken && link.free.size() == kSlots && link.is_active()) {
      control_.send(number_of_link);
      link.state = Link::State::kAsked;
    }
  }

  void completed(Link& link, const ibv_wc& wc) {
    link.free.push_back(wc.wr_id);
    if (wc.status == IBV_WC_SUCCESS) {
      ++answered_;
      if (std::exchange(link.has_failed, false)) link.say("works again");
      return;
    }
    const auto expected =
        link.state == Link::State::kWorks ? IBV_WC_RETRY_EXC_ERR : IBV_WC_WR_FLUSH_ERR;
    check(wc.status == expected, ibv_wc_status_str(wc.status));
    if (link.state == Link::State::kWorks) link.say("failed");
    link.state = Link::State::kBroken;
    link.has_failed = true;
    to_repeat_.push_back(*link.slot(wc.wr_id));
    ++again_;
  }

  bool send_one(Link& link) {
    if (to_repeat_.empty() && is_over_) return false;
    Number number = next_;
    if (to_repeat_.empty()) {
      ++next_;
    } else {
      number = to_repeat_.front();
      to_repeat_.pop_front();
    }
    const std::size_t at = link.free.front();
    link.free.pop_front();
    Number* const words = link.slot(at);
    words[0] = number;
    for (std::size_t i = 1; i != kWords; ++i) words[i] = word_of(number, i);
    ibv_sge sge = link.end.sge(at * kSize, kSize);
    const ibv_send_wr wr{.wr_id = at, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    check(rdma_core_test::post_send(link.end.qp, wr) == 0, "ibv_post_send");
    return true;
  }

  const Links& links_;
  const Control& control_;
  std::deque<Number> to_repeat_;
  Number next_ = 0;      ///< the number of the next new message
  Number answered_ = 0;  ///< number of requests that have succeeded
  Number again_ = 0;     ///< number of requests that have failed
  bool is_over_ = false;
};

class Server {
 public:
  Server(const Links& links, const Control& control) : links_(links), control_(control) {
    for (const auto& link : links_) post_all(*link);
  }

  void run() {
    for (;;) {
      for (const auto& link : links_) {
        link->print_events();
        take_all(*link);
      }
      if (!control_.has_message()) continue;
      const Number message = control_.receive<Number>();
      if (message == kEnd) return finish(control_.receive<Number>());
      // Before the reset, which removes completions, takes all messages that have arrived.
      Link& link = *links_.at(message);
      take_all(link);
      link.reset();
      link.bring_up();
      post_all(link);
      control_.send(message);
    }
  }

 private:
  static void post_all(const Link& link) {
    for (std::size_t i = 0; i != kSlots; ++i) link.receive(i);
  }

  void take_all(const Link& link) {
    ibv_wc wc{};
    while (ibv_poll_cq(link.end.cq, 1, &wc) == 1) {
      if (wc.status == IBV_WC_WR_FLUSH_ERR) continue;
      check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
      check(wc.byte_len == kSize, "the length of a message");
      const Number* const words = link.slot(wc.wr_id);
      for (std::size_t i = 1; i != kWords; ++i) check(words[i] == word_of(words[0], i), "octets");
      if (came_.size() <= words[0]) came_.resize(words[0] + 1);
      if (came_[words[0]]) ++twice_;
      came_[words[0]] = true;
      link.receive(wc.wr_id);
    }
  }

  void finish(Number count) {
    for (const auto& link : links_) take_all(*link);
    Number arrived = 0;
    for (const bool one : came_) arrived += one ? 1 : 0;
    std::printf("%llu of %llu arrived, %llu of them twice\n",
                static_cast<unsigned long long>(arrived), static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(twice_));
    check(arrived == count && came_.size() == count, "messages are missing");
  }

  const Links& links_;
  const Control& control_;
  std::vector<bool> came_;
  Number twice_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  try {
    const std::string host = argv[2];
    const Control control(host == "-" ? nullptr : argv[2], argv[1]);
    Links links;
    for (int i = 4; i != argc; ++i) links.push_back(std::make_unique<Link>(argv[i], control));
    for (const auto& link : links) link->bring_up();
    if (host == "-") {
      Server(links, control).run();
    } else {
      Client(links, control).run(argv[3]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failover: %s\n", error.what());
    return 1;
  }
  return 0;
}
