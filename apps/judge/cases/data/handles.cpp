// SPDX-License-Identifier: Apache-2.0
// Cases about address handles: attributes, limits, and handles from a completion.

#include <vector>

#include "judge/cases/cases.hpp"
#include "judge/tools/datagrams.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::data_handles {
namespace {

constexpr EndOptions kDatagrams{.type = IBV_QPT_UD};

int error_of(End& end, ibv_ah_attr attr) {
  Ah ah(ibv_create_ah(end.pd.get(), &attr));
  return errno_of(ah.get());
}

void fields(Judge& j) {
  End end(j, kDatagrams);
  Ah ah(ibv_create_ah(end.pd.get(), &end.attr.ah_attr));
  j.require("ibv_create_ah to the own GID", errno_of(ah.get()));
  j.expect_true("context", ah->context == j.context(), "that of the domain");
  j.expect_true("pd", ah->pd == end.pd.get(), "that of the call");
  j.expect("ibv_destroy_ah", ah.destroy());
}

void wrong_port(Judge& j) {
  End end(j, kDatagrams);
  ibv_ah_attr attr = end.attr.ah_attr;
  attr.port_num = 0;
  j.expect("port_num 0", error_of(end, attr), {EINVAL});
  attr.port_num = static_cast<std::uint8_t>(j.attributes().phys_port_cnt + 1);
  j.expect("port_num after the last", error_of(end, attr), {EINVAL});
}

void wrong_index(Judge& j) {
  End end(j, kDatagrams);
  ibv_ah_attr attr = end.attr.ah_attr;
  const int length = j.port_attributes().gid_tbl_len;
  if (length <= UINT8_MAX) {
    attr.grh.sgid_index = static_cast<std::uint8_t>(length);
    j.expect("sgid_index gid_tbl_len", error_of(end, attr), {EINVAL});
  }
  for (int i = 0; i < length; ++i) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(j.context(), j.port(), static_cast<std::uint32_t>(i), &entry, 0) !=
        ENODATA) {
      continue;
    }
    attr.grh.sgid_index = static_cast<std::uint8_t>(i);
    j.expect("sgid_index of an empty entry", error_of(end, attr), {EINVAL, ENODATA});
    return;
  }
}

void without_grh(Judge& j) {
  End end(j, kDatagrams);
  if ((j.port_attributes().flags & IBV_QPF_GRH_REQUIRED) == 0) {
    j.not_applicable("the port does not require a GRH");
  }
  ibv_ah_attr attr = end.attr.ah_attr;
  attr.is_global = 0;
  j.expect("is_global 0", error_of(end, attr), {EINVAL});
}

template <typename Field, Field ibv_global_route::* field, unsigned value>
void any_value(Judge& j) {
  End end(j, kDatagrams);
  ibv_ah_attr attr = end.attr.ah_attr;
  attr.grh.*field = static_cast<Field>(value);
  j.expect("ibv_create_ah", error_of(end, attr));
}

void every_gid(Judge& j) {
  End end(j, kDatagrams);
  const int length = std::min(j.port_attributes().gid_tbl_len, 255);
  int wrong = 0;
  for (int i = 0; i < length; ++i) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(j.context(), j.port(), static_cast<std::uint32_t>(i), &entry, 0) != 0) {
      continue;
    }
    ibv_ah_attr attr = end.attr.ah_attr;
    attr.grh.sgid_index = static_cast<std::uint8_t>(i);
    attr.grh.dgid = entry.gid;
    if (error_of(end, attr) != 0) ++wrong;
  }
  j.expect_true("ibv_create_ah from each GID to itself", wrong == 0, "0");
}

void limit(Judge& j) {
  const int most = j.attributes().max_ah;
  if (most > 1 << 16) j.not_applicable("max_ah is above 65,536");
  End end(j, kDatagrams);
  std::vector<Ah> all;
  int code = 0;
  for (int i = 0; i < most && code == 0; ++i) {
    all.emplace_back(ibv_create_ah(end.pd.get(), &end.attr.ah_attr));
    code = errno_of(all.back().get());
  }
  // Other processes may have handles.
  j.expect("ibv_create_ah up to max_ah", code, {0, ENOMEM});
  if (code == 0) {
    j.expect("ibv_create_ah above max_ah", error_of(end, end.attr.ah_attr),
             {ENOMEM, EINVAL, ENOSPC});
  }
  while (!all.back()) all.pop_back();
  all.pop_back();
  j.expect("ibv_create_ah after ibv_destroy_ah", error_of(end, end.attr.ah_attr));
}

// The datagram of a handle that is gone is sent, or fails.
void destroy_used(Judge& j) {
  Datagrams d(j);
  d.receive(1);
  j.require("ibv_post_send", d.pair.a.post_send(d.request(), kTextAt, kPayload));
  j.expect("ibv_destroy_ah after ibv_post_send", d.ah.destroy());
  const auto wc = next(d.pair.a.send_cq);
  j.expect_true("completion of the Send", wc.has_value(), "it arrives");
}

