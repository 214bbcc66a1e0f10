// SPDX-License-Identifier: Apache-2.0
// The list of all tables of cases, in the order in which the judge runs them. A new table must be
// added here and in cases.hpp.
#include <array>

#include "judge/cases/cases.hpp"

namespace iwarp::judge {

std::span<const std::span<const Case>> all_cases() {
  static const std::array tables{
      device_cases(),       table_cases(),        text_cases(),           domain_cases(),
      region_cases(),       rereg_cases(),        window_cases(),         window_type_2_cases(),
      channel_cases(),      queue_cases(),        extended_queue_cases(), srq_cases(),
      srq_message_cases(),  event_cases(),        handle_cases(),         datagram_cases(),
      inline_data_cases(),  optional_cases(),     cm_channel_cases(),     cm_id_cases(),
      cm_address_cases(),   cm_listen_cases(),    cm_connect_cases(),     cm_disconnect_cases(),
      qp_step_cases(),      qp_create_cases(),    qp_value_cases(),       qp_post_cases(),
      data_fault_cases(),   data_valid_cases(),   data_order_cases(),     data_peer_cases(),
      data_builder_cases(), cm_parameter_cases(), cm_qp_cases(),          cm_endpoint_cases(),
      cm_message_cases(),   cm_datagram_cases(),
  };
  return tables;
}

}  // namespace iwarp::judge
