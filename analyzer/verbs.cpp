#include "verbs.h"

#include "cmd_check.h"
#include "cmd_diff.h"
#include "cmd_doctor.h"
#include "cmd_dump.h"
#include "cmd_explain.h"
#include "cmd_export.h"
#include "cmd_mark.h"
#include "cmd_report.h"
#include "cmd_resolve.h"
#include "cmd_run.h"
#include "cmd_show.h"
#include "cmd_top.h"

namespace pincheck {

void add_verbs(CommandLine& line, std::vector<std::string>& program) {
    add_run(line, program);
    add_report(line);
    add_check(line);
    add_show(line);
    add_explain(line);
    add_diff(line);
    add_doctor(line, program);
    add_dump(line);
    add_export(line);
    add_resolve(line);
    add_mark(line);
    add_top(line);
}

}  // namespace pincheck
