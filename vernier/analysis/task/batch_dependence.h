#pragma once

#include <optional>
#include <string>

namespace vernier {

// A warning if an example is answered differently alone than in a batch, by more than the order of
// additions explains. `alone_db` is the SQNR between the two answers.
std::optional<std::string> batch_dependence(double alone_db);

}  // namespace vernier
