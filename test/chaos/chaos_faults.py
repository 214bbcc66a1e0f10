# SPDX-License-Identifier: Apache-2.0
"""Faults that the random plans must find. Each fault is a wrong statement in a copy of the sources, which a switch
turns on (see ../conform/faults/make_sources.py). At least one of the rules that are listed with the fault must
be broken. A fault that ../conform/faults/faults.py already defines is given only by name."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    id: str
    rules: tuple  # beginnings of the texts of rules; at least one of these rules must be broken
    file: str = ""  # empty if the fault is in ../conform/faults/faults.py
    old: str = ""
    new: str = ""
    seeds: int = 3000  # number of seeds within which the plans must find the fault


SEND_QUEUE, ACKNOWLEDGED = "verbs/src/queue_pair/send_queue.cpp", "verbs/src/queue_pair/acknowledged_sends.cpp"
INBOUND, DATA = "verbs/src/queue_pair/inbound_side.cpp", "verbs/src/connection/connection_data.cpp"
MEMORY, QUEUE_PAIR = "verbs/src/connection/connection_memory.cpp", "verbs/src/queue_pair/queue_pair.cpp"
STREAM = "rdmap/src/stream.cpp"

MISPLACED = "memory of a target is not what was written"
DISTURBED = ("a connection ended", "a request failed", "a receive failed")

FAULTS = (
    # Completions
    Fault("completion-lost", ("a completion was lost", "a request never completed"), SEND_QUEUE,
          "  if (!failed && !qp_.init.signal_all && !has(slot.flags, SendFlags::kSignaled)) return;",
          '  if (IWARP_BROKEN("completion-lost") && sequence % 8 == 3) return;\n'
          "  if (!failed && !qp_.init.signal_all && !has(slot.flags, SendFlags::kSignaled)) return;"),
    Fault("completion-doubled", ("a request completed twice",), SEND_QUEUE,
          "  qp_.push(*qp_.init.send_cq, wc, failed,",
          '  if (IWARP_BROKEN("completion-doubled") && sequence % 8 == 3)\n'
          "    qp_.push(*qp_.init.send_cq, wc, failed, {});\n"
          "  qp_.push(*qp_.init.send_cq, wc, failed,"),
    Fault("completion-out-of-order", ("a completion was lost", "a request completed twice"),
          SEND_QUEUE, "  WorkCompletion wc{.wr_id = slot.wr_id,",
          '  WorkCompletion wc{.wr_id = slot.wr_id ^ (IWARP_BROKEN("completion-out-of-order") &&\n'
          "                                           ring_.posted.load() > sequence + 2),"),
    Fault("success-behind-flushes", ("success behind a failure", "a request succeeded that could not"),
          SEND_QUEUE,
          "    if (unfinished && slot.status == WcStatus::kSuccess) slot.status",
          '    if (IWARP_BROKEN("success-behind-flushes") && s % 2 == 1) unfinished = false;\n'
          "    if (unfinished && slot.status == WcStatus::kSuccess) slot.status"),
    Fault("second-error", ("a second error of one stream",), SEND_QUEUE,
          "failed != ring_.retired.load()) {",
          'failed != ring_.retired.load() && !IWARP_BROKEN("second-error")) {', seeds=30_000),
    Fault("fence-ignored", (MISPLACED, "a Read or atomic brought"), SEND_QUEUE,
          "has(slot.flags, SendFlags::kFence) && reads_under_way_ != 0) return false;",
          "has(slot.flags, SendFlags::kFence) && reads_under_way_ != 0 &&\n"
          '      !IWARP_BROKEN("fence-ignored")) return false;'),
    Fault("acknowledged-when-sent", ("what the peer has acknowledged did not arrive", MISPLACED),
          ACKNOWLEDGED, "    if (cookie < acks_.acknowledged) retire();",
          '    if (IWARP_BROKEN("acknowledged-when-sent")) acks_.acknowledged = cookie + 1;\n'
          "    if (cookie < acks_.acknowledged) retire();"),
    Fault("receives-not-flushed", ("a receive never completed",), INBOUND,
          "while (take_receive()) flush_receive(",
          'while (!IWARP_BROKEN("receives-not-flushed") && take_receive()) flush_receive('),
    Fault("full-ring-after-reset", ("a request was refused",), QUEUE_PAIR,
          "  impl_->empty_ring();", '  if (!IWARP_BROKEN("full-ring-after-reset")) impl_->empty_ring();',
          seeds=30_000),

    # Contents of completions
    Fault("immediate-mixed-up", ("a receive says what was not sent",), INBOUND,
          ".immediate = send.immediate};",
          '.immediate = send.immediate ^ (IWARP_BROKEN("immediate-mixed-up") ? 1ULL << 40 : 0)};'),
    Fault("length-mixed-up", ("a receive says what was not sent",), INBOUND,
          ".byte_len = send.length,",
          '.byte_len = send.length + (IWARP_BROKEN("length-mixed-up") && send.length > 100),'),
    Fault("invalidate-ignored", ("a receive says what was not sent",)),

    # Memory
    Fault("payload-not-placed", (MISPLACED, "a Read or atomic brought", "a receive holds"), DATA,
          "  if (pieces.size() == 1 && target.size() == 1) {",
          '  if (IWARP_BROKEN("payload-not-placed") && bytes::total_size(target) % 16 == 5) return;\n'
          "  if (pieces.size() == 1 && target.size() == 1) {"),
    Fault("response-to-another-place", DISTURBED + ("a Read or atomic brought", "a buffer changed")),
    Fault("atomic-twice", (MISPLACED, "a Read or atomic brought", "a word is not"), INBOUND,
          "    next = rdmap::apply(request, original);",
          "    const auto once = rdmap::apply(request, original);\n"
          '    next = IWARP_BROKEN("atomic-twice") ? rdmap::apply(request, once) : once;'),
    Fault("deregistered-octets-sent", (MISPLACED, "a receive holds", "a Read or atomic brought"),
          MEMORY, "  if (!f.framer.detach(memory)) memory_gone(bytes::touching.address);",
          '  if (!IWARP_BROKEN("deregistered-octets-sent") && !f.framer.detach(memory)) {\n'
          "    memory_gone(bytes::touching.address);\n  }", seeds=30_000),
    Fault("stag-key-unchecked", (MISPLACED, "a request succeeded that could not",
                                 "a request took effect", "a buffer changed", "a word is not")),

    # The stream
    Fault("crc-unchecked", (MISPLACED, "damage went unnoticed", "a receive", "a Read or atomic",
                            "a message arrived")),
    Fault("markers-flag-echoed", DISTURBED + ("a request never completed",)),
    Fault("msn-from-zero", DISTURBED),
    Fault("ird-smaller-than-agreed", DISTURBED),
)
