# SPDX-License-Identifier: Apache-2.0
"""Faults of a device, each with the rows of the requirements that it violates. The judge (`iwarp conform --device`)
must find each fault by a case that names these rows. A fault is a wrong statement in a copy of the sources, which a
switch turns on (see ../conform/faults/make_sources.py). A fault of ../conform/faults/faults.py or
../chaos/chaos_faults.py is given only by name.

The comment "as rxe" or "as siw" marks a fault that the judge has found in the kernel's driver
(rfc-notes/devices.md)."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    id: str
    rows: tuple  # rows that cases must name; a failing case must name each of them
    only: str  # beginning of the ids of the cases that are run
    file: str = ""  # empty if the fault is in one of the other tables
    old: str = ""
    new: str = ""
    persona: str = "roce"


HERE = "verbs/rdma_core/"
QUERY, ATTRIBUTES, MR = HERE + "objects/query.cpp", HERE + "device/attributes.cpp", HERE + "objects/memory.cpp"
CQ, SRQ, AH = HERE + "objects/completion_queue.cpp", HERE + "objects/srq.cpp", HERE + "objects/address_handle.cpp"
WC, ERRNO = HERE + "objects/work_completion.cpp", HERE + "process/errno_table.cpp"
QP, STATES, STEPS = HERE + "qp/queue_pair.cpp", HERE + "qp/states.cpp", HERE + "qp/steps.cpp"
POST, REQUEST, BUILDERS = HERE + "qp/post.cpp", HERE + "qp/send_request.cpp", HERE + "qp/builders.cpp"
EVENT, ASYNC = HERE + "qp/qp_event.cpp", HERE + "qp/async.cpp"
CM_ID, CM_CONNECT, CM_EVENTS = HERE + "cm/id.cpp", HERE + "cm/connect.cpp", HERE + "cm/events.cpp"
CM_OUTCOME, CM_BIND, CM_QP = HERE + "cm/outcome.cpp", HERE + "cm/bind.cpp", HERE + "cm/qp.cpp"
CM_NUMBERS, CM_AS_IB = HERE + "cm/numbers.cpp", HERE + "cm/ib_attr.cpp"
MEMORY, SEND_QUEUE = "verbs/src/regions/memory.cpp", "verbs/src/queue_pair/send_queue.cpp"
CORE_CQ, RECEIVES = "verbs/src/queues/completion_queue.cpp", "verbs/src/queues/receive_queue.cpp"
INBOUND, ARRIVALS = "verbs/src/queue_pair/inbound_side.cpp", "verbs/src/datagrams/datagram_arrivals.cpp"
DATAGRAMS = "verbs/src/datagrams/datagram_queue_pair.cpp"

FAULTS = (
    # The device: what it reports, and what its queries refuse
    Fault("port-number-unchecked", ("IBV-82",), "device/port/unknown", QUERY,
          "  if (port != kPortNumber) return EINVAL;",
          "  if (port != kPortNumber && !BROKEN) return EINVAL;"),
    Fault("pkey-index-unchecked", ("IBV-110",), "device/pkey/wrong", QUERY,
          "index < 0 || index >= length) return", "index < 0 || (index >= length && !BROKEN)) return"),
    Fault("guid-of-another-device", ("IBV-10",), "device/list/", QUERY,
          "out = Device::of(of).port().guid;", "out = Device::of(of).port().guid + (BROKEN ? 1 : 0);"),
    Fault("max-srq-wr-too-high", ("IBV-44",), "srq/create/", QUERY,
          "  out.sys_image_guid = out.node_guid;",
          "  out.sys_image_guid = out.node_guid, out.max_srq_wr *= BROKEN ? 2 : 1;"),
    Fault("active-mtu-above-maximum", ("IBV-84",), "device/port/mtu", ATTRIBUTES,
          "  out.state = port.is_up() ?", "  if (BROKEN) out.max_mtu = IBV_MTU_256;\n  out.state = port.is_up() ?"),
    Fault("gid-type-missing", ("IBV-100",), "device/gid-entry/", QUERY,
          "out.gid_type = type_of(entry.type);", "out.gid_type = BROKEN ? IBV_GID_TYPE_IB : type_of(entry.type);"),

    # Memory
    Fault("pd-freed-while-in-use", ("IBV-118",), "pd/dealloc/", MR,
          "if (pd.users.load() != 0) return EBUSY;", "if (pd.users.load() != 0) return BROKEN ? 0 : EBUSY;"),
    Fault("remote-right-without-local", ("IBV-138",), "mr/rights/", MR,
          "if (!writes || (flags", "if (!writes || BROKEN || (flags"),
    Fault("region-right-unchecked", ("IBV-134",), "mr/use/read-denied", MEMORY,
          "if (!has(r.access, who.need)) return", "if (!has(r.access, who.need) && !BROKEN) return"),
    Fault("foreign-domain-admitted", ("IBV-126", "IBV-127"), "mr/key/foreign", MEMORY,
          "if (r.pd != who.pd) return let_go", "if (r.pd != who.pd && !BROKEN) return let_go"),
    Fault("bounds-off-by-one", ("IBV-151",), "mr/bounds/write-after"),
    Fault("stag-key-unchecked", ("IBV-320",), "mr/key/low-bit"),
    Fault("rereg-keeps-rights", ("IBV-164",), "mr/rereg/", MEMORY,
          "  region->access.store(access);", "  if (!BROKEN) region->access.store(access);"),
    Fault("region-gone-while-bound", ("IBV-148",), "mw/1/dereg", MEMORY,
          "    if (region->bound_windows != 0) return make_error_code(Errc::kBusy);\n    region->dying",
          "    if (region->bound_windows != 0 && !BROKEN) return make_error_code(Errc::kBusy);\n    region->dying"),
    Fault("bind-right-unchecked", ("IBV-136",), "mw/1/bind", MEMORY,
          "!has(region->access, Access::kBindWindow) ||", "(!has(region->access, Access::kBindWindow) && !BROKEN) ||"),
    Fault("window-of-any-queue-pair", ("IBV-201",), "mw/2/other", MEMORY,
          "window->qp = what.type_1 ? 0 : qp;", "window->qp = what.type_1 || BROKEN ? 0 : qp;"),

    # Completion queues
    Fault("queue-without-entries", ("IBV-235",), "cq/create/wrong", CQ,
          "if (cqe == 0 ||", "if ((cqe == 0 && !BROKEN) ||"),
    Fault("resize-keeps-cqe", ("IBV-238",), "cq/resize/larger", CQ,
          "    cq->cqe = static_cast<int>(capacity);", "    if (!BROKEN) cq->cqe = static_cast<int>(capacity);"),
    Fault("cq-destroyed-while-in-use", ("IBV-236",), "cq/destroy/", CQ,
          "if (self.users.load() != 0) return EBUSY;", "if (self.users.load() != 0) return BROKEN ? 0 : EBUSY;"),
    Fault("arm-narrows", ("IBV-229",), "channel/arm/not-", CORE_CQ,
          "if (armed_ != Armed::kNext) {", "if (armed_ != Armed::kNext || BROKEN) {"),
    Fault("event-of-unsolicited", ("IBV-226",), "channel/arm/solicited", CORE_CQ,
          "Armed::kNext || solicited_or_error);", "Armed::kNext || solicited_or_error || BROKEN);"),
    Fault("destroy-does-not-wait", ("IBV-217",), "channel/event/destroy", CQ,
          "cq.comp_events.load(),", "BROKEN ? 0 : cq.comp_events.load(),"),

    # Shared receive queues
    Fault("limit-event-repeated", ("IBV-357",), "srq/limit/event", RECEIVES,
          "compare_exchange_strong(expected, 0)", "compare_exchange_strong(expected, BROKEN ? limit : 0)"),
    Fault("limit-above-size", ("IBV-359",), "srq/limit/wrong", RECEIVES,
          "if (limit > limits_.max_wr) return", "if (limit > limits_.max_wr && !BROKEN) return"),
    Fault("too-many-sges", ("IBV-369",), "srq/post/sges", RECEIVES,  # as rxe
          "if (wr.sgl.size() > max_sge_) return", "if (wr.sgl.size() > max_sge_ && !BROKEN) return"),
    Fault("error-flushes-srq", ("IBV-377",), "srq/shared/error", INBOUND,
          "  if (qp_.init.srq != nullptr) return;", "  if (qp_.init.srq != nullptr && !BROKEN) return;"),
    Fault("srq-destroyed-while-in-use", ("IBV-350",), "srq/destroy/", SRQ,
          "if (self.users.load() != 0) return EBUSY;", "if (self.users.load() != 0) return BROKEN ? 0 : EBUSY;"),

    # Queue pairs: transitions, attributes, queries
    Fault("missing-attributes-accepted", ("IBV-428", "IBV-430", "IBV-433"), "qp/rc/", STEPS,
          "if (const int lacks = takes->required & ~mask)",
          "if (const int lacks = BROKEN ? 0 : takes->required & ~mask)"),
    Fault("other-attributes-accepted", ("IBV-436",), "qp/uc/", STEPS,
          "if (const int excess = mask &", "if (const int excess = BROKEN ? 0 : mask &"),
    Fault("steps-from-any-state", ("IBV-446",), "qp/ud/from-", STEPS,
          "step.from == from && step.to == to; });", "(step.from == from || BROKEN) && step.to == to; });"),
    Fault("values-unchecked", ("IBV-479", "IBV-465"), "qp/value/", STEPS,
          "if (range.least <= value && value <= most) continue;",
          "if ((range.least <= value && value <= most) || BROKEN) continue;"),
    Fault("cur-state-unchecked", ("IBV-450",), "qp/state/", STATES,
          "if (!is_in(from)) return", "if (!is_in(from) && !BROKEN) return"),
    Fault("path-mtu-forgotten", ("IBV-487",), "qp/query/path", STATES,
          "  take_over(mask, IBV_QP_PATH_MTU,", "  if (!BROKEN) take_over(mask, IBV_QP_PATH_MTU,"),
    Fault("state-field-stale", ("IBV-493",), "qp/query/updates", STATES,
          "if ((mask & IBV_QP_STATE) != 0) qp->state", "if ((mask & IBV_QP_STATE) != 0 && !BROKEN) qp->state"),
    Fault("signal-all-read-back-wrong", ("IBV-488",), "qp/create/fields", STATES,  # as siw
          ".sq_sig_all = self.signal_all ?", ".sq_sig_all = self.signal_all || BROKEN ?"),
    Fault("full-queue-errno", ("IBV-384",), "qp/post/send-queue", ERRNO,
          "    if (error == row.error) return row.code;",
          "    if (error == row.error) return BROKEN && row.code == ENOMEM ? EAGAIN : row.code;"),
    Fault("bad-wr-not-set", ("IBV-502",), "qp/post/list", POST,
          "  *bad_wr = wr;\n  explain_send", "  if (!BROKEN) *bad_wr = wr;\n  explain_send"),
    Fault("member-of-group-destroyed", ("IBV-495",), "qp/destroy/attached", QP,
          "self.is_attached()) return EBUSY;", "self.is_attached()) return BROKEN ? 0 : EBUSY;"),
    Fault("access-flags-fixed", ("IBV-475",), "qp/iwarp/access-flags", STATES,
          "  if (access) core->set_inbound(remote_access(attr.qp_access_flags));",
          "  if (access && !BROKEN) core->set_inbound(remote_access(attr.qp_access_flags));", persona="iwarp"),

    # Data
    Fault("protection-error-status", ("IBV-315",), "data/send/unknown", SEND_QUEUE,  # as rxe
          ": WcStatus::kLocalProtection);  // [VRB-28]",
          ": BROKEN ? WcStatus::kLocalQpOperation : WcStatus::kLocalProtection);  // [VRB-28]"),
    Fault("receives-not-flushed", ("IBV-305",), "data/error/flush-both"),
    Fault("success-behind-flushes", ("IBV-303",), "data/error/local"),
    Fault("completion-out-of-order", ("IBV-296",), "data/order/many"),
    Fault("full-ring-after-reset", ("IBV-453",), "data/reset/outstanding"),
    Fault("atomic-twice", ("IBV-516",), "data/fetch-add/plain"),
    Fault("failure-without-number", ("IBV-277",), "data/complete/", WC,
          "  to.qp_num = from.qp_num;",
          "  to.qp_num = BROKEN && from.status != verbs::WcStatus::kSuccess ? 0 : from.qp_num;"),
    Fault("signals-everything", ("IBV-293",), "data/complete/", SEND_QUEUE,
          "  if (!failed && !qp_.init.signal_all &&", "  if (!BROKEN && !failed && !qp_.init.signal_all &&"),
    Fault("read-without-length", ("IBV-281",), "data/read/plain", SEND_QUEUE,
          ".byte_len = slot.is_answered() ?", ".byte_len = slot.is_answered() && !BROKEN ?"),
    Fault("written-length-missing", ("IBV-280",), "data/write-imm/plain", WC,
          "return alone ? length_of_write", "return alone && !BROKEN ? length_of_write"),
    Fault("immediate-swapped", ("IBV-282",), "data/send-imm/plain", WC,
          "return with_immediate(wc) ? decode_immediate(wc.immediate).imm_data :",
          "if (BROKEN) return ntohl(decode_immediate(wc.immediate).imm_data);\n"
          "  return with_immediate(wc) ? decode_immediate(wc.immediate).imm_data :"),
    Fault("compare-operand", ("IBV-515",), "data/compare-swap/equal", REQUEST,
          "out.atomic.compare = operands.compare_add;",
          "out.atomic.compare = BROKEN ? operands.swap : operands.compare_add;"),
    Fault("short-atomic-accepted", ("IBV-518",), "qp/post/atomic", REQUEST,
          "if (word.length < kAtomicWord) {", "if (word.length < kAtomicWord && !BROKEN) {"),
    Fault("invalidation-unreported", ("IBV-284",), "data/window/", WC,
          "return wc.invalidated ?", "return wc.invalidated && !BROKEN ?"),
    Fault("solicited-not-sent", ("IBV-525",), "data/solicited/send", REQUEST,
          "if ((send_flags & IBV_SEND_SOLICITED) != 0)", "if ((send_flags & IBV_SEND_SOLICITED) != 0 && !BROKEN)"),
    Fault("inline-sent-late", ("IBV-526",), "inline/overwritten", REQUEST,
          "if ((send_flags & IBV_SEND_INLINE) != 0)", "if ((send_flags & IBV_SEND_INLINE) != 0 && !BROKEN)"),
    Fault("read-on-uc", ("IBV-504",), "qp/post/uc-", REQUEST,
          "  return type != IBV_QPT_UC ||", "  return type != IBV_QPT_UC || BROKEN ||"),
    Fault("builder-ignores-flags", ("IBV-570",), "data/wr/flags", BUILDERS,
          "    wr.send_flags = qp->wr_flags;",
          "    wr.send_flags = BROKEN ? unsigned{IBV_SEND_SIGNALED} : qp->wr_flags;"),

    # Asynchronous events
    Fault("overflow-unreported", ("IBV-605",), "event/cq-overflow", ASYNC,
          "  cq.async_events.push(cq.context,", "  if (!BROKEN) cq.async_events.push(cq.context,"),
    Fault("last-receive-unreported", ("IBV-376",), "event/last-receive", QP,  # as rxe and siw
          "  push_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);",
          "  if (!BROKEN) push_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);"),
    Fault("last-receive-reported-twice", ("IBV-376",), "event/last-receive", QP,
          "  qp.last_wqe_reported = true;",
          "  if (BROKEN) push_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);\n  qp.last_wqe_reported = true;"),
    Fault("access-error-unreported", ("IBV-328",), "event/access-read", EVENT,  # as rxe
          "  if (is_roce && by_peer) return {};", "  if (is_roce && (by_peer || BROKEN)) return {};"),
    Fault("event-at-the-initiator", ("IBV-601",), "event/access-write", EVENT,
          "  if (!event.terminate ||",
          "  if (BROKEN && by_peer) return IBV_EVENT_QP_ACCESS_ERR;\n  if (!event.terminate ||"),

    # Datagrams
    Fault("grh-flag-missing", ("IBV-286",), "ud/receive/fields", WC,
          ": IBV_WC_GRH;", ": BROKEN ? 0 : IBV_WC_GRH;"),
    Fault("q-key-unchecked", ("IBV-576",), "ud/qkey/wrong", ARRIVALS,
          "if (header.q_key != q_key()) return", "if (header.q_key != q_key() && !BROKEN) return"),
    Fault("own-q-key-not-sent", ("IBV-577",), "ud/qkey/own", DATAGRAMS,
          "const bool own_key = (", "const bool own_key = !BROKEN && ("),
    Fault("sender-unreported", ("IBV-285",), "ud/receive/fields", ARRIVALS,
          ".source_qp = header.source,", ".source_qp = BROKEN ? 0 : header.source,"),
    Fault("length-without-grh", ("IBV-579",), "ud/receive/empty", ARRIVALS,
          ".byte_len = static_cast<std::uint32_t>(size),",
          ".byte_len = static_cast<std::uint32_t>(size - (BROKEN ? kGrhSize : 0)),"),
    Fault("handle-of-unknown-port", ("IBV-334",), "ah/create/port", AH,
          "  if (attr.port_num != kPortNumber) {", "  if (attr.port_num != kPortNumber && !BROKEN) {"),

    # rdma_cm
    Fault("route-before-address", ("RCM-88",), "cm/resolve/route", CM_BIND,  # crashes librdmacm with rxe
          "if (!id.life.allows(IdEvent::kResolveRoute)) {",
          "if (!id.life.allows(IdEvent::kResolveRoute) && !BROKEN) {"),
    Fault("path-without-gid", ("RCM-90",), "cm/resolve/path", CM_AS_IB,
          "             .sgid = ends.sgid,", "             .sgid = BROKEN ? ibv_gid{} : ends.sgid,"),
    Fault("private-data-unlimited", ("RCM-165", "RCM-166", "RCM-167"), "cm/data/long", CM_ID,
          "|| size <= most) return 0;", "|| size <= most || BROKEN) return 0;"),
    Fault("private-data-cut", ("RCM-168",), "cm/data/", CM_CONNECT,
          "PrivateData{octets, octets + length}",
          "PrivateData{octets, octets + length - (BROKEN && length != 0 ? 1 : 0)}"),
    Fault("reads-above-limit", ("RCM-177",), "cm/depth/above-device", CM_CONNECT,
          "return number != RDMA_MAX_RESP_RES && number > most;",
          "return number != RDMA_MAX_RESP_RES && number > most && !BROKEN;"),
    Fault("depths-mixed-up", ("RCM-171",), "cm/depth/7-2", CM_NUMBERS,
          "  std::swap(out.numbers.responder_resources,", "  if (!BROKEN) std::swap(out.numbers.responder_resources,"),
    Fault("retry-counts-of-an-rnic", ("RCM-188",), "cm/retry/iwarp", CM_NUMBERS,
          "  if (!as_roce) return;", "  if (!as_roce && !BROKEN) return;", persona="iwarp"),
    Fault("reject-status", ("RCM-156",), "cm/reject/", CM_OUTCOME,
          "as_ib ? kConsumerDefined :", "as_ib ? kConsumerDefined * (BROKEN ? 0 : 1) :"),
    Fault("no-listener-unreachable", ("RCM-133",), "cm/connect/no-listener", CM_OUTCOME,
          "  const int status = -to_errno(event.error);",
          "  const int status = -to_errno(event.error);\n"
          "  if (BROKEN) return {RDMA_CM_EVENT_UNREACHABLE, status};"),
    Fault("established-twice", ("RCM-145",), "cm/connect/both", CM_EVENTS,
          "  queue_event(std::move(record));\n  net::insist([&] { verbs",
          "  if (BROKEN) queue_event(make_event(id, RDMA_CM_EVENT_ESTABLISHED));\n"
          "  queue_event(std::move(record));\n  net::insist([&] { verbs"),
    Fault("end-unreported", ("RCM-330",), "cm/disconnect/by-client", CM_EVENTS,  # as rxe
          "  if (established && is_accepted(qp)) return;", "  if (established ? is_accepted(qp) : BROKEN) return;"),
    Fault("id-freed-before-acknowledgement", ("RCM-34",), "cm/event/destroy", CM_ID,
          "return static_cast<int>(id.outstanding); });", "return BROKEN ? 0 : static_cast<int>(id.outstanding); });"),
    Fault("accepted-without-queue-pair", ("RCM-147",), "cm/accept/refused", CM_CONNECT,  # as rxe
          "  if (num != 0) return refused(EINVAL, \"another id",
          "  if (BROKEN) return 0;\n  if (num != 0) return refused(EINVAL, \"another id"),
    Fault("queues-of-failed-qp-kept", ("RCM-210",), "cm/qp/failed", CM_QP,
          "    destroy_cqs(id.abi);\n    return code;", "    if (!BROKEN) destroy_cqs(id.abi);\n    return code;"),
)
