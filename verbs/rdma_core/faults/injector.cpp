// SPDX-License-Identifier: Apache-2.0
// Injector: reads the plan, counts events in the Book, and carries out the acts: errors of queue
// pairs, events, ports that go down, and the removal of a device.
#include "faults/injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "cm/id.hpp"
#include "iwarp/net/insist.hpp"
#include "objects/objects.hpp"
#include "objects/port_events.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/rc.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core::fault {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string out;
  out.resize(kMaxPlan + 1);
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (in.bad() || !in.is_open()) {
    log_refusal(path + ": cannot be read");
    fail(EINVAL);
  }
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

/// Returns a text for the log that says which event was counted, and for which queue pair or
/// connection.
std::string described(const Hit& hit) {
  const auto of_queue_pair = [&](const char* what) {
    return fmt::format(" ({} {}, queue pair {})", what, hit.count, hit.subject);
  };
  switch (hit.rule->event) {
    case Event::kNow:
    case Event::kTime:
      return "";
    case Event::kCompletions:
      return of_queue_pair("completion");
    case Event::kSends:
      return of_queue_pair("send");
    case Event::kReceives:
      return hit.subject != 0 ? of_queue_pair("receive") : fmt::format(" (receive {})", hit.count);
    case Event::kRegistrations:
      return fmt::format(" (registration {})", hit.count);
    case Event::kCreations:
      return fmt::format(" (creation {})", hit.count);
    case Event::kOctets:
      return fmt::format(" (octet {}, connection {})", hit.count, hit.subject);
    case Event::kDatagrams:
      return of_queue_pair("datagram");
  }
  return "";
}

std::vector<Device*> devices_of(const Rule& rule) {
  std::vector<Device*> out;
  std::ranges::copy_if(devices(), std::back_inserter(out), [&](const Device* device) {
    return rule.device.empty() || rule.device == device->spec().name;
  });
  return out;
}

/// Returns an error message if the rule names a device that does not exist, else an empty string.
std::string why_no_device(const Rule& rule) {
  if (!devices_of(rule).empty()) return {};
  const auto names = devices() | std::views::transform([](const Device* device) {
                       return std::string_view(device->spec().name);
                     });
  return fmt::format("no device is named \"{}\" (use one of {})", verbs::printable(rule.device),
                     fmt::join(names, ", "));
}

/// Moves the queue pairs to the error state. If `is_fatal` is set, also raises IBV_EVENT_QP_FATAL.
void to_error(Core& core, const std::vector<std::uint32_t>& nums, bool is_fatal) {
  for (const auto num : nums) {
    core.with_any_qp_undispatched(num, [is_fatal](Qp& qp) {
      (void)qp.to_error();
      if (is_fatal) push_event(qp, IBV_EVENT_QP_FATAL);
    });
  }
}

}  // namespace

std::optional<Demand> demand_of(const Settings& settings) {
  Demand out{.plan = {}, .file = settings.fault, .socket = settings.fault_socket};
  if (out.file.empty() && out.socket.empty()) return std::nullopt;
  if (!out.file.empty()) {
    auto parsed = parse_plan(read_file(out.file));
    if (!parsed) {
      log_refusal(fmt::format("{}:{}: {}", out.file, parsed.error().line, parsed.error().why));
      fail(EINVAL);
    }
    for (const Rule& rule : parsed->rules) {
      if (const std::string why = why_no_device(rule); !why.empty()) {
        log_refusal(fmt::format("{}:{}: {}", out.file, rule.line, why));
        fail(EINVAL);
      }
    }
    out.plan = std::move(*parsed);
  }
  out.plan.seed = settings.fault_seed.value_or(out.plan.seed);
  return out;
}

Injector::Injector(Core& core, Demand demand)
    : core_(core),
      file_(file_name(demand.file)),
      states_(devices().size()),
      book_(std::move(demand.plan)),
      clock_(*this, std::move(demand.socket)) {}

