#pragma once

namespace vernier {

// Unicode's general categories P, S and N, all of their kinds.
bool is_punctuation(char32_t code);
bool is_symbol(char32_t code);
bool is_number(char32_t code);

}  // namespace vernier
