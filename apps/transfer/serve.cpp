// SPDX-License-Identifier: Apache-2.0
// iwarp serve: offers the files of one directory. Clients cannot name files outside of this
// directory. An uploaded file appears only when it is complete, verified and on disk. The failure
// of one client does not affect other clients.
#include <fmt/format.h>

#include "commands.hpp"
#include "common/base/units.hpp"
#include "common/base/url.hpp"
#include "common/serving/metrics.hpp"
#include "common/serving/server.hpp"
#include "transfer/file_store.hpp"
#include "transfer/message_stream.hpp"
#include "transfer/server_side.hpp"

namespace iwarp::apps {

namespace {

struct ServeOptions {
  CommonOptions common;
  std::string directory;
  std::string listen = "127.0.0.1:7480";
  unsigned max_clients = 32;
  unsigned timeout_s = 60;
  bool read_only = false;
  LogOptions log;
};

class FileServer {
 public:
  explicit FileServer(const ServeOptions& options)
      : options_(options), directory_(open_directory(options.directory)) {
    if (!options.read_only) remove_stale_files(directory_);
  }

  void handle(net::Rnic& rnic, net::ConnectRequest& request, ClientSlot& slot) {
    Session session(rnic);
    MessageStream messages(session, std::chrono::seconds(options_.timeout_s));
    BufferRing ring;
    session.accept(request, &slot);
    const auto start = std::chrono::steady_clock::now();
    try {
      const auto done = serve_request(messages, ring);
      const auto peer = net::to_string(request.peer());
      const auto time = format_duration(std::chrono::steady_clock::now() - start);
      log_info("served", fmt::format("{}: {} in {}", peer, done, time),
               {{"peer", peer}, {"what", done}, {"took", time}});
      session.await_close();
    } catch (const PeerGone&) {
      throw;
    } catch (const Interrupted&) {
      refuse(messages, "the server is shutting down");
      throw;
    } catch (const Error& error) {
      refuse(messages, error.what());
      throw;
    }
  }

 private:
  static void refuse(MessageStream& messages, const std::string& reason) {
    messages.send(Refusal{reason});
    messages.session().disconnect();
  }

  /// Serves one request. Returns a text for the log that describes the request.
  std::string serve_request(MessageStream& messages, BufferRing& ring) {
    const auto event = messages.next();
    if (const auto* message = std::get_if<Message>(&event)) {
      if (const auto* get = std::get_if<GetRequest>(message))
        return serve_get(messages, ring, *get);
      if (const auto* put = std::get_if<PutRequest>(message))
        return serve_put(messages, ring, *put);
    }
    refuse_message(event);
  }

  std::string serve_get(MessageStream& messages, BufferRing& ring, const GetRequest& request) {
    const auto file = open_in(directory_, request.name);
    messages.send(Ready{file.size});
    const auto what = "get " + printable(request.name);
    naming(what, [&] { send_file(messages, ring, file); });
    return fmt::format("{}, {}", what, format_octets(static_cast<double>(file.size)));
  }

  std::string serve_put(MessageStream& messages, BufferRing& ring, const PutRequest& request) {
    if (options_.read_only) throw Error("this server is read-only");
    if (!is_plain_name(request.name)) {
      throw Error(printable(request.name) + ": not a valid file name");
    }
    check_replaceable(directory_, request.name);
    NewFile file(directory_, request.size);
    messages.send(Ready{request.size});
    const auto what = "put " + printable(request.name);
    naming(what, [&] {
      const auto digest = receive_file(messages, ring, request.size, file);
      file.commit(request.name);
      messages.send(Done{digest});
    });
    return fmt::format("{}, {}", what, format_octets(static_cast<double>(request.size)));
  }

  /// Calls `work`. If `work` throws, adds `what` to the error text; `what` names the file or
  /// another subject.
  template <typename Work>
  static void naming(const std::string& what, Work work) {
    try {
      work();
    } catch (const Interrupted&) {
      throw;
    } catch (const PeerGone& gone) {
      throw PeerGone(what + ": " + gone.what());
    } catch (const Error& error) {
      throw Error(what + ": " + error.what());
    }
  }

  const ServeOptions& options_;
  const Fd directory_;
};

int run_serve(const ServeOptions& options) {
  const ServerOptions server{.listen = address_argument(options.listen, kFilePort),
                             .max_clients = options.max_clients,
                             .metrics = options.common.metrics,
                             .log = options.log};
  FileServer files(options);
  run_server("serve", server, options.common,
             [&](net::Rnic& rnic, net::ConnectRequest& request, ClientSlot& slot) {
               files.handle(rnic, request, slot);
             });
  return 0;
}

}  // namespace

cli::Command serve_command() {
  auto options = std::make_shared<ServeOptions>();
  cli::Command command("serve", "Serve the files of a directory to iwarp get and iwarp put");
  command.argument("DIR", options->directory, "The directory to serve")
      .required()
      .completes(cli::Completion::kDirectory);
  command.text("--listen", "ADDR:PORT", options->listen, "Address to listen on");
  command.flag("--read-only", options->read_only, "Reject the files of iwarp put");
  command.number("--max-clients", "N", options->max_clients, {1, 1024},
                 "Maximum number of clients, each with 8 MiB of buffers; a further client evicts "
                 "an idle client or, if no client is idle, is rejected");
  command.number("--timeout", "SECONDS", options->timeout_s, {1, 3600},
                 "How long a client may be silent before it is disconnected");
  add_option(command, "IWARP_METRICS", options->common);
  add_log_options(command, options->log);
  add_common_options(command, options->common);
  add_tls_options(command, options->common);
  command.notes =
      "The server has neither users nor passwords: any client that reaches the port can read\n"
      "the files of DIR and, without --read-only, replace them. Therefore the default\n"
      "address is reachable only from this machine. With --tls-ca or --tls-psk, clients\n"
      "need a certificate or a key. Files in sub-directories, hidden files and symbolic\n"
      "links are not served.";
  command.shown = {
      "iwarp serve /srv/images --read-only --listen :7480    listen on all addresses",
      "iwarp serve . --listen [::1]:0                        choose a free port and print it"};
  command.run = [options](const cli::Given&) { return run_serve(*options); };
  return command;
}

}  // namespace iwarp::apps
