// SPDX-License-Identifier: Apache-2.0
// Programs that free allocated memory while it is registered, and correct programs that do not.
#pragma once

// The functions are exported, so that a report can name them.
extern "C" {

void freed();
void freed_before_deregistration();
void freed_before_disconnecting();
void freed_in_part();
void freed_while_sent();
void large_freed_and_sent();
void two_regions_freed();
void moved_by_realloc();
void moved_by_reallocarray();
void emptied_by_realloc();
void cut_short_by_realloc();
void deleted();
void deleted_with_alignment();
void freed_after_registering_again();

void proper_memory();
void proper_neighbours();
void proper_disconnected();
void proper_other_domain();
void proper_child();
void proper_threads();
void proper_end();

/// Registers more regions than careful mode watches.
void too_many_regions();

}  // extern "C"