void Injector::start() {
  const std::string what = file_.empty() ? "none" : file_;
  log_event({.level = verbs::LogLevel::kWarning,
             .event = "faults",
             .message = fmt::format("fault injection is on (file: {}, rules: {}, seed: {})", what,
                                    book_.size(), book_.seed()),
             .fields = {{"seed", book_.seed()}}});
  wire_.attach();
  clock_.start();
}

// Objects of the application

void Injector::made(const Qp& qp) {
  const std::lock_guard lock(mutex_);
  known_[qp.abi.qp_base.qp_num] = {.device = &qp.context.device, .ordinal = ++made_};
}

void Injector::reset(const Qp& qp) {
  receives_.forget(&qp);
  const std::lock_guard lock(mutex_);
  Known& known = known_[qp.abi.qp_base.qp_num];
  known.sends_failed = known.receives_failed = known.datagram_counted = false;
}

void Injector::gone(const Qp& qp) {
  receives_.forget(&qp);
  datagrams_.forget(qp.abi.qp_base.qp_num);
  const std::lock_guard lock(mutex_);
  const auto it = known_.find(qp.abi.qp_base.qp_num);
  if (it == known_.end()) return;
  book_.gone(it->second.ordinal);
  known_.erase(it);
}

std::uint32_t Injector::ordinal(std::uint32_t qp_num) const {
  const auto it = known_.find(qp_num);
  return it != known_.end() ? it->second.ordinal : 0;
}

// Events of the application

void Injector::call(Event event, const Device& device) {
  const int code = posted(event, 0, device);
  if (code == 0) return;
  CallSite::explain();  // An injected error is not a mistake of the program.
  fail(code);
}

int Injector::posted(Event event, std::uint32_t qp_num, const Device& device) {
  if (is_removed(device)) return EIO;
  const Hits hits = [&] {
    const std::lock_guard lock(mutex_);
    return book_.count(event, ordinal(qp_num), device.spec().name);
  }();
  int code = 0;
  for (const Hit& hit : hits) {
    if (hit.rule->act == Act::kFail) code = hit.rule->value;
  }
  act(hits);
  return code;
}

ibv_wc_status Injector::polled(std::uint32_t qp_num, bool is_receive, ibv_wc_status status) {
  Hits hits;
  {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(qp_num);
    // The poll cannot fail any more, because the completion is not in the queue any more.
    hits = net::insist([&] {
      return it != known_.end() ? book_.count(Event::kCompletions, it->second.ordinal,
                                              it->second.device->spec().name)
                                : book_.count(Event::kCompletions, 0);
    });
    if (it != known_.end()) {
      bool& failed = is_receive ? it->second.receives_failed : it->second.sends_failed;
      // After an injected failure, reports later successful completions as flushed, as if the queue
      // pair had been in the error state.
      if (failed && status == IBV_WC_SUCCESS) status = IBV_WC_WR_FLUSH_ERR;
      for (const Hit& hit : hits) {
        if (hit.rule->act != Act::kStatus) continue;
        status = static_cast<ibv_wc_status>(hit.rule->value);
        failed = true;
      }
    }
  }
  act(hits);
  return status;
}

bool Injector::is_any_port_down() const {
  return std::ranges::any_of(states_, [](const DeviceState& state) {
    return state.port_down_at.load(std::memory_order_relaxed) != kPortUp.count();
  });
}

const Device* Injector::device_of(std::uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  const auto it = known_.find(qp_num);
  return it != known_.end() ? it->second.device : nullptr;
}

std::uint64_t Injector::room(std::uint32_t connection, std::uint64_t wanted) {
  const std::lock_guard lock(mutex_);
  return book_.room(connection, wanted);
}

