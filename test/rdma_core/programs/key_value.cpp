// SPDX-License-Identifier: Apache-2.0
// A key-value server that serves TCP and RDMA on the same port number, and a client of both.
// `server PORT` ends when a client has requested the end over TCP and all clients have
// disconnected. `client ADDRESS PORT COUNT` connects by RDMA COUNT times. If the client has set a
// value over RDMA, it reads the value back over RDMA and over TCP. If it has set a value over TCP,
// it reads the value back over RDMA.
#include "key_value.hpp"

#include <sys/socket.h>

#include <memory>

namespace {

/// The keys and values. A request is "S", a key of 8 bytes and a value, or "G" and a key. "S" sets
/// the value of the key, and the answer is "OK". The answer to "G" is the value of the key.
class Store {
 public:
  std::string answer(std::string_view request) {
    require(request.size() >= 9, "a request");
    const std::string key{request.substr(1, 8)};
    if (request[0] == 'G') return values_[key];
    values_[key] = request.substr(9);
    return "OK";
  }

 private:
  std::map<std::string, std::string> values_;
};

// Over TCP, a length of four octets precedes each message.
void send_by_tcp(int fd, std::string_view message) {
  const auto length = htonl(static_cast<std::uint32_t>(message.size()));
  std::string out(reinterpret_cast<const char*>(&length), sizeof(length));
  out += message;
  require(send(fd, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size()),
          "send");
}

/// If the first message in `arrived` is complete, moves it to `out`. Returns whether it was
/// complete.
bool take_message(std::string& arrived, std::string& out) {
  std::uint32_t length = 0;
  if (arrived.size() < sizeof(length)) return false;
  std::memcpy(&length, arrived.data(), sizeof(length));
  length = ntohl(length);
  if (arrived.size() < sizeof(length) + length) return false;
  out = arrived.substr(sizeof(length), length);
  arrived.erase(0, sizeof(length) + length);
  return true;
}

/// A channel. The loop acknowledges each of its events, and passes it to `take`.
struct Events {
  Events(Loop& loop, std::function<void(rdma_cm_id*, rdma_cm_event_type)> take) {
    require(channel != nullptr, "rdma_create_event_channel");
    loop.watch(channel->fd, [this, take = std::move(take)] { drain(take); });
  }
  ~Events() { rdma_destroy_event_channel(channel); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void drain(const std::function<void(rdma_cm_id*, rdma_cm_event_type)>& take) const {
    rdma_cm_event* event = nullptr;
    while (rdma_get_cm_event(channel, &event) == 0) {
      rdma_cm_id* const id = event->id;
      const rdma_cm_event_type type = event->event;
      rdma_ack_cm_event(event);
      take(id, type);
    }
    require(errno == EAGAIN, "rdma_get_cm_event");
  }

  rdma_event_channel* channel = rdma_create_event_channel();
};

sockaddr_in to_address(const char* host, const char* port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  require(inet_pton(AF_INET, host, &out.sin_addr) == 1, "inet_pton");
  return out;
}

class Server {
 public:
  explicit Server(const char* port) {
    sockaddr_in own = to_address("0.0.0.0", port);
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    require(rdma_create_id(events_.channel, &listener_, nullptr, RDMA_PS_TCP) == 0,
            "rdma_create_id");
    require(rdma_bind_addr(listener_, address) == 0, "rdma_bind_addr");
    require(rdma_listen(listener_, 64) == 0, "rdma_listen");
    tcp_ = socket(AF_INET, SOCK_STREAM, 0);
    require(bind(tcp_, address, sizeof(own)) == 0 && listen(tcp_, 64) == 0, "bind, listen");
    loop_.watch(tcp_, [this] { accept_by_tcp(); });
  }

  void run() {
    loop_.run_until(ended_);
    rdma_destroy_id(listener_);
    close(tcp_);
    std::printf("server: %u connections\n", accepted_);
  }

 private:
  void take(rdma_cm_id* id, rdma_cm_event_type type) {
    switch (type) {
      case RDMA_CM_EVENT_CONNECT_REQUEST: {
        connections_[id] = std::make_unique<Connection>(
            loop_, id, [](Connection&) {},
            [this](Connection& from, std::string_view request) {
              from.say(store_.answer(request));
            });
        rdma_conn_param with{.responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7};
        require(rdma_accept(id, &with) == 0, "rdma_accept");
        ++accepted_;
        return;
      }
      case RDMA_CM_EVENT_ESTABLISHED:
        connections_.at(id)->established();
        return;
      case RDMA_CM_EVENT_DISCONNECTED:
        rdma_disconnect(id);
        connections_.erase(id);
        ended_ = asked_to_end_ && connections_.empty();
        return;
      default:
        require(type == RDMA_CM_EVENT_TIMEWAIT_EXIT, rdma_event_str(type));
    }
  }

  void accept_by_tcp() {
    const int fd = accept(tcp_, nullptr, nullptr);
    require(fd >= 0, "accept");
    loop_.watch(fd, [this, fd, arrived = std::make_shared<std::string>()] { read(fd, *arrived); });
  }

