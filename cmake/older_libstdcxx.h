// Read first by every file of a wheel. GCC 12 gave this function a new version, which the standard
// libraries of older systems do not have; the one before does the same.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif
