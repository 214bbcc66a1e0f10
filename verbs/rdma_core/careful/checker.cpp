// SPDX-License-Identifier: Apache-2.0
// Checker: passes each call to the Ledger before or after it goes to the device, and turns each
// Finding into one log line. Ignores the calls of libraries whose use of memory the program does
// not decide.
#include "careful/checker.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "careful/site.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "objects/work_completion.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"
#include "qp/rc.hpp"
#include "qp/ud.hpp"

namespace iwarp::rdma_core::careful {
namespace {

constexpr std::size_t kMaxReports = 1000;
constexpr int kAttempts = 100000;

/// The Checker of the process, which end_of_present() needs when the process ends.
std::atomic<Checker*> present{nullptr};

constexpr const char* kUnseen =
    "careful mode: cannot detect that registered memory is freed: the program defines its own "
    "free(), or its allocator has no malloc_usable_size()";
constexpr const char* kUnwatched =
    "careful mode: cannot watch all regions for freed memory: the program has too many regions";
constexpr const char* kLost =
    "careful mode: some reports of freed memory are missing: the memory of too many regions was "
    "freed at once";

// Memory that these libraries register is not watched. They cache registrations for reuse, and they
// detect when the pages of a region are unmapped. So a program that uses one of these libraries may
// free registered memory.
constexpr std::array<std::string_view, 3> kCaches{"libuct_ib.", "libfabric.", "mca_btl_openib."};

// These libraries contain the rsockets. A Finding at a place in one of them is not reported,
// because the program is not responsible for what rsockets do with memory.
constexpr std::array<std::string_view, 2> kOwn{"libibverbs.", "librdmacm."};

/// Returns whether the call was made from a file (program or library) whose name begins with one of
/// `files`.
bool is_in(const void* return_address, std::span<const std::string_view> files) {
  return or_no_memory([&] {
    const std::string file = module_of(return_address);
    return std::ranges::any_of(files, [&](auto start) { return file.starts_with(start); });
  });
}

bool is_in(Site site, std::span<const std::string_view> files) {
  return site != nullptr && is_in(site->frames[0], files);
}

WaitHook* find_wait_hook() {
  auto* const function =
      reinterpret_cast<WaitHookFunction*>(::dlsym(RTLD_DEFAULT, kWaitHookSymbol));
  return function != nullptr ? function(sizeof(Wait)) : nullptr;
}

constexpr const char* kUncounted =
    "careful mode: cannot count a report for --careful=fail: cannot write the file that "
    "IWARP_CAREFUL_REPORTS names";

/// Appends the name of the check to the file `path`, which `iwarp run --careful=fail` reads after
/// the program has ended. Returns false if the file cannot be written.
bool count(Check check, const std::string& path) {
  if (path.empty()) return true;
  const net::UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string line = std::string(check) + '\n';
  return file && ::write(file.get(), line.data(), line.size()) == std::ssize(line);
}

std::string words(const char* before, const Description& of) {
  return fmt::format("{}{}{}{}", before, of.place, of.caller.empty() ? "" : ", called at ",
                     of.caller);
}

BufferUse use_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return BufferUse::kSource;
    case IBV_WR_RDMA_READ:
      return BufferUse::kSink;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return BufferUse::kAtomic;
    default:
      return BufferUse::kOther;
  }
}

SendRequest request_of(const Qp& qp, const ibv_send_wr& wr, std::vector<Piece> pieces) {
  const auto has = [&](unsigned flag) { return (wr.send_flags & flag) != 0; };
  const BufferUse kind = use_of(wr.opcode);
  return {.wr_id = wr.wr_id,
          .kind = kind,
          .is_signaled = qp.signal_all || has(IBV_SEND_SIGNALED),
          .is_inline = has(IBV_SEND_INLINE),
          .is_fenced = has(IBV_SEND_FENCE),
          .remote = kind == BufferUse::kAtomic ? wr.wr.atomic.remote_addr : 0,
          .pieces = std::move(pieces)};
}

bool is_ready(Core& core, std::uint32_t num) {
  bool out = false;
  core.with_any_qp(num, [&out](const Qp& qp) {
    const auto state = qp.state_now();
    out = state == IBV_QPS_RTS || state == IBV_QPS_RTR;
  });
  return out;
}

}  // namespace

Checker::Checker(Core& core, const Settings& settings, std::unique_ptr<Hooks> behind)
    : Hooks(std::move(behind)),
      core_(core),
      reports_(settings.careful_reports),
      ledger_([this](const Finding& finding) { report(finding); },
              [this](std::uint32_t qp) { return is_ready(core_, qp); },
              [](const void* cq) { return static_cast<const Cq*>(cq)->core->size(); },
              settings.persona == Persona::kIwarp),
      wait_hook_(find_wait_hook()) {
  if (!freed_.is_loaded()) return;
  if (!freed_.works()) {
    freed_.stop();
    say(kUnseen);
    return;
  }
  present.store(this);
  [[maybe_unused]] static const int kAtExit = std::atexit(end_of_present);
}

