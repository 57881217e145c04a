// The op table of docs/policies.md, made from the tags. Prints it; with a file as argument checks that it stands there.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <mezzo/policy/cast_report.hpp>

namespace {

/// `read, computed, returned` for one row; one name where all three are the same.
std::string cell(const mezzo::CastReportRow& row) {
  if (row.refused) return "refused";
  const std::string argument(row.argument), compute(row.compute), result(row.result);
  if (argument == compute && compute == result) return result;
  return argument + ", " + compute + ", " + result;
}

std::string table() {
  const mezzo::CastReport report = mezzo::cast_report<mezzo::Autocast<mezzo::float16>>();
  std::ostringstream out;
  out << "| op | rule | float16 is read as, computed in, returned as | float32 is read as, computed in, returned as |\n|---|---|---|---|\n";
  for (std::size_t k = 0; k < report.rows.size(); k += 4) {  // float16, bfloat16, float32, float64
    out << "| " << report.rows[k].op << " | " << name_of(report.rows[k].rule) << " | " << cell(report.rows[k]) << " | "
        << cell(report.rows[k + 2]) << " |\n";
  }
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cout << table();
    return 0;
  }
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().find("<!-- op table -->\n" + table() + "<!-- end of the op table -->") != std::string::npos) return 0;
  std::cout << argv[1] << ": the op table is not the one of the tags. Put this between its two marks:\n" << table();
  return 1;
}
