#pragma once

#include <stdexcept>

namespace vernier {

// A failure that ends the command. The message is one line: operation in brackets, subject,
// expected and found, remedy: "[npz] a.npz: 'x' has shape [1,10], model expects [1,3,224,224]; pass
// --shape".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace vernier