void Checker::abandon() noexcept {
  Hooks::abandon();
  present.store(nullptr);
  if (wait_hook_ != nullptr) wait_hook_->store(nullptr);
  freed_.stop();
}

void Checker::end_of_present() {
  if (Checker* const checker = present.load()) checker->end();
}

// Makes the Checker stop when the process exits, because exit() frees much memory, and reports of
// that would not be useful. Before exit() does anything else, it destroys the thread-local objects
// of the main thread. So the destructor of such an object stops the Checker. If the main thread
// never registers memory, there is no such object, and an exit handler stops the Checker later.
void Checker::end_with_main_thread() {
  struct End {
    bool is_armed = false;
    ~End() {
      if (is_armed) end_of_present();
    }
  };
  static thread_local End end;
  if (::gettid() == ::getpid()) end.is_armed = true;
}

std::unique_lock<std::mutex> Checker::enter() {
  std::unique_lock lock(mutex_);
  report_freed();
  return lock;
}

void Checker::report_freed() {
  freed_.take([this](std::uint32_t key, Freed how, const void* address) {
    ledger_.freed(key, how, site_at(address));
  });
  if (freed_.take_lost()) say(kLost);
}

std::unique_lock<std::mutex> Checker::try_enter() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int i = 0; !lock && i < kAttempts; ++i) {
    std::this_thread::yield();
    (void)lock.try_lock();
  }
  if (lock) report_freed();
  return lock;
}

// The thread that called exit(), or a thread that no longer runs, may hold the lock.
void Checker::end() {
  if (wait_hook_ != nullptr) wait_hook_->store(nullptr);
  if (const auto lock = try_enter()) freed_.stop();
}

// Ignores the waits of this library itself. Its calls also reach the replacement of poll(2), some
// of them from a thread that holds the lock.
void Checker::waiting(const Wait& wait) {
  Checker* const checker = present.load();
  const bool is_own = CallSite::current() != nullptr || is_in(wait.return_address, kOwn);
  if (checker == nullptr || is_own) return;
  const CallSite here(wait.return_address);
  const auto lock = checker->try_enter();
  if (!lock) return;
  checker->ledger_.waits(
      [&wait](const void* channel) {
        pollfd ready{.fd = static_cast<const ibv_comp_channel*>(channel)->fd, .events = POLLIN};
        return is_awaited(wait, ready.fd) && ::poll(&ready, 1, 0) == 0;
      },
      call_site());
  if (!checker->ledger_.has_left()) checker->wait_hook_->store(nullptr);
}

int Checker::req_notify_cq(ibv_cq* cq, int solicited_only) {
  pollfd event{.fd = cq->channel != nullptr ? cq->channel->fd : -1, .events = POLLIN, .revents = 0};
  const bool has_event = ::poll(&event, 1, 0) == 1;
  {
    const auto lock = enter();
    ledger_.arms(&Cq::of(cq), has_event);
    if (wait_hook_ != nullptr && ledger_.has_left()) wait_hook_->store(waiting);
  }
  return behind().req_notify_cq(cq, solicited_only);
}

void Checker::sending_private_data(const char* call, std::size_t size, std::size_t limit) {
  Hooks::sending_private_data(call, size, limit);
  if (size <= limit) return;
  const auto lock = enter();
  report({.check = check::kPrivateDataTooLong,
          .site = call_site(),
          .what = fmt::format("{} passes {} bytes of private data: with a RoCE adapter the call "
                              "fails with EINVAL (pass at most {} bytes)",
                              call, size, limit)});
}

void Checker::registered(Mr& mr) {
  Hooks::registered(mr);  // may change the key that the program uses
  const auto key = mr.abi.lkey;
  const std::span memory(static_cast<const std::byte*>(mr.abi.addr), mr.abi.length);
  const auto lock = enter();
  ledger_.registered(key,
                     {.pd = mr.abi.pd,
                      .memory = memory,
                      .iova = mr.iova,
                      .remote_write = (mr.access & IBV_ACCESS_REMOTE_WRITE) != 0,
                      .is_zero_based = (mr.access & IBV_ACCESS_ZERO_BASED) != 0},
                     call_site());
  end_with_main_thread();
  if (!is_in(call_site(), kCaches) && !freed_.watch(key, memory)) say(kUnwatched);
}

void Checker::deregistering(Mr& mr) {
  Hooks::deregistering(mr);
  const auto lock = enter();
  ledger_.deregistered(mr.abi.lkey, call_site());
  freed_.forget(mr.abi.lkey);
}

