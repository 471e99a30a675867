#pragma once

#include <optional>
#include <string>

namespace vernier {

// A warning where an example is answered otherwise alone than in a batch, by more than the order of
// sums explains: `alone_db` is the SQNR of one beside the other.
std::optional<std::string> batch_dependence(double alone_db);

}  // namespace vernier
