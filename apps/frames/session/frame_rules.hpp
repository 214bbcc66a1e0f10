// SPDX-License-Identifier: Apache-2.0
// Checks the rules that a frame can break regardless of earlier FPDUs.
#pragma once

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// Checks an FPDU and adds its violations. `header`, `opcode` and `payload` must be set as far as
/// they could be decoded.
void judge_fpdu(Explained& e);
void judge_startup(Explained& e);
/// Checks a Reply against its Request, which must have been captured.
void judge_reply(Explained& e, const mpa::StartupFrame& request);

/// Decodes the enhanced word (RFC 6581) of a startup frame. Returns nullopt if the frame has none
/// or its private data is too short for one.
std::optional<mpa::EnhancedWord> enhanced_word(const mpa::StartupFrame& frame);

void note(Explained& e, Rule rule, std::string detail = {});

}  // namespace iwarp::apps::frames
