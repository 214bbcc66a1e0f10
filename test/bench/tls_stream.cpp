// SPDX-License-Identifier: Apache-2.0
// Measures the throughput of OpenSSL over a TCP socket without this stack. One process writes
// messages over TLS 1.3 and another process reads them, with the cipher and the kind of key that
// `iwarp perf --tls-psk` uses. This is a benchmark, not a test: test/bench/run compares this
// program with `iwarp perf`.
//
//   bench_tls_stream SIZE SECONDS       prints {"bytes_per_second": N}, counted by the receiver
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

SSL_SESSION* shared_key(SSL* ssl) {
  constexpr std::array<unsigned char, 2> kSuite{0x13, 0x01};
  constexpr std::array<unsigned char, 32> kKey{1, 2, 3};
  SSL_SESSION* out = SSL_SESSION_new();
  SSL_SESSION_set1_master_key(out, kKey.data(), kKey.size());
  SSL_SESSION_set_cipher(out, SSL_CIPHER_find(ssl, kSuite.data()));
  SSL_SESSION_set_protocol_version(out, TLS1_3_VERSION);
  return out;
}

int use_key(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
            SSL_SESSION** session) {
  static constexpr std::array<unsigned char, 3> kName{'l', 'a', 'b'};
  *identity = kName.data();
  *size = kName.size();
  *session = shared_key(ssl);
  return 1;
}

int find_key(SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
  *session = shared_key(ssl);
  return 1;
}

SSL* make_ssl(int socket, const SSL_METHOD* method) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SSL_CTX* context = SSL_CTX_new(method);
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_psk_use_session_callback(context, use_key);
  SSL_CTX_set_psk_find_session_callback(context, find_key);
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, socket);
  return ssl;
}

int send_for(const sockaddr_in& to, std::size_t size, std::chrono::duration<double> time) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) die("connect");
  SSL* ssl = make_ssl(s, TLS_client_method());
  if (SSL_connect(ssl) != 1) die("SSL_connect");
  const std::vector<char> message(size, 'a');
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (SSL_write(ssl, message.data(), static_cast<int>(size)) <= 0) die("SSL_write");
  }
  SSL_shutdown(ssl);
  close(s);
  return 0;
}

double receive_all(int listener, std::size_t size) {
  SSL* ssl = make_ssl(accept(listener, nullptr, nullptr), TLS_server_method());
  if (SSL_accept(ssl) != 1) die("SSL_accept");
  std::vector<char> buffer(size);
  double octets = 0;
  const auto begin = Clock::now();
  for (int n = 1; n > 0; octets += n > 0 ? n : 0) {
    n = SSL_read(ssl, buffer.data(), static_cast<int>(size));
  }
  return octets / std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bench_tls_stream SIZE SECONDS\n", stderr);
    return 2;
  }
  const auto size = static_cast<std::size_t>(std::atol(argv[1]));
  const std::chrono::duration<double> time(std::atof(argv[2]));
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{.sin_family = AF_INET,
                 .sin_port = 0,
                 .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                 .sin_zero = {}};
  socklen_t length = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) die("bind");
  if (listen(listener, 1) != 0) die("listen");
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length);
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) std::_Exit(send_for(at, size, time));
  std::printf("{\"bytes_per_second\": %.0f}\n", receive_all(listener, size));
  waitpid(child, nullptr, 0);
  return 0;
}