bool Injector::passed(std::uint32_t connection, std::uint64_t octets) {
  Hits hits;
  {
    const std::lock_guard lock(mutex_);
    hits = net::insist([&] { return book_.passed(connection, octets); });
    net::insist([&] { for_clock_.reserve(for_clock_.size() + hits.size()); });
    std::ranges::copy_if(hits, std::back_inserter(for_clock_),
                         [](const Hit& hit) { return hit.rule->act != Act::kReset; });
  }
  for (const Hit& hit : hits) log(hit);
  if (!hits.empty()) clock_.wake();
  return std::ranges::any_of(hits, [](const Hit& hit) { return hit.rule->act == Act::kReset; });
}

bool Injector::takes_over(int fd, const msghdr& datagram) {
  Hits hits;
  std::uint32_t ordinal = 0;
  bool lost = wire_.is_cut(fd);
  {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(sender_of(datagram));
    if (it != known_.end()) lost = lost || is_removed(*it->second.device);
    if (it != known_.end() && !std::exchange(it->second.datagram_counted, false)) {
      ordinal = it->second.ordinal;
      const auto& name = it->second.device->spec().name;
      hits = net::insist([&] { return book_.count(Event::kDatagrams, ordinal, name); });
    }
    net::insist([&] { for_clock_.reserve(for_clock_.size() + hits.size()); });
    std::ranges::copy_if(hits, std::back_inserter(for_clock_), [](const Hit& hit) {
      return hit.rule->act != Act::kLose && hit.rule->act != Act::kDelay;
    });
  }
  std::chrono::nanoseconds delay{0};
  for (const Hit& hit : hits) {
    log(hit);
    lost = lost || hit.rule->act == Act::kLose;
    if (hit.rule->act == Act::kDelay) delay = std::max(delay, hit.rule->duration);
  }
  const bool held = !lost && delay.count() != 0;
  const auto keep = [&] { return datagrams_.keep(fd, datagram, now() + delay); };
  if (held && !net::insist(keep)) log_full(ordinal);
  if (!hits.empty()) clock_.wake();
  return lost || held;
}

void Injector::will_resend(std::uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  const auto it = known_.find(qp_num);
  if (it != known_.end()) it->second.datagram_counted = true;
}

// Carrying out faults

void Injector::act(const Hits& hits) {
  for (const Hit& hit : hits) {
    log(hit);
    net::insist([&] { carry_out(hit); });
  }
}

void Injector::log(const Hit& hit) {
  or_no_memory([&] {
    const Rule& rule = *hit.rule;
    const std::string where =
        rule.line != 0 ? fmt::format("{}:{}", file_, rule.line) : "fault socket";
    log_event({.level = verbs::LogLevel::kWarning,
               .event = "fault",
               .message = fmt::format("{}: {}{}", where, rule.text, described(hit)),
               .fields = {{"line", rule.line}, {"rule", rule.text}}});
  });
}

void Injector::log_full(std::uint32_t ordinal) {
  or_no_memory([=] {
    log_event(
        {.level = verbs::LogLevel::kWarning,
         .event = "fault",
         .message = fmt::format(
             "a datagram of queue pair {} is lost: {} datagrams, the maximum, are already delayed",
             ordinal, HeldDatagrams::kMax)});
  });
}

/// Returns the numbers of the queue pairs to which the act of the rule applies. A rule that counts
/// events applies to the queue pair whose event triggered it. A timed rule applies to the queue
/// pair that it names, or to all queue pairs if it names none, but only if they are on the device
/// that it names.
std::vector<std::uint32_t> Injector::queue_pairs(const Hit& hit) {
  const auto ordinal = hit.subject != 0 ? hit.subject : hit.rule->subject.number;
  std::map<std::uint32_t, std::uint32_t> found;  // by ordinal
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [num, known] : known_) {
      const auto& device = hit.rule->device;
      if (!device.empty() && device != known.device->spec().name) continue;
      if (ordinal == 0 || known.ordinal == ordinal) found.emplace(known.ordinal, num);
    }
  }
  const auto nums = found | std::views::values;
  return {nums.begin(), nums.end()};
}