void Checker::destroying(Cq& cq) {
  Hooks::destroying(cq);
  const auto taken = cq.comp_events.load();
  const auto acknowledged = cq.abi.comp_events_completed;
  ledger()->destroyed_cq(&cq, taken > acknowledged ? taken - acknowledged : 0, call_site());
}

void Checker::made(Qp& qp) {
  Hooks::made(qp);
  ledger()->made_qp(qp.num(), {.send_cq = qp.send_cq,
                               .recv_cq = qp.recv_cq,
                               .srq = qp.srq,
                               .pd = qp.abi.qp_base.pd,
                               .max_send = qp.cap.max_send_wr});
}

void Checker::say(const char* line) {
  or_no_memory([&] {
    if (!lines_.insert(line).second) return;
    log_event({.level = verbs::LogLevel::kWarning, .event = "careful", .message = line});
  });
}

void Checker::report(const Finding& finding) {
  if (is_in(finding.begun != nullptr ? finding.begun : finding.site, kOwn)) return;
  if (said_.size() == kMaxReports || !said_.emplace(finding.check, finding.site).second) return;
  const Description at = describe(finding.site);
  // Compares the text of the place as well as the Site. An inline function of a header has a
  // different Site for each of its callers, and several of these Sites may be on the same line.
  if (!places_.emplace(finding.check, at.place).second) return;
  if (!count(finding.check, reports_)) say(kUncounted);
  const std::string begun =
      finding.begun != nullptr ? words(", begun at ", describe(finding.begun)) : "";
  log_event({.level = verbs::LogLevel::kWarning,
             .event = "careful",
             .message = fmt::format("careful: {}: {}; {}{}", finding.check, finding.what,
                                    words("at ", at), begun),
             .fields = {{"check", std::string(finding.check)}, {"site", at.place}}});
}

void Checker::sends(Qp& qp, std::span<const SendRequest> requests) {
  const auto state = qp.state.load();
  if (state <= IBV_QPS_RTR) {
    // The queue pair of an RNIC is in INIT when it is created.
    const bool is_rnic = qp.context.persona == Persona::kIwarp;
    const std::array kNames{is_rnic ? "INIT" : "RESET", "INIT", "RTR"};
    report({.check = check::kPostedTooEarly,
            .site = call_site(),
            .what = fmt::format("a request is posted to the send queue of queue pair {} in state "
                                "{}: an adapter refuses it with EINVAL (post requests only in RTS)",
                                qp.num(), kNames.at(state))});
  }
  ledger_.sends(qp.num(), requests, call_site());
}

int Checker::post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  Qp& qp = Qp::of(handle);
  std::vector<SendRequest> requests;
  for (const auto* one = wr; one != nullptr; one = one->next)
    requests.push_back(request_of(qp, *one, pieces_of(one->sg_list, one->num_sge)));
  const auto lock = enter();
  sends(qp, requests);
  const int code = behind().post_send(handle, wr, bad_wr);
  if (code != 0) ledger_.not_sent(qp.num(), length_of(*bad_wr));
  return code;
}

int Checker::post_built(Qp& qp) {
  std::vector<SendRequest> requests;
  for (const auto& built : qp.staged->requests)
    requests.push_back(request_of(qp, built.wr, pieces_of(qp.staged->buffers_of(built))));
  const auto lock = enter();
  sends(qp, requests);
  const int code = behind().post_built(qp);
  if (code != 0) ledger_.not_sent(qp.num(), requests.size());
  return code;
}

int Checker::poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  const int got = behind().poll_cq(cq, count, wc);
  const std::span completions(wc, static_cast<std::size_t>(std::max(got, 0)));
  const auto lock = enter();
  ledger_.polls(&Cq::of(cq), completions.size(), static_cast<std::size_t>(std::max(count, 0)));
  for (const ibv_wc& one : completions) {
    ledger_.completed({.qp = one.qp_num,
                       .wr_id = one.wr_id,
                       .is_receive = (one.opcode & IBV_WC_RECV) != 0,
                       .is_success = one.status == IBV_WC_SUCCESS,
                       .length = one.byte_len},
                      call_site());
  }
  return got;
}

int Checker::polled(ibv_cq_ex* handle, int code) {
  const Cq& cq = Cq::of(handle);
  const auto lock = enter();
  ledger_.polls(&cq, code == 0 ? 1 : 0, 1);
  if (code != 0) return code;
  ledger_.completed({.qp = cq.wc.qp_num,
                     .wr_id = cq.wc.wr_id,
                     .is_receive = (wc_opcode(cq.wc) & IBV_WC_RECV) != 0,
                     .is_success = handle->status == IBV_WC_SUCCESS,
                     .length = wc_byte_len(cq.wc)},
                    call_site());
  return 0;
}

}  // namespace iwarp::rdma_core::careful
