#pragma once

#include <string>

#include "vernier/error.h"

namespace vernier {

// The message of the Error that the work ends with, "no error" if it ends well.
template <typename Work>
std::string failure_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace vernier
