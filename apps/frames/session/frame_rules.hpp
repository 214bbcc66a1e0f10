// SPDX-License-Identifier: Apache-2.0
// Rules that a frame breaks whatever came before it.
#pragma once

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// Judges an FPDU whose `header`, `opcode` and `payload` are set as far as they could be read.
void judge_fpdu(Explained& e);
void judge_startup(Explained& e);
/// Judges a Reply whose Request was seen.
void judge_reply(Explained& e, const mpa::StartupFrame& request);

/// Returns the word of an enhanced frame; nullopt: there is none, or no room for it.
std::optional<mpa::EnhancedWord> enhanced_word(const mpa::StartupFrame& frame);

void note(Explained& e, Rule rule, std::string detail = {});

}  // namespace iwarp::apps::frames
