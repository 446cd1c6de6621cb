// Standard output whose failures are seen.
#pragma once

#include <string_view>

namespace pincheck {

enum class Written { yes, reader_gone, failed };

// Writes all of it. reader_gone: the other end was closed (`pincheck … | head`), which is no error of ours; SIGPIPE
// must be ignored. failed: errno says why.
Written write_stdout(std::string_view text);

// The exit status after it: says on standard error what failed.
int exit_status_of(Written written);

}  // namespace pincheck
