// SPDX-License-Identifier: Apache-2.0
// The sizes from which one way of moving data beats another. "Never" and "always" are answers.
#include <cmath>

#include "iwarp/offload_model/performance.hpp"
#include "limits.hpp"

namespace iwarp::offload_model {

using enum Crossover::Kind;

Crossover first_size(const std::function<bool(double)>& better) {
  constexpr double kLargest = 1 << 30;
  constexpr double kStep = 1.05;
  if (better(1)) return {kAlways, 1};
  double low = 1;
  for (double size = low; size <= kLargest; size = std::ceil(size * kStep)) {
    if (!better(size)) {
      low = size;
      continue;
    }
    double high = size;
    while (high - low > 1) {
      const auto middle = std::floor((low + high) / 2);
      (better(middle) ? high : low) = middle;
    }
    return {kFrom, high};
  }
  return {kNever, 0};
}

Crossover cpu_crossover(const Parameters& p, const Workload& w, Mode other) {
  return first_size([&p, other, at = w](double size) mutable {
    at.size = size;
    return message_cost(Mode::kRnic, p, at).total() < message_cost(other, p, at).total();
  });
}

Crossover linear_crossover(const Parameters& p, const Workload& w) {
  const auto a = lines_of(Mode::kSockets, p, w);
  const auto d = lines_of(Mode::kRnic, p, w);
  const auto fixed = d.tx.fixed + d.rx.fixed - a.tx.fixed - a.rx.fixed;
  const auto slope = a.tx.slope + a.rx.slope - d.tx.slope - d.rx.slope;
  if (fixed < 0) return {slope >= 0 ? kAlways : kNever, 1};
  if (slope <= 0) return {kNever, 0};
  return {kFrom, fixed / slope};
}

Crossover latency_crossover(const Parameters& p, const Workload& w, bool advertise,
                            double registrations, Mode other) {
  return first_size([&, at = w](double size) mutable {
    at.size = size;
    return latency_ns(Mode::kRnic, p, at, advertise, registrations) < latency_ns(other, p, at);
  });
}

/// n* = (t_notify + t_sys) / (c_cp(DRAM) - t_pin / page)
Crossover zerocopy_crossover(const Parameters& p) {
  const auto saved = p.copy_dram - p.pin_page / p.page;
  if (saved <= 0) return {kNever, 0};
  return {kFrom, (p.zerocopy_notify + p.syscall_tx) / saved};
}

/// u* = 2 R(n) / (A - D without registration)
std::optional<double> reuse_needed(const Parameters& p, const Workload& w) {
  auto cached = w;
  cached.hit_rate = 0;
  cached.reuse = INFINITY;
  const auto saved =
      message_cost(Mode::kSockets, p, w).total() - message_cost(Mode::kRnic, p, cached).total();
  if (saved <= 0) return std::nullopt;
  return 2 * registration_ns(p, w.size) / saved;
}

}  // namespace iwarp::offload_model
