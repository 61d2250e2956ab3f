// One field of each row of a file, by simdjson: what a query of one field is compared with.
//
// usage: walk dom|ondemand POINTER FILE
//
// `dom` checks each row in full, as a query of Headrace does. `ondemand` reads a row up to the
// field and checks nothing behind it, so it accepts rows that are no JSON. Rows without the field
// print nothing. POINTER is a JSON pointer such as /user/id. FILE is read in pieces, as a filter
// reads a pipe, and each answer is the text of the value.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "simdjson.h"

namespace {

constexpr size_t PIECE = 1 << 20;

// Takes rows until it fails, and prints what it found in large writes.
template <typename Row> bool each_row(int file, Row row) {
  std::vector<char> held(PIECE + simdjson::SIMDJSON_PADDING);
  std::string out;
  size_t filled = 0;
  for (;;) {
    if (filled + PIECE + simdjson::SIMDJSON_PADDING > held.size()) {
      held.resize(2 * held.size());
    }
    const ssize_t got = read(file, held.data() + filled, PIECE);
    if (got < 0) {
      return false;
    }
    filled += static_cast<size_t>(got);
    const char *begin = held.data(), *end = begin + filled;
    while (begin < end) {
      const void *found = memchr(begin, '\n', static_cast<size_t>(end - begin));
      if (found == nullptr && got > 0) {
        break;
      }
      const char *stop = found == nullptr ? end : static_cast<const char *>(found);
      const size_t length = static_cast<size_t>(stop - begin);
      const size_t room = static_cast<size_t>(held.data() + held.size() - begin);
      if (length > 0 && !row(begin, length, room, out)) {
        return false;
      }
      begin = stop + 1;
    }
    const size_t rest = begin < end ? static_cast<size_t>(end - begin) : 0;
    memmove(held.data(), begin, rest);
    filled = rest;
    if (out.size() >= PIECE || got == 0) {
      fwrite(out.data(), 1, out.size(), stdout);
      out.clear();
    }
    if (got == 0) {
      return true;
    }
  }
}

bool by_dom(int file, const char *pointer) {
  simdjson::dom::parser parser;
  return each_row(file, [&](const char *row, size_t length, size_t, std::string &out) {
    // The bytes behind the row are readable, so it is not copied.
    simdjson::dom::element document, value;
    if (parser.parse(row, length, false).get(document) != simdjson::SUCCESS) {
      return false;
    }
    if (document.at_pointer(pointer).get(value) == simdjson::SUCCESS) {
      out += simdjson::minify(value);
      out += '\n';
    }
    return true;
  });
}

bool on_demand(int file, const char *pointer) {
  simdjson::ondemand::parser parser;
  return each_row(file, [&](const char *row, size_t length, size_t room, std::string &out) {
    simdjson::ondemand::document document;
    simdjson::padded_string_view text(row, length, room);
    if (parser.iterate(text).get(document) != simdjson::SUCCESS) {
      return false;
    }
    simdjson::ondemand::value value;
    std::string_view found;
    if (document.at_pointer(pointer).get(value) == simdjson::SUCCESS &&
        value.raw_json().get(found) == simdjson::SUCCESS) {
      while (!found.empty() && (found.back() == ' ' || found.back() == ',')) {
        found.remove_suffix(1);
      }
      out += found;
      out += '\n';
    }
    return true;
  });
}

} // namespace

int main(int count, char **arguments) {
  const std::string_view mode = count == 4 ? arguments[1] : "";
  if (mode != "dom" && mode != "ondemand") {
    fputs("usage: walk dom|ondemand POINTER FILE\n", stderr);
    return 2;
  }
  const int file = open(arguments[3], O_RDONLY);
  if (file < 0) {
    fprintf(stderr, "%s: %s\n", arguments[3], strerror(errno));
    return 1;
  }
  const bool done = mode == "dom" ? by_dom(file, arguments[2]) : on_demand(file, arguments[2]);
  if (!done) {
    fprintf(stderr, "%s: a row cannot be read\n", arguments[3]);
  }
  return done ? 0 : 1;
}
