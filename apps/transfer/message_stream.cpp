// SPDX-License-Identifier: Apache-2.0
// Sends and receives messages over a Session. Once a received message has been decoded, its receive
// is posted again.
#include "transfer/message_stream.hpp"

namespace iwarp::apps {

MessageStream::MessageStream(Session& session, Timeout time_limit)
    : session_(session),
      time_limit_(time_limit),
      buffer_(session, kReceives * kMaxMessage, verbs::Access::kLocalWrite) {
  for (std::size_t i = 0; i < kReceives; ++i) {
    session_.post_recv(kReceiveId + i, slot(i), buffer_.stag());
  }
}

void MessageStream::send(const Message& message) { session_.send_inline(encode(message).view()); }

void MessageStream::send_invalidate(const Message& message, verbs::Stag stag, std::uint64_t wr_id) {
  auto octets = encode(message);
  const verbs::Sge sge{octets.octets.data(), static_cast<std::uint32_t>(octets.size),
                       verbs::Stag{}};
  session_.post_send({.wr_id = wr_id,
                      .opcode = verbs::WrOpcode::kSendInvalidate,
                      .flags = verbs::SendFlags::kInline | verbs::SendFlags::kSignaled,
                      .sgl = {&sge, 1},
                      .invalidate = stag});
}

StreamEvent MessageStream::next() {
  const auto wc = session_.wait(time_limit_);
  if (wc.opcode == verbs::WcOpcode::kRecvImmediate) {
    throw Error("file protocol: the peer sent Immediate Data");
  }
  if (wc.opcode != verbs::WcOpcode::kRecv) return wc;
  const auto index = static_cast<std::size_t>(wc.wr_id - kReceiveId);
  auto message = decode_message(slot(index).first(wc.byte_len));
  if (!message) throw Error(message.error());
  session_.post_recv(wc.wr_id, slot(index), buffer_.stag());
  return std::move(*message);
}

void refuse_message(const StreamEvent& event) {
  if (const auto* message = std::get_if<Message>(&event)) {
    if (const auto* refusal = std::get_if<Refusal>(message)) {
      throw Error("the peer reports: " + printable(refusal->reason));
    }
  }
  throw Error("file protocol: the peer sent an unexpected message");
}

}  // namespace iwarp::apps
