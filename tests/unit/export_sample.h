// Jobs whose names attack what they are written into, or are secrets; and exports of jobs made by hand.
#pragma once

#include <string>
#include <vector>

#include "analyzer/export.h"
#include "analyzer/look.h"
#include "races_sample.h"

namespace pincheck::test {

// Line breaks, workflow commands, terminal controls, markup of HTML, XML, Markdown and SARIF, invalid and odd UTF-8.
inline const std::string kHostile =
    "x\n::error::y\r##[warning]z\x1b[2J ]]> <script>alert(1)</script> & \"q\" 'a' | `b` *c* [l](u) {0} %0A @user $m$ "
    "\\ "
    ":x: </details></pre> \xff\xc0 \xe2\x80\xae\xe2\x80\xa8 \xef\xbf\xbe e\xcc\x81 日本語";

// Every text that a report can bring. `text` gets each of them.
template <class Change>
void change_texts(LoadResult& loaded, Change change) {
    Capture& capture = loaded.capture;
    for (CaptureProcess& process : capture.processes) {
        for (std::string* text : {&process.file, &process.executable, &process.working_directory, &process.host,
                                  &process.options, &process.tool_version}) {
            change(*text);
        }
        for (std::string& argument : process.command_line) {
            change(argument);
        }
        for (CaptureProcess::Coverage& coverage : process.coverage) {
            change(coverage.text);
        }
        for (CaptureProcess::InCall& call : process.in_call) {
            change(call.name);
        }
        for (std::string& problem : process.problems) {
            change(problem);
        }
    }
    for (CaptureModule& module : capture.modules) {
        change(module.path);
    }
    for (CaptureSite& site : capture.sites) {
        change(site.memory_file);
        for (CaptureFrame& frame : site.stack) {
            for (SourceLine& line : frame.lines) {
                change(line.file);
            }
        }
    }
    for (std::string& error : loaded.errors) {
        change(error);
    }
}

// A job with a race of every rule, pageable copies, coverage of every kind, and losses.
inline Look racing_look() {
    Look look;
    look.loaded.capture = racing_capture();
    CaptureProcess& process = look.loaded.capture.processes[0];
    process.ended = false;
    process.in_call = {{7, "worker", "cudaMemcpy", kSecond}};
    process.options = "output=/home/u/out/%p.pcr:races=watch";
    for (const report::CoverageKind kind :
         {report::CoverageKind::no_unwinder, report::CoverageKind::no_device_times, report::CoverageKind::unlisted}) {
        process.coverage.push_back({kind, "cannot open /home/u/lib/libunwind.so.8"});
    }
    process.losses.push_back({report::Loss::stacks, 3, 0});
    look.loaded.capture.sites[kPageable - 1].memory_file = "/data/u/batch.bin";
    look.screen.report_place = "./pincheck-train-4127.pcr";
    return look;
}

inline std::string exported(Look look, const std::string& format, const ExportOptions& options = {},
                            const PolicyOptions& policy = {}) {
    look.findings = find(look.loaded.capture, look.origins);
    look.judgement = judge(look.loaded, look.findings, look.origins, policy, {});
    return export_text(look, format, options);
}

}  // namespace pincheck::test
