// SPDX-License-Identifier: Apache-2.0
// Who connects to whom, and which request belongs to which queue pair.
#include "oob.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "connection_options.hpp"
#include "errno_table.hpp"
#include "iwarp/bytes/cursor.hpp"
#include "limits.hpp"
#include "objects.hpp"
#include "port.hpp"
#include "refusal.hpp"
#include "settings.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr const char* kBringUp = "a queue pair brought up without rdma_cm";
constexpr std::array<std::byte, 8> kMark{std::byte{'i'}, std::byte{'w'}, std::byte{'a'},
                                         std::byte{'r'}, std::byte{'p'}, std::byte{'o'},
                                         std::byte{'o'}, std::byte{'b'}};

/// What the Request says in its private data.
struct Cookie {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

std::vector<std::byte> encode(const Cookie& cookie) {
  std::vector<std::byte> out(kMark.size() + 2 * sizeof(std::uint32_t));
  bytes::Writer writer(out);
  writer.put(kMark);
  writer.u32(cookie.from);
  writer.u32(cookie.to);
  return out;
}

std::optional<Cookie> decode(const std::vector<std::byte>& data) {
  if (data.size() != kMark.size() + 2 * sizeof(std::uint32_t)) return std::nullopt;
  if (!std::equal(kMark.begin(), kMark.end(), data.begin())) return std::nullopt;
  bytes::Reader reader(bytes::View(data).subspan(kMark.size()));
  Cookie out;
  out.from = reader.u32();
  out.to = reader.u32();
  return out;
}

std::uint16_t port_of(std::uint32_t number) { return static_cast<std::uint16_t>(number & 0xFFFF); }

/// Where the peer is, as an IPv6 address: by its GID, or by its LID in our own /16.
std::optional<ibv_gid> peer_address(const ibv_ah_attr& to, const Port& own) {
  if (to.is_global != 0) return address_of(to.grh.dgid);
  ibv_gid out = *address_of(own.gids.front());
  const std::uint16_t lid = htons(to.dlid);
  std::memcpy(out.raw + sizeof out.raw - sizeof lid, &lid, sizeof lid);
  return out;
}

std::optional<ibv_gid> own_address(const ibv_ah_attr& to, const Port& own) {
  const std::size_t index = to.is_global != 0 ? to.grh.sgid_index : 0;
  return index < own.gids.size() ? address_of(own.gids[index]) : std::nullopt;
}

int compare(const ibv_gid& a, const ibv_gid& b) { return std::memcmp(a.raw, b.raw, sizeof a.raw); }

bool is_on_this_host(const ibv_gid& address, const Port& own) {
  return std::any_of(own.gids.begin(), own.gids.end(), [&](const ibv_gid& gid) {
    const auto mine = address_of(gid);
    return mine && compare(*mine, address) == 0;
  });
}

std::string to_text(const ibv_gid& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto* raw = static_cast<const std::uint8_t*>(address.raw);
  const in6_addr v6 = [&] {
    in6_addr out{};
    std::memcpy(&out, raw, sizeof out);
    return out;
  }();
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    inet_ntop(AF_INET, raw + 12, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, &v6, text.data(), text.size());
  }
  return text.data();
}

void set_brought_up(Qp& qp, bool value) {
  const std::lock_guard lock(qp.mutex);
  qp.brought_up = value;
}

}  // namespace

// Numbers -----------------------------------------------------------------------------------------

std::uint32_t OutOfBand::take_number() {
  if (settings().out_of_band == OutOfBandPeers::kOff) return 0;
  const std::lock_guard lock(mutex_);
  auto door =
      std::find_if(doors_.begin(), doors_.end(), [](const Door& d) { return !d.taken.all(); });
  Door& free = door != doors_.end() ? *door : open_door();
  std::size_t index = 0;
  while (free.taken.test(index)) ++index;
  free.taken.set(index);
  return static_cast<std::uint32_t>(index) << 16 | free.port;
}

OutOfBand::Door& OutOfBand::open_door() {
  const bool everybody = settings().out_of_band == OutOfBandPeers::kOn;
  const net::Address at{.host = everybody ? "" : "127.0.0.1", .port = 0};
  auto socket = net::bind_tcp(at, port_range());
  if (!socket) throw std::system_error(socket.error());
  auto listener = core_.rnic().listen(std::move(*socket), listen_options(), core_.cm_channel());
  if (!listener) throw std::system_error(listener.error());
  Door& door = doors_.emplace_back();
  door.port = (*listener)->local().port;
  door.listener = std::move(*listener);
  return door;
}

