// SPDX-License-Identifier: Apache-2.0
// Programs that use UD queue pairs, for `iwarp run --as roce`.
#pragma once

// The functions are exported, so that a report can name them.
extern "C" {

void datagram_changed();
void datagram_built_changed();
void datagram_status_ignored();
void datagram_deregistered_while_sent();
void datagram_deregistered_while_received();
void datagram_freed();
void datagram_destroyed_in_use();

void datagrams_proper();
void datagrams_proper_again();

}  // extern "C"
