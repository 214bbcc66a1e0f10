// SPDX-License-Identifier: Apache-2.0
// Formats a judgement and the published figures as text. Figures to which the model was calibrated
// and figures that it predicts are counted separately.
#pragma once

#include <string>
#include <vector>

#include "iwarp/offload_model/judge.hpp"
#include "iwarp/offload_model/published.hpp"

namespace iwarp::apps::cost {

namespace model = offload_model;

/// Returns the whole text; each line ends with a newline.
std::string judgement_text(const model::Judgement& judgement);
std::string published_text(const std::vector<model::PublishedRow>& rows);

/// Returns the totals, for example "identities 7 of 7; predictions ...", without a newline.
std::string tally_text(const std::vector<model::PublishedRow>& rows);

}  // namespace iwarp::apps::cost
