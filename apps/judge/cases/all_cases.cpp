// SPDX-License-Identifier: Apache-2.0
// All tables of cases, in the order in which the judge runs them. The tables of an area (the first
// word of an id) stand together. A new table is added here and in cases.hpp.
#include <array>

#include "judge/cases/cases.hpp"

namespace iwarp::judge {

std::span<const Table> all_cases() {
  // clang-format off
  static const std::array tables{
      device_description_cases(), device_tables_cases(), device_texts_cases(),
      memory_domains_cases(), memory_regions_cases(), memory_changes_cases(),
      memory_windows_type_1_cases(), memory_windows_type_2_cases(),
      queues_channels_cases(), queues_completions_cases(), queues_extended_cases(),
      queues_srq_cases(), queues_srq_messages_cases(), queues_events_cases(),
      data_handles_cases(), data_datagrams_cases(), data_inline_cases(), device_optional_cases(),
      cm_channels_cases(), cm_ids_cases(), cm_addresses_cases(), cm_listen_cases(),
      cm_connect_cases(), cm_disconnect_cases(), cm_parameters_cases(), cm_qps_cases(),
      cm_endpoints_cases(), cm_messages_cases(), cm_datagrams_cases(),
      qp_steps_cases(), qp_create_cases(), qp_values_cases(), qp_post_cases(),
      data_faults_cases(), data_valid_cases(), data_order_cases(), data_peers_cases(),
      data_builders_cases(),
  };
  // clang-format on
  return tables;
}

}  // namespace iwarp::judge