  void read(int fd, std::string& arrived) {
    std::array<char, 4096> some{};
    const ssize_t length = recv(fd, some.data(), some.size(), 0);
    if (length <= 0) {
      loop_.forget(fd);
      close(fd);
      return;
    }
    arrived.append(some.data(), static_cast<std::size_t>(length));
    for (std::string request; take_message(arrived, request);) {
      if (request != "QUIT") {
        send_by_tcp(fd, store_.answer(request));
      } else {
        asked_to_end_ = true;
        ended_ = connections_.empty();
      }
    }
  }

  Loop loop_;
  Events events_{loop_, [this](rdma_cm_id* id, rdma_cm_event_type type) { take(id, type); }};
  Store store_;
  rdma_cm_id* listener_ = nullptr;
  int tcp_ = -1;
  std::map<rdma_cm_id*, std::unique_ptr<Connection>> connections_;
  unsigned accepted_ = 0;
  bool asked_to_end_ = false;
  bool ended_ = false;
};

std::string noise(unsigned seed) {
  std::string out(1000 + seed % 5000, '\0');
  for (char& octet : out) octet = static_cast<char>((seed = seed * 1103515245U + 12345U) >> 16U);
  return out;
}

class Client {
 public:
  Client(const char* host, const char* port) : server_(to_address(host, port)) {
    tcp_ = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(tcp_, reinterpret_cast<sockaddr*>(&server_), sizeof(server_)) == 0, "connect");
  }

  void run(unsigned count) {
    for (unsigned n = 0; n < count; ++n) {
      value_ = noise(n);
      require(ask_by_tcp("Sfrom tcp" + value_) == "OK", "an answer by TCP");
      connect_by_rdma();
      ended_ = false;
      loop_.run_until(ended_);
      require(ask_by_tcp("Gfromrdma") == value_, "by TCP what was set by RDMA");
    }
    send_by_tcp(tcp_, "QUIT");
    close(tcp_);
    std::printf("client: %u connections, all values right\n", count);
  }

 private:
  void connect_by_rdma() {
    rdma_cm_id* id = nullptr;
    require(rdma_create_id(events_.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    require(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&server_), 2000) == 0,
            "rdma_resolve_addr");
  }

  void take(rdma_cm_id* id, rdma_cm_event_type type) {
    switch (type) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        require(rdma_resolve_route(id, 2000) == 0, "rdma_resolve_route");
        return;
      case RDMA_CM_EVENT_ROUTE_RESOLVED: {
        step_ = 0;
        connection_ = std::make_unique<Connection>(
            loop_, id, [this](Connection& to) { to.say("Sfromrdma" + value_); },
            [this](Connection& to, std::string_view answer) { received(to, answer); });
        rdma_conn_param with{
            .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
        require(rdma_connect(id, &with) == 0, "rdma_connect");
        return;
      }
      case RDMA_CM_EVENT_ESTABLISHED:
        connection_->established();
        return;
      case RDMA_CM_EVENT_DISCONNECTED:
        connection_.reset();
        ended_ = true;
        return;
      default:
        require(type == RDMA_CM_EVENT_TIMEWAIT_EXIT, rdma_event_str(type));
    }
  }

  void received(Connection& from, std::string_view answer) {
    switch (step_++) {
      case 0:
        require(answer == "OK", "an answer by RDMA");
        return from.say("Gfromrdma");
      case 1:
        require(answer == value_, "by RDMA what was set by RDMA");
        return from.say("Gfrom tcp");
      default:
        require(answer == value_, "by RDMA what was set by TCP");
        require(rdma_disconnect(from.id()) == 0, "rdma_disconnect");
    }
  }

  std::string ask_by_tcp(const std::string& request) const {
    send_by_tcp(tcp_, request);
    std::string arrived;
    std::string out;
    while (!take_message(arrived, out)) {
      std::array<char, 4096> some{};
      const ssize_t length = recv(tcp_, some.data(), some.size(), 0);
      require(length > 0, "recv");
      arrived.append(some.data(), static_cast<std::size_t>(length));
    }
    return out;
  }

  sockaddr_in server_;
  Loop loop_;
  Events events_{loop_, [this](rdma_cm_id* id, rdma_cm_event_type type) { take(id, type); }};
  int tcp_ = -1;
  std::unique_ptr<Connection> connection_;
  std::string value_;
  int step_ = 0;
  bool ended_ = false;
};

}  // namespace

int main(int count, char** words) {
  const std::string_view role = count > 1 ? words[1] : "";
  if (role == "server" && count == 3) {
    Server{words[2]}.run();
  } else if (role == "client" && count == 5) {
    Client{words[2], words[3]}.run(static_cast<unsigned>(std::atoi(words[4])));
  } else {
    std::fputs("usage: key_value server PORT | client ADDRESS PORT COUNT\n", stderr);
    return 2;
  }
}
