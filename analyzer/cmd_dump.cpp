#include "cmd_dump.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "dump.h"
#include "output.h"
#include "printable.h"
#include "report/reader.h"

namespace pincheck {
namespace {

int dump_files(const std::vector<std::string>& files) {
    int status = 0;
    for (const std::string& file : files) {
        const report::ReadResult read = report::read_report(file);
        if (read.error != report::ReadError::none) {
            std::fprintf(stderr, "pincheck: %s\n", printable(read.message).c_str());
            status = 2;
            continue;
        }
        const Written written = write_stdout(dump(read.report, file));
        if (written != Written::yes) {
            return std::max(status, exit_status_of(written));
        }
    }
    return status;
}

}  // namespace

void add_dump(CommandLine& line) {
    Verb verb = line.add_verb("dump", "Show every record of report files as text, one a line");
    verb.footer(
        "A line is a kind, a colon and key=value fields:\n"
        "  header process device coverage module stack symbol site counter range thread loss unknown problem\n"
        "Texts are shown with their id (7:\"cudaMemcpyAsync\"), stack frames as file+0xoffset, innermost first.\n"
        "A counter is what one thread's calls at one site added up to; its histogram counts calls by host time:\n"
        "  b0 is below 1,024 ns, bN from 2^(9+N) ns, each twice as wide as the one before, b15 all from 16.8 ms.\n"
        "Control characters, invalid UTF-8 and invisible characters are shown as \\xNN, a backslash as \\\\.\n"
        "What is damaged, cut or newer than this program is named in problem lines; the rest is shown.\n\n"
        "Exit status: 0 shown, even with problems; 2 wrong usage, or a file that cannot be read.");
    auto files = std::make_shared<std::vector<std::string>>();
    verb.arguments("FILE", *files, "Report files (.pcr), also of programs that are still running");
    verb.action([files] { return dump_files(*files); });
}

}  // namespace pincheck
