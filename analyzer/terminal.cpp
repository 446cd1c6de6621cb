#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace pincheck {

unsigned terminal_width(int descriptor) {
    winsize size{};
    if (isatty(descriptor) == 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return kDefaultWidth;
    }
    return std::clamp<unsigned>(size.ws_col, kMinimumWidth, kMaximumWidth);
}

bool wants_color(const std::string& when, int descriptor) {
    if (when != "auto") {
        return when == "always";
    }
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return (no_color == nullptr || *no_color == '\0') && (terminal == nullptr || std::string(terminal) != "dumb") &&
           isatty(descriptor) != 0;
}

}  // namespace pincheck
