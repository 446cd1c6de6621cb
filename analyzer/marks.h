// Marks: copies of a running process's report, made by `pincheck mark`, that later looks begin at (--since). A mark
// lies beside its report: train.pcr.mark-warm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/reader.h"

namespace pincheck {

// "" or why this cannot be the name of a mark.
std::string problem_of_mark_name(const std::string& name);
std::string mark_path(const std::string& report, const std::string& name);

// Makes it, or makes it anew: complete or not at all. Returns "" or what went wrong, with the next step.
std::string make_mark(const std::string& report, const std::string& name);

// One mark's copies, taken away from the reports of a job as they are read.
class Marks {
  public:
    explicit Marks(const std::string& name) : name_(name) {}
    // Of a report without this mark nothing is taken; finish() says whether it should have had one.
    void take_away_from(report::Report& report, const std::string& file, std::vector<std::string>& errors);
    // After the last report. False: no report has that mark, and why is in `errors`.
    bool finish(std::vector<std::string>& errors) const;

  private:
    struct Unmarked {
        std::string file;
        std::uint64_t start_realtime_ns;
    };
    std::string name_;
    std::uint64_t first_mark_realtime_ns_ = UINT64_MAX;
    std::vector<Unmarked> unmarked_;
};

}  // namespace pincheck