void none_on_rnic(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = j.port();
  attr.grh.dgid = j.gid();
  Ah ah(ibv_create_ah(pd.get(), &attr));
  j.expect("ibv_create_ah of an iWARP device", errno_of(ah.get()), {EOPNOTSUPP, ENOSYS, EINVAL});
}

// From a completion -----------------------------------------------------------------------------

void init_from_wc(Judge& j) {
  Datagrams d(j);
  const ibv_wc wc = d.exchange();
  ibv_ah_attr attr{};
  ibv_wc copy = wc;
  j.require("ibv_init_ah_from_wc",
            errno_of(ibv_init_ah_from_wc(j.context(), j.port(), &copy, d.grh(), &attr)));
  j.expect_equal("is_global", attr.is_global, 1);
  j.expect_equal("port_num", attr.port_num, j.port());
  const ibv_gid own = j.gid();
  j.expect_true("dgid", std::memcmp(attr.grh.dgid.raw, own.raw, sizeof own.raw) == 0,
                "the GID of the sender");
  ibv_gid from{};
  ibv_query_gid(j.context(), j.port(), attr.grh.sgid_index, &from);
  j.expect_true("GID at sgid_index", std::memcmp(from.raw, own.raw, sizeof own.raw) == 0,
                "the GID that the datagram was sent to");
  Ah ah(ibv_create_ah(d.pair.b.pd.get(), &attr));
  j.expect("ibv_create_ah with the attributes", errno_of(ah.get()));
}

void answer(Judge& j) {
  Datagrams d(j);
  ibv_wc wc = d.exchange();
  Ah ah(ibv_create_ah_from_wc(d.pair.b.pd.get(), &wc, d.grh(), j.port()));
  j.require("ibv_create_ah_from_wc", errno_of(ah.get()));
  j.require("ibv_post_recv of the sender", d.pair.a.post_recv(9, 0, kGrh + kPayload));
  ibv_send_wr wr = d.request();
  wr.wr.ud.ah = ah.get();
  wr.wr.ud.remote_qpn = wc.src_qp;
  j.require("ibv_post_send of the answer", d.pair.b.post_send(wr, kTextAt, kPayload));
  expect_completion(j, "completion of the receive of the answer", d.pair.a.recv_cq);
}

void from_wc_wrong(Judge& j) {
  Datagrams d(j);
  ibv_wc wc = d.exchange();
  ibv_ah_attr attr{};
  const auto after = static_cast<std::uint8_t>(j.attributes().phys_port_cnt + 1);
  j.expect_true("ibv_init_ah_from_wc with a port after the last",
                ibv_init_ah_from_wc(j.context(), after, &wc, d.grh(), &attr) != 0, "an error");
  Ah ah(ibv_create_ah_from_wc(d.pair.b.pd.get(), &wc, d.grh(), after));
  j.expect_true("ibv_create_ah_from_wc with a port after the last", ah.get() == nullptr, "null");
}

// clang-format off
constexpr Case kCases[] = {
    {"ah/create/fields", "IBV-116 IBV-331 IBV-332", "creates an address handle to its own GID", fields, kUd},
    {"ah/create/port", "IBV-334", "refuses an address handle on a port that does not exist", wrong_port, kUd},
    {"ah/create/sgid-index", "IBV-335", "refuses an address handle whose sgid_index names no GID", wrong_index, kUd},
    {"ah/create/without-grh", "IBV-94 IBV-333", "refuses an address handle without a GRH if the port requires one", without_grh, kUd},
    {"ah/create/every-gid", "IBV-116", "creates an address handle from each GID to itself", every_gid, kUd},
    {"ah/create/hop-limit", "IBV-337", "creates an address handle with hop_limit 255", any_value<std::uint8_t, &ibv_global_route::hop_limit, 255>, kUd},
    {"ah/create/traffic-class", "IBV-337", "creates an address handle with traffic_class 255", any_value<std::uint8_t, &ibv_global_route::traffic_class, 255>, kUd},
    {"ah/create/flow-label", "IBV-338", "creates an address handle with flow_label 0xFFFFF", any_value<std::uint32_t, &ibv_global_route::flow_label, 0xFFFFF>, kUd},
    {"ah/create/limit", "IBV-41", "creates address handles up to max_ah", limit, kUd},
    {"ah/destroy/used", "IBV-344", "destroys an address handle that a posted Send uses", destroy_used, kUd},
    {"ah/none", "IBV-345", "refuses address handles on an iWARP device", none_on_rnic, kIwarp},
    {"ah/from-completion/attributes", "IBV-340 IBV-341", "returns the attributes of a handle to the sender from ibv_init_ah_from_wc()", init_from_wc, kUd},
    {"ah/from-completion/answer", "IBV-342 IBV-583", "reaches the sender by a handle of ibv_create_ah_from_wc()", answer, kUd},
    {"ah/from-completion/wrong", "IBV-343", "refuses a handle from a completion on a port that does not exist", from_wc_wrong, kUd},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_handles

iwarp::judge::Table iwarp::judge::data_handles_cases() { return data_handles::kCases; }
