// SPDX-License-Identifier: Apache-2.0
// Tests the inline functions of verbs.h for features that the device does not have. They must
// return the errno or the null that their manual pages specify. Zeroed structures replace objects
// that cannot be created.
#include "support.hpp"

namespace {

using namespace data;

template <typename Call>
void check_not_supported(Call call) {
  errno = 0;
  CHECK_EQ(error_of(call()), EOPNOTSUPP);
}

// [IBV-121, IBV-123, IBV-173, IBV-175, IBV-411, IBV-412, IBV-414, IBV-415, IBV-417, IBV-419,
// IBV-420]
TEST_CASE("objects that cannot be created are null, and errno says that they are not supported") {
  const End end;
  ibv_context* const context = end.context;
  ibv_flow_attr flow{};
  check_not_supported([&] { return ibv_create_flow(end.qp, &flow); });
  ibv_flow_action_esp_attr esp{};
  check_not_supported([&] { return ibv_create_flow_action_esp(context, &esp); });
  check_not_supported([&] { return ibv_alloc_null_mr(end.pd); });
  ibv_dm dm{.context = context};
  check_not_supported([&] { return ibv_reg_dm_mr(end.pd, &dm, 0, 8, 0); });
  ibv_td_init_attr td{};
  check_not_supported([&] { return ibv_alloc_td(context, &td); });
  ibv_parent_domain_init_attr domain{.pd = end.pd};
  check_not_supported([&] { return ibv_alloc_parent_domain(context, &domain); });
  ibv_qp_open_attr open{};
  check_not_supported([&] { return ibv_open_qp(context, &open); });
  ibv_rwq_ind_table_init_attr table{};
  check_not_supported([&] { return ibv_create_rwq_ind_table(context, &table); });
  ibv_xrcd_init_attr xrcd{};
  check_not_supported([&] { return ibv_open_xrcd(context, &xrcd); });
  ibv_alloc_dm_attr memory{};
  check_not_supported([&] { return ibv_alloc_dm(context, &memory); });
  ibv_counters_init_attr counters{};
  check_not_supported([&] { return ibv_create_counters(context, &counters); });
  ibv_wq_init_attr wq{};
  check_not_supported([&] { return ibv_create_wq(context, &wq); });
}

// [IBV-506]
TEST_CASE("operations that iWARP has no message for are refused") {
  End end;
  CHECK_EQ(end.post({.opcode = IBV_WR_TSO}), EOPNOTSUPP);
  CHECK_EQ(end.post({.opcode = IBV_WR_ATOMIC_WRITE}), EOPNOTSUPP);
}

// [IBV-67, IBV-170, IBV-379, IBV-426]
TEST_CASE("operations that are not supported return an errno and change nothing") {
  const End end({.shared_receives = true});
  ibv_context* const context = end.context;
  ibv_flow flow{.context = context};
  CHECK_EQ(ibv_destroy_flow(&flow), EOPNOTSUPP);
  ibv_flow_action action{.context = context};
  ibv_flow_action_esp_attr esp{};
  CHECK_EQ(ibv_modify_flow_action_esp(&action, &esp), EOPNOTSUPP);
  CHECK_EQ(ibv_destroy_flow_action(&action), EOPNOTSUPP);
  ibv_xrcd xrcd{.context = context};
  CHECK_EQ(ibv_close_xrcd(&xrcd), EOPNOTSUPP);
  ibv_dm dm{.context = context};
  CHECK_EQ(ibv_free_dm(&dm), EOPNOTSUPP);
  ibv_td td{.context = context};
  CHECK_EQ(ibv_dealloc_td(&td), EOPNOTSUPP);
  ibv_ops_wr op{};
  ibv_ops_wr* bad = nullptr;
  CHECK_EQ(ibv_post_srq_ops(end.srq, &op, &bad), EOPNOTSUPP);
  CHECK_EQ(bad, &op);
  CHECK_EQ(ibv_advise_mr(end.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EOPNOTSUPP);
  ibv_values_ex values{};
  CHECK_EQ(ibv_query_rt_values_ex(context, &values), EOPNOTSUPP);
  ibv_qp_rate_limit_attr rate{};
  CHECK_EQ(ibv_modify_qp_rate_limit(end.qp, &rate), EOPNOTSUPP);
  ibv_wq wq{.context = context};
  ibv_wq_attr attr{};
  CHECK_EQ(ibv_modify_wq(&wq, &attr), EOPNOTSUPP);
  CHECK_EQ(ibv_destroy_wq(&wq), EOPNOTSUPP);
  ibv_rwq_ind_table table{.context = context};
  CHECK_EQ(ibv_destroy_rwq_ind_table(&table), EOPNOTSUPP);
  ibv_counters counters{.context = context};
  ibv_counter_attach_attr attach{};
  CHECK_EQ(ibv_attach_counters_point_flow(&counters, &attach, &flow), EOPNOTSUPP);
  std::uint64_t value = 7;
  CHECK_EQ(ibv_read_counters(&counters, &value, 1, 0), EOPNOTSUPP);
  CHECK_EQ(value, 7);
  CHECK_EQ(ibv_destroy_counters(&counters), EOPNOTSUPP);
}

}  // namespace
