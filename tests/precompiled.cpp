// Compiles nothing: the precompiled header of all test programs belongs to this file.