void Injector::carry_out(const Hit& hit) {
  const Rule& rule = *hit.rule;
  switch (rule.act) {
    case Act::kStatus:
    case Act::kError:
      return to_error(core_, queue_pairs(hit), rule.act == Act::kError);
    case Act::kRnr:
      for (const auto num : queue_pairs(hit)) {
        core_.with_qp(num, [&](RcQp& qp) { receives_.hold(qp, now() + rule.duration); });
      }
      return clock_.wake();
    case Act::kReset:
      return wire_.reset(rule.subject.number, rule.device);
    case Act::kPortDown:
    case Act::kPortUp:
    case Act::kTell:
    case Act::kRemove:
      for (Device* const device : devices_of(rule)) carry_out(rule, *device);
      return;
    case Act::kFail:
    case Act::kLose:
    case Act::kDelay:
      return;  // The caller that counted the event carries out these acts.
  }
}

/// Carries out the act of a rule on one of the devices to which the rule applies.
void Injector::carry_out(const Rule& rule, const Device& device) {
  if (rule.act == Act::kTell) {
    core_.service<PortEvents>().tell(static_cast<ibv_event_type>(rule.value), &device);
  } else if (rule.act == Act::kRemove) {
    remove(device);
  } else {
    set_port(device, rule.act == Act::kPortDown, rule.duration);
  }
}

void Injector::set_port(const Device& device, bool down, std::chrono::nanoseconds duration) {
  DeviceState& state = state_of(device);
  {
    const std::lock_guard lock(mutex_);
    state.port_up_at.reset();
    if (down && duration.count() != 0) state.port_up_at = now() + duration;
  }
  const auto was = state.port_down_at.exchange(down ? now().count() : kPortUp.count());
  if (down != (was != kPortUp.count())) {
    core_.service<PortEvents>().tell(down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE, &device);
  }
  clock_.wake();
}

// Removes the device. The order is the same as when the kernel removes a device: first all posted
// requests are flushed, then the device raises its asynchronous event, and then the CM raises an
// event for each id. [IBV-610]
void Injector::remove(const Device& device) {
  if (state_of(device).removed.exchange(true)) return;
  const Rule all{.device = device.spec().name};
  to_error(core_, queue_pairs({std::make_shared<const Rule>(all), 0, 0}), false);
  core_.service<PortEvents>().tell(IBV_EVENT_DEVICE_FATAL, &device);
  report_removed(device);
}

// The Clock's thread calls the functions below.

std::optional<Book::Time> Injector::run() {
  Hits due;
  std::vector<Hit> left;
  std::vector<const Device*> recovering;
  {
    const std::lock_guard lock(mutex_);
    due = book_.due(now());
    left = std::exchange(for_clock_, {});
    for (const Device* const device : devices()) {
      const auto& at = state_of(*device).port_up_at;
      if (at && *at <= now()) recovering.push_back(device);
    }
  }
  for (const Device* const device : recovering) set_port(*device, false, {});
  for (const Hit& hit : left) carry_out(hit);
  act(due);
  const auto of_receives = receives_.release(now());
  std::set<std::uint32_t> cut;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [num, known] : known_) {
      if (is_cut(*known.device)) cut.insert(num);
    }
  }
  const auto of_datagrams = datagrams_.release(now(), cut);
  std::optional<Book::Time> next;
  const auto add = [&](const std::optional<Book::Time>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  const std::lock_guard lock(mutex_);
  for (const auto& at : {of_receives, of_datagrams, book_.next()}) add(at);
  for (const DeviceState& state : states_) add(state.port_up_at);
  return next;
}

std::string Injector::add(Rule rule) {
  if (std::string why = why_no_device(rule); !why.empty()) return why;
  const std::lock_guard lock(mutex_);
  return book_.add(std::move(rule), now()) ? "" : "the limit of 1024 rules is reached";
}

std::vector<std::string> Injector::list() {
  const std::lock_guard lock(mutex_);
  return book_.rules();
}

}  // namespace iwarp::rdma_core::fault
