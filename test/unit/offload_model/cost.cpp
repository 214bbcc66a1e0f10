// SPDX-License-Identifier: Apache-2.0
// Tests the cost equations of kernel sockets, software iWARP, TOE and RNIC term by term: each test
// sets one cost and leaves all others at zero.
#include <doctest/doctest.h>

#include "iwarp/offload_model/performance.hpp"
#include "support.hpp"

using namespace iwarp::offload_model;
using enum Component;
using doctest::Approx;

TEST_CASE("kernel sockets: copying costs by octet; calls, segments and packets cost by count") {
  auto p = free_of_cost();
  const Workload w{.size = 100'000};
  const auto packets = w.size / p.mss;
  const auto calls = w.size / p.call;
  p.copy_tx = 0.5;
  p.copy_rx = 1;
  p.checksum = 0.1;
  p.syscall_tx = 7;
  p.segment_tx = p.small_segment_tx = 3;
  p.packet_tx = 2;
  p.packet_rx = 5;
  p.ack = 10;
  p.interrupt = 40;
  p.wakeup = 100;
  const auto cost = message_cost(Mode::kSockets, p, w);
  CHECK(cost.tx[kCopy] == Approx(50'000));
  CHECK(cost.rx[kCopy] == Approx(100'000));
  CHECK(cost.tx[kChecksum] == Approx(10'000));
  CHECK(cost.tx[kSyscall] == Approx(calls * 7));
  CHECK(cost.tx[kProtocol] == Approx(packets * (3 + 2) + packets / 2 * 10));
  CHECK(cost.rx[kProtocol] == Approx(packets * 5));
  CHECK(cost.tx[kInterrupt] == Approx(packets / 2 / 4 * 40));
  CHECK(cost.rx[kInterrupt] == Approx(packets / 4 * 40));
  CHECK(cost.rx[kWakeup] == Approx(calls * 100));
  CHECK(cost.total() == Approx(cost.tx.total() + cost.rx.total()));
  CHECK(cost.both().total() == Approx(cost.total()));
}

TEST_CASE("one octet more than a segment, a call or a descriptor costs no second one") {
  for (const auto& name : preset_names()) {
    const auto p = preset_parameters(name.c_str());
    for (const auto mode : {Mode::kSockets, Mode::kToe}) {
      for (const double size : {p.mss, p.gro, p.call, p.toe_call}) {
        INFO(name, ", size ", size);
        const auto cost = message_cost(mode, p, {.size = size}).total();
        const auto next = message_cost(mode, p, {.size = size + 1}).total();
        CHECK(next > cost);
        CHECK(next <= cost * (1 + 1 / size) + 1e-6);
      }
      // A message shorter than a segment has a segment to itself.
      CHECK(message_cost(mode, p, {.size = 1}).both()[kProtocol] ==
            Approx(message_cost(mode, p, {.size = 2}).both()[kProtocol]).epsilon(1e-3));
    }
  }
}

TEST_CASE("every segment costs something, and a large one costs more") {
  auto p = only(
      {.segment_tx = 500, .segment_rx = 500, .small_segment_tx = 100, .small_segment_rx = 100});
  const auto cost = [&p](double size) { return message_cost(Mode::kSockets, p, {.size = size}); };
  CHECK(cost(65536).total() == Approx(2 * (65536.0 / 1448 * 100 + 400)));
  p.gso = p.gro = 65536;
  CHECK(cost(65536).total() == Approx(2 * 500));
  CHECK(cost(64).total() == Approx(2 * (100 + 64.0 / 65536 * 400)));
  const auto one = latency_ns(Mode::kSockets, p, {.size = 1});
  p.small_segment_tx = p.small_segment_rx = 0;
  CHECK(one - latency_ns(Mode::kSockets, p, {.size = 1}) == Approx(200).epsilon(1e-3));
}

TEST_CASE("a polling receiver pays for no wake-up") {
  const auto p = only({.wakeup = 100});
  CHECK(message_cost(Mode::kSockets, p, {.size = 10, .sleeps = 0}).total() == 0);
  CHECK(message_cost(Mode::kSockets, p, {.size = 10, .sleeps = 0.5}).total() == 50);
}

TEST_CASE("software iWARP costs as much as sockets with its longer stream, plus its own work") {
  auto p = only({.segment_tx = 3});
  Workload w{.size = 100'000, .crc = false, .software_copies = 0};
  const auto wire = wire_of(Mode::kSoftware, p, w);
  auto longer = w;
  longer.size = wire.octets;
  CHECK(message_cost(Mode::kSoftware, p, w).total() ==
        Approx(message_cost(Mode::kSockets, p, longer).total()));

  p = only({.fpdu = 100});
  CHECK(message_cost(Mode::kSoftware, p, w).total() == Approx(2 * wire.fpdus * 100));
  p = only({.syscall_tx = 1000});
  CHECK(message_cost(Mode::kSoftware, p, w).total() == 1000);
  w.batch = 4;
  CHECK(message_cost(Mode::kSoftware, p, w).total() == 500);
}

TEST_CASE("the sender copies and computes the CRC in one pass, the receiver in two") {
  auto p = only({.copy_llc = 0.25, .copy_crc = 0.3, .crc = 0.1});
  Workload w{.size = 100'000};
  const auto wire = wire_of(Mode::kSoftware, p, w);
  const auto headers = wire.octets - w.size - 4 * wire.fpdus;
  auto cost = message_cost(Mode::kSoftware, p, w);
  CHECK(cost.tx[kCopy] == Approx(25'000));
  CHECK(cost.tx[kChecksum] == Approx(5000 + 0.1 * headers));
  CHECK(cost.rx[kCopy] == Approx(25'000));
  CHECK(cost.rx[kChecksum] == Approx(10'000 + 0.1 * headers));
  w = {.size = 100'000, .crc = false, .fpdu = 8192, .software_copies = 0};
  p.iovec = 10;
  cost = message_cost(Mode::kSoftware, p, w);
  CHECK(cost.tx.total() == Approx(2 * 13 * 10));
  CHECK(cost.rx[kCopy] == Approx(13 * 12 * 0.25));
}

TEST_CASE("markers cost their own processing, their octets, and a copy of the payload") {
  const auto p = only({.copy_llc = 0.5, .marker = 5});
  const Workload w{.size = 100'000, .crc = false, .markers = true};
  const auto wire = wire_of(Mode::kSoftware, p, w);
  CHECK(wire.markers > 0);
  const auto cost = message_cost(Mode::kSoftware, p, w);
  CHECK(cost.tx.total() == Approx(wire.markers * 5 + 50'000));
  CHECK(cost.rx.total() == Approx(wire.markers * 5 + 50'000));
}

TEST_CASE("aligned FPDUs of 1448 octets use 92.8 % of the link, with 78 octets of framing") {
  const auto p = free_of_cost();
  const Workload one{.size = 1428};
  const auto wire = wire_of(Mode::kSoftware, p, one);
  CHECK(wire.fpdus == 1);
  CHECK(wire.octets == 1448);
  CHECK(wire.packets == 1);
  CHECK(wire.efficiency == Approx(1428.0 / 1538));
  const Workload next{.size = 1429};
  CHECK(wire_of(Mode::kSoftware, p, next).fpdus == 2);
}

TEST_CASE("an FPDU is a multiple of four octets, with its CRC") {
  const auto p = free_of_cost();
  for (double size = 1; size < 10; ++size) {
    const auto wire = wire_of(Mode::kSoftware, p, {.size = size});
    CHECK(wire.octets == 20 + (static_cast<int>(size) + 3) / 4 * 4);
  }
}

TEST_CASE("a TOE saves the costs of packets, ACKs and checksums, but not of calls and copies") {
  auto p = free_of_cost();
  const Workload w{.size = 65536};
  p.segment_tx = p.segment_rx = p.packet_tx = p.packet_rx = p.ack = p.checksum = 100;
  CHECK(message_cost(Mode::kToe, p, w).total() == 0);
  p.copy_rx = 1;
  p.syscall_tx = 3;
  p.toe_descriptor = 4;
  p.toe_completion = 1;
  const auto cost = message_cost(Mode::kToe, p, w);
  CHECK(cost.rx[kCopy] == 65536);
  CHECK(cost.tx[kSyscall] == 3);
  CHECK(cost.tx[kProtocol] == 4 * 5);
  CHECK(message_cost(Mode::kToe, p, {.size = 65536, .toe_copies = 0}).rx[kCopy] == 0);
}

TEST_CASE("a TOE without copies pays for pinning pages") {
  const auto p = only({.pin_page = 2});
  CHECK(message_cost(Mode::kToe, p, {.size = 65536, .toe_copies = 0}).total() == 2 * 16 * 2);
  CHECK(message_cost(Mode::kToe, p, {.size = 65536}).total() == 0);
}

TEST_CASE("an RNIC costs requests and completions, whatever the message size") {
  const auto p = only({.post = 1, .doorbell = 8, .doorbell_batch = 4, .completion = 3});
  for (const double size : {1.0, 4096.0, 1e6}) {
    // There are three requests: one at each end, and one that advertises the buffer.
    CHECK(message_cost(Mode::kRnic, p, {.size = size}).total() == 3 * 6);
    CHECK(message_cost(Mode::kRnic, p, {.size = size, .advertise = 10}).total() ==
          Approx(2 * 6 + 0.6));
    const auto silent = message_cost(Mode::kRnic, p, {.size = size, .verb = Verb::kWrite});
    CHECK(silent.tx.total() == 6);
    CHECK(silent.rx.total() == 6);  // The receiver posts only the advertisement.
  }
}

TEST_CASE("unsignalled requests save completions, moderation saves interrupts, inlining copies") {
  const auto p = only({.copy_llc = 0.5, .interrupt = 10, .wakeup = 20, .post = 1, .completion = 3});
  const auto of = [&](const Workload& w) { return message_cost(Mode::kRnic, p, w); };
  CHECK(of({.verb = Verb::kWrite}).tx.total() == 4);
  CHECK(of({.signalled = 0.25, .verb = Verb::kWrite}).tx.total() == 1.75);
  CHECK(of({.size = 64, .inlined = true, .verb = Verb::kWrite}).tx.total() == 4 + 32);
  CHECK(of({.events = true}).rx[kInterrupt] + of({.events = true}).rx[kWakeup] == 30);
  CHECK(of({.events = true, .verb = Verb::kWrite}).tx.total() == 4 + 30);
  CHECK(of({.events = true, .verb = Verb::kWrite}).rx[kWakeup] == 0);
  const auto moderated = of({.events = true, .moderation = 16});
  CHECK(moderated.rx[kInterrupt] + moderated.rx[kWakeup] == Approx(30.0 / 16));
}

TEST_CASE("the cost of a registration is divided by its reuses, or replaced by a cache look-up") {
  const auto p = only({.register_fixed = 1000,
                       .register_page = 10,
                       .deregister_fixed = 500,
                       .deregister_page = 2,
                       .cache_lookup = 7});
  CHECK(registration_ns(p, 1) == 1512);
  CHECK(registration_ns(p, 4097) == 1524);
  CHECK(message_cost(Mode::kRnic, p, {.size = 1}).total() == 2 * 1512);
  CHECK(message_cost(Mode::kRnic, p, {.size = 1, .reuse = 8}).total() == Approx(2 * 189));
  CHECK(message_cost(Mode::kRnic, p, {.size = 1, .hit_rate = 1}).total() == 2 * 7);
}

TEST_CASE("an option of kernel sockets replaces a copy by other work, and changes nothing else") {
  auto p = free_of_cost();
  const Workload w{.size = 32768};
  const auto cost = [&](Mode mode) { return message_cost(mode, p, w); };
  const auto both = [&](Mode mode) {
    return std::array{cost(mode).tx.total(), cost(mode).rx.total()};
  };
  p.copy_tx = 2;
  p.copy_rx = 3;
  CHECK(both(Mode::kSockets) == std::array{2 * w.size, 3 * w.size});
  CHECK(cost(Mode::kTls).tx.total() == Approx(2 * w.size).epsilon(0.01));
  CHECK(cost(Mode::kTls).rx.total() == 0);
  CHECK(both(Mode::kZeroCopySend) == std::array{0.0, 3 * w.size});
  CHECK(both(Mode::kZeroCopyReceive) == std::array{2 * w.size, 0.0});
  p.copy_tx = p.copy_rx = 0;
  p.cipher = 1;
  p.tls_record = 100;
  CHECK(cost(Mode::kTls).tx[kProtocol] == Approx(2 * 100).epsilon(0.01));
  const auto wire = wire_of(Mode::kTls, p, w).octets;
  CHECK(wire == w.size + 2 * 22);  // RFC 8446: each record has 22 octets around its payload
  CHECK(cost(Mode::kTls).rx[kCipher] == wire);
  p.pin_page = 5;
  p.zerocopy_notify = 7;
  p.syscall_tx = 11;
  CHECK(both(Mode::kZeroCopySend) == std::array{8.0 * 5 + 7 + 2 * 11, 0.0});
  p.completion = 13;
  p.iovec = 17;
  CHECK(both(Mode::kZeroCopyReceive)[1] == Approx(32768.0 / 1448 * (13 + 17)));
  CHECK(both(Mode::kSockets) == std::array{11.0, 0.0});
}

TEST_CASE("the remainder of a transfer costs as much as a message of its size") {
  const auto p = preset_parameters("2007");
  const Workload w{.size = 4096};
  for (const auto mode : kModes) {
    const auto whole = message_cost(mode, p, w);
    const auto part = message_cost(mode, p, {.size = 100});
    CHECK(transfer_cost(mode, p, w, 100).total() == Approx(part.total()));
    CHECK(transfer_cost(mode, p, w, 4096).total() == Approx(whole.total()));
    const auto both = transfer_cost(mode, p, w, 3 * 4096 + 100);
    CHECK(both.tx.total() == Approx(3 * whole.tx.total() + part.tx.total()));
    CHECK(both.rx.total() == Approx(3 * whole.rx.total() + part.rx.total()));
  }
}

TEST_CASE("1 GHz per Gb/s is one cycle per bit") {
  const auto p = only({.clock = 2});
  CHECK(ghz_per_gbps(p, 4000, 1000) == Approx(1));
}

TEST_CASE("the presets give the figures for which they were chosen, at 64 KiB") {
  struct Expected {
    const char* name;
    double rx, tx, toe, rnic;
  };
  // GHz per Gb/s of receiver (rx) and sender (tx), and the share of the host's work that remains
  // with TOE and with RNIC.
  for (const auto& e :
       {Expected{"2003", 1.23, 0.86, 0.42, 0.05}, Expected{"2007", 0.62, 0.21, 0.50, 0.05},
        Expected{"100g", 0.076, 0.040, 0.73, 0.07}}) {
    CAPTURE(e.name);
    const auto p = preset_parameters(e.name);
    const Workload w{.size = 65536, .advertise = 1e9, .hit_rate = 1};
    const auto a = message_cost(Mode::kSockets, p, w);
    CHECK(ghz_per_gbps(p, a.rx.total(), w.size) == Approx(e.rx).epsilon(0.15));
    CHECK(ghz_per_gbps(p, a.tx.total(), w.size) == Approx(e.tx).epsilon(0.15));
    CHECK(message_cost(Mode::kToe, p, w).total() / a.total() == Approx(e.toe).epsilon(0.15));
    CHECK(message_cost(Mode::kRnic, p, w).total() / a.total() < e.rnic);
  }
}

TEST_CASE("the share of copying grows with the size, and reaches 80 % nowhere") {
  for (const auto& name : preset_names()) {
    const auto p = preset_parameters(name.c_str());
    const auto share = [&p](double size) {
      return copy_share(message_cost(Mode::kSockets, p, {.size = size}));
    };
    CHECK(share(64) < 0.05);
    CHECK(share(64) < share(4096));
    CHECK(share(4096) < share(65536));
    for (double size = 1; size < 1e9; size *= 2) CHECK(share(size) < 0.8);
  }
}