void OutOfBand::release_number(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  for (Door& door : doors_) {
    if (door.port == port_of(number)) door.taken.reset(number >> 16);
  }
  awaited_.erase(number);
  std::erase_if(waiting_, [number](const Waiting& w) { return w.to == number; });
}

// Connecting --------------------------------------------------------------------------------------

int OutOfBand::ready(Qp& qp, const ibv_qp_attr& attr) {
  const auto mode = settings().out_of_band;
  if (mode == OutOfBandPeers::kOff) {
    return refused(kBringUp, "IWARP_OOB=off; the program may know rdma_cm (perftest: -R)");
  }
  const Port own = look_at_port();
  const auto peer = peer_address(attr.ah_attr, own);
  const auto mine = own_address(attr.ah_attr, own);
  const std::uint32_t number = qp.abi.qp_base.qp_num;
  if (!peer || !mine || attr.dest_qp_num == 0) return EINVAL;
  if (mode == OutOfBandPeers::kLoopback && !is_on_this_host(*peer, own)) {
    return refused(kBringUp,
                   "the peer is on another host. Use rdma_cm (perftest: -R), or say IWARP_OOB=on "
                   "on both sides when both run on this layer");
  }
  const bool same_host = compare(*peer, *mine) == 0;
  if (same_host && attr.dest_qp_num == number) {
    return refused("a queue pair connected to itself", "a TCP connection has two ends");
  }
  const bool connects =
      attr.dest_qp_num != number ? number < attr.dest_qp_num : compare(*mine, *peer) < 0;
  if (connects) return connect(qp, *peer, attr.dest_qp_num);
  std::unique_ptr<net::ConnectRequest> request;
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
      return w.to == number && w.from == attr.dest_qp_num;
    });
    if (it == waiting_.end()) {
      awaited_[number] = attr.dest_qp_num;
      return 0;
    }
    request = std::move(it->request);
    waiting_.erase(it);
  }
  accept(qp, *request);
  return 0;
}

int OutOfBand::connect(Qp& qp, const ibv_gid& address, std::uint32_t peer) {
  auto options = connect_options();
  options.private_data = encode({.from = qp.abi.qp_base.qp_num, .to = peer});
  const bool loopback = settings().out_of_band == OutOfBandPeers::kLoopback;
  const net::Address to{.host = loopback ? "127.0.0.1" : to_text(address), .port = port_of(peer)};
  set_brought_up(qp, true);
  const int code = to_errno(core_.rnic().connect(*qp.core, to, options, core_.cm_channel()));
  if (code != 0) set_brought_up(qp, false);
  return code;
}

void OutOfBand::accept(Qp& qp, net::ConnectRequest& request) {
  set_brought_up(qp, true);
  if (const auto error = request.accept(*qp.core, kMaxReads, kMaxReads)) {
    log_connection(fmt::format("{}: {}", to_string(request.peer()), error.message()));
    qp_disconnected(qp);
  }
}

// Dispatching -------------------------------------------------------------------------------------

bool OutOfBand::takes_request(net::CmEvent& event) {
  const auto cookie = decode(event.private_data);
  if (!cookie) return false;
  {
    const std::lock_guard lock(mutex_);
    const auto port = event.request->local().port;
    const bool ours = std::any_of(doors_.begin(), doors_.end(),
                                  [port](const Door& door) { return door.port == port; });
    if (!ours) return false;
    const auto it = awaited_.find(cookie->to);
    if (it == awaited_.end() || it->second != cookie->from) {
      // Its queue pair is not ready. The startup's time limit ends it if it never is.
      if (waiting_.size() == kMaxWaiting) waiting_.pop_front();
      waiting_.push_back({cookie->from, cookie->to, std::move(event.request)});
      return true;
    }
    awaited_.erase(it);
  }
  core_.with_qp(cookie->to, [&](Qp& qp) { accept(qp, *event.request); });
  return true;
}

void OutOfBand::happened(Qp& qp, const net::CmEvent& event) {
  if (event.type == net::CmEvent::Type::kEstablished) return qp_connected(qp);
  log_connection(event.why);
  qp_disconnected(qp);
}

}  // namespace iwarp::rdma_core
