// SPDX-FileCopyrightText: 2026 The libminfer authors
// SPDX-License-Identifier: Apache-2.0

// What a hostile template can cost: steps, output, memory, recursion and stack.
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_data.h"

namespace minfer {
namespace {

using testing::kSanitized;

StatusOr<RenderedText> RenderWith(const std::string& source, const RenderOptions& options,
                                  const std::string& context = "{}") {
  MF_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source, options.limits));
  MF_ASSIGN_OR_RETURN(const chat::Variables variables, VariablesFromJson(context, "context"));
  return parsed.Render(variables, options);
}

Status ErrorOf(const std::string& source, const RenderOptions& options = {}) {
  return RenderWith(source, options).status();
}

std::string Repeated(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

// The default limits, and lower ones where each step costs tens of times as much.
RenderOptions HostileOptions() {
  RenderOptions options;
  if (kSanitized) {
    options.limits.max_steps /= 100;
    options.limits.max_memory_bytes /= 8;
  }
  return options;
}

// Runs a function on a thread with a stack of our own and says how deep it went.
class StackMeter {
 public:
  static constexpr size_t kStackSize = size_t{kSanitized ? 8192 : 256} * 1024;

  size_t Run(const std::function<void()>& function) {
    const std::unique_ptr<void, decltype(&std::free)> stack(std::aligned_alloc(4096, kStackSize),
                                                            std::free);
    std::memset(stack.get(), kPaint, kStackSize);
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstack(&attributes, stack.get(), kStackSize) == 0);
    pthread_t thread;
    const auto entry = [](void* argument) -> void* {
      (*static_cast<const std::function<void()>*>(argument))();
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, entry,
                           const_cast<std::function<void()>*>(&function)) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
    pthread_attr_destroy(&attributes);
    const auto* bytes = static_cast<const unsigned char*>(stack.get());
    size_t untouched = 0;
    while (untouched < kStackSize && bytes[untouched] == kPaint) ++untouched;
    return kStackSize - untouched;
  }

 private:
  static constexpr unsigned char kPaint = 0xA5;
};

TEST_CASE("ChatTemplate: names the limit of steps", "[chat]") {
  RenderOptions options;
  options.limits.max_steps = 1000;
  const std::string loop = "{% for i in range(10000) %}x{% endfor %}";
  const Status status = ErrorOf(loop, options);
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.name() == "steps");
  CHECK(status.message().find("1000") != std::string_view::npos);
  CHECK(status.message().starts_with("line 1: "));
  CHECK(ErrorOf(loop).ok());
  // Loops in loops end too.
  const std::string nested =
      Repeated("{% for i in range(100000) %}", 6) + "x" + Repeated("{% endfor %}", 6);
  CHECK(ErrorOf(nested, HostileOptions()).code() == StatusCode::kResourceExhausted);
}

TEST_CASE("ChatTemplate: refuses output past the limit with the numbers", "[chat]") {
  RenderOptions options;
  options.limits.max_output_bytes = 10;
  CHECK(ErrorOf("{{ '0123456789' }}", options).ok());
  const Status status = ErrorOf("01234{{ '567890' }}", options);
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.name() == "output");
  CHECK(status.bytes_wanted() == 11);
  CHECK(status.bytes_available() == 10);
  CHECK(ErrorOf("0123456789a", options).code() == StatusCode::kResourceExhausted);
}

TEST_CASE("ChatTemplate: bounds what is built on the way", "[chat]") {
  const std::string context = "{}";
  for (const char* source : {
           "{{ ('x' * 10000000000)|length }}",
           "{{ ([1] * 10000000000)|length }}",
           "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}"
           "{% endfor %}",
           "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}"
           "{% endfor %}",
           "{% set ns = namespace(s=[1]) %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}"
           "{% endfor %}",
           "{% set ns = namespace(s='x') %}{% for i in range(100) %}"
           "{% set ns.s = ns.s.replace('x', 'xxxxxxxxxx') %}{% endfor %}",
           "{{ '%10000000000d' % 1 }}",
           "{{ '{:10000000000}'.format(1) }}",
           "{{ 'x'.center(10000000000) }}",
           "{{ 'a\nb'|indent(10000000000) }}",
           "{{ [1]|tojson(indent=10000000000) }}",
           "{{ range(10000000000)|list|length }}",
           "{{ 'x'.zfill(10000000000) }}",
           "{{ '\t'.expandtabs(10000000000) }}",
           "{{ [1]|batch(10000000000, 0)|list }}",
           "{{ [1]|slice(10000000000)|list }}",
           "{% set ns = namespace(v=1) %}{% for i in range(1000) %}{% set ns.v = [ns.v] %}"
           "{% endfor %}",
           "{% set ns = namespace(v=1) %}{% for i in range(1000) %}{% set ns.v = {'a': ns.v} %}"
           "{% endfor %}",
           "{% set ns = namespace(v=[]) %}{% for i in range(100000) %}"
           "{% set ns.v = ns.v + [range(100000)] %}{% endfor %}",
       }) {
    INFO(source);
    CHECK(ErrorOf(source, HostileOptions()).code() == StatusCode::kResourceExhausted);
  }
}

TEST_CASE("ChatTemplate: counts the work that one expression can hide", "[chat]") {
  // A value whose parts are shared is small in memory and endless to walk.
  const std::string shared =
      "{% set a = namespace(v=[1], w=[1]) %}{% for i in range(50) %}{% set a.v = [a.v, a.v] %}"
      "{% set a.w = [a.w, a.w] %}{% endfor %}";
  const std::string large = "{% set x = 'a' * 4000000 %}{% set y = 'a' * 2000000 ~ 'b' %}";
  const std::string rounds = "{% for i in range(100000) %}";
  for (const std::string& source : {
           shared + "{{ a.v == a.w }}",
           shared + "{{ a.v < a.w }}",
           shared + "{{ a.v in [a.w] }}",
           shared + "{{ [a.w].index(a.v) }}",
           shared + "{{ [a.w, a.v]|unique|list|length }}",
           shared + "{{ [a.w, a.v]|sort|length }}",
           shared + "{{ [a.w, a.v]|min }}",
           shared + "{{ a.v }}",
           shared + "{{ a.v|tojson }}",
           shared + "{% for i in [1, 2] %}{{ loop.changed(a.v) }}{% endfor %}",
           large + "{{ y in x }}",
           large + "{{ x.find(y) }}",
           large + "{{ x.count(y) }}",
           large + "{{ x.replace(y, '') }}",
           large + "{{ x.split(y) }}",
           large + "{{ x.partition(y) }}",
           large + "{% set z = x ~ '' %}" + rounds + "{{ 'a' if x == z }}{% endfor %}",
           large + rounds + "{{ 'a' if x|length }}{% endfor %}",
           large + rounds + "{{ 'a' if x.isalpha() }}{% endfor %}",
           large + "{% set d = {x: 1} %}" + rounds + "{{ 'a' if d[x] }}{% endfor %}",
       }) {
    INFO(source);
    const Status status = ErrorOf(source, HostileOptions());
    CHECK(status.code() == StatusCode::kResourceExhausted);
  }
}

TEST_CASE("ChatTemplate: large mappings and many names are found by hash", "[chat]") {
  std::string source = "{% set d = {";
  for (int i = 0; i < 20000; ++i) source += std::to_string(i) + ": " + std::to_string(i) + ", ";
  source += "'a': 1, 'b': 2, 1.0: 'one', (1, 2): 3} %}";
  for (int i = 0; i < 5000; ++i) source += "{% set name" + std::to_string(i) + " = 1 %}";
  source +=
      "{{ d|length }} {{ d[19999] }} {{ d[1] }} {{ d['b'] }} {{ d[(1, 2)] }} {{ d[true] }}"
      " {{ 20000 in d }} {{ name4999 }} {{ d[none] is defined }}";
  const StatusOr<RenderedText> got = RenderWith(source, {});
  INFO(got.status().ToString());
  REQUIRE(got.ok());
  CHECK(got->text == "20003 19999 one 2 3 one False 1 False");
}

TEST_CASE("ChatTemplate: gives memory back within a render", "[chat]") {
  // Each round's text is dropped by the next: far more than the limit in all, never more than two
  // texts at a time.
  RenderOptions options;
  options.limits.max_memory_bytes = size_t{2} << 20;
  const std::string source = "{% set ns = namespace(s='') %}{% for i in range(" +
                             std::string(kSanitized ? "20" : "10000") +
                             ") %}{% set ns.s = 'x' * 400000 %}{% endfor %}{{ ns.s|length }}";
  const StatusOr<RenderedText> got = RenderWith(source, options);
  INFO(got.status().ToString());
  REQUIRE(got.ok());
  CHECK(got->text == "400000");
  options.limits.max_memory_bytes = 300000;
  CHECK(ErrorOf(source, options).code() == StatusCode::kResourceExhausted);
}

TEST_CASE("ChatTemplate: values that refer to each other end with the render", "[chat]") {
  // The leak check of the sanitizer build looks at what is left.
  CHECK(ErrorOf("{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.m = namespace(n=ns) %}"
                "{% macro f() %}{{ g }}{% endmacro %}{% set g = f %}"
                "{% for i in [1, 2] %}{% macro h() %}{{ loop }}{% endmacro %}"
                "{% set ns.loop = loop %}{% set x = loop.changed(loop) %}{% endfor %}")
            .ok());
}

TEST_CASE("ChatTemplate: refuses templates that are too long", "[chat]") {
  TemplateLimits limits;
  limits.max_template_bytes = 10;
  const Status status = ChatTemplate::Parse("01234567890", limits).status();
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.bytes_wanted() == 11);
  CHECK(status.bytes_available() == 10);
}

TEST_CASE("ChatTemplate: bounds recursion by the option (C23)", "[chat]") {
  RenderOptions options;
  const std::string macro =
      "{% macro f(n) %}{{ n }}{% if n > 1 %}{{ f(n - 1) }}{% endif %}{% endmacro %}";
  options.limits.max_recursion = 5;
  CHECK(ErrorOf(macro + "{{ f(5) }}", options).ok());
  const Status status = ErrorOf(macro + "{{ f(6) }}", options);
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.name() == "f");
  CHECK(status.message().find("6 deep; the limit is 5") != std::string_view::npos);
  const std::string loop = "{% for i in x recursive %}{{ loop(x) }}{% endfor %}";
  CHECK(ErrorOf("{% set x = [1] %}" + loop, options).code() == StatusCode::kResourceExhausted);
}

TEST_CASE("ChatTemplate: ordinary nesting has room", "[chat]") {
  const std::string macro =
      "{% macro f(n) %}{% if n > 0 %}{% for i in [1] %}{% if true %}{% set s = f(n - 1) %}"
      "({{ s }}){% endif %}{% endfor %}{% endif %}{% endmacro %}{{ f(N) }}";
  std::string ten = macro;
  ten.replace(ten.find('N'), 1, "10");
  CHECK(ErrorOf(ten).ok());
  const std::string parens = "{{ " + std::string(20, '(') + "1" + std::string(20, ')') + " }}";
  CHECK(ErrorOf(parens).ok());
  CHECK(ErrorOf(Repeated("{% if 1 %}", 20) + "x" + Repeated("{% endif %}", 20)).ok());
  // A chain is no nesting, however long.
  CHECK(ErrorOf("{{ 1" + Repeated(" + 1", 5000) + " }}").ok());
  CHECK(ErrorOf("{{ 'a'" + Repeated(" ~ 'a'", 5000) + " }}").ok());
  CHECK(ErrorOf("{{ 'a'" + Repeated("|trim", 5000) + " }}").ok());
  CHECK(ErrorOf("{{ " + Repeated("not ", 5000) + "1 }}").ok());
  CHECK(ErrorOf("{{ " + Repeated("-", 5000) + "1 }}").ok());
  CHECK(ErrorOf("{{ 0" + Repeated(" if 0 else 0", 5000) + " }}").ok());
  CHECK(ErrorOf("{% if 0 %}" + Repeated("{% elif 0 %}", 5000) + "{% endif %}").ok());
}

std::vector<std::string> DeepTemplates() {
  const auto around = [](const std::string& open, const std::string& inside,
                         const std::string& close,
                         size_t n) { return Repeated(open, n) + inside + Repeated(close, n); };
  return {
      "{{ " + around("(", "1", ")", 150) + " }}",
      "{{ " + around("(", "1", ")", 60000) + " }}",
      "{{ " + around("[", "", "]", 60000) + " }}",
      "{{ " + around("{1:", "1", "}", 60000) + " }}",
      "{{ " + around("(1 or 1 and 1 == 1 + 1 ~ 1 * 1 ** (", "1", "))", 5000) + " }}",
      "{{ " + around("x[", "1", "]", 60000) + " }}",
      "{{ " + around("f(", "1", ")", 60000) + " }}",
      "{{ 1 " + Repeated("is divisibleby (", 60000) + " }}",
      "{% set " + around("(", "a", ")", 60000) + " = 1 %}",
      Repeated("{% if 1 %}", 10240),
      around("{% if 1 %}", "", "{% endif %}", 60),
      around("{% for i in [1] %}", "x", "{% endfor %}", 60),
      around("{% set x %}", "x", "{% endset %}", 60),
      around("{% filter upper %}", "x", "{% endfilter %}", 60),
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% macro f() %}" + around("{% if 1 %}{{ [", "f()", "] }}{% endif %}", 1) +
          "{% endmacro %}{{ f() }}",
      "{% macro f(x=f()) %}{% endmacro %}{{ f() }}",
      "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
      "{% macro f() %}{% for i in [1] %}{% if 1 %}{% filter upper %}{{ (f() ~ '')|trim }}"
      "{% endfilter %}{% endif %}{% endfor %}{% endmacro %}{{ f() }}",
      "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% set ns = namespace(v=1) %}{% for i in range(60) %}{% set ns.v = [ns.v] %}{% endfor %}"
      "{{ ns.v }}{{ ns.v|tojson }}{{ ns.v == ns.v }}",
      "{{ " + around("(", "1.5", ")|string|trim|float", 20) + " }}",
  };
}

TEST_CASE("ChatTemplate: stays within 64 KiB of stack (C23)", "[chat]") {
  StackMeter meter;
  const size_t idle = meter.Run([] {});
  size_t deepest = 0;
  for (const std::string& source : DeepTemplates()) {
    INFO(source.substr(0, 120));
    Status status;
    const size_t used = meter.Run([&] { status = ErrorOf(source, HostileOptions()); });
    INFO(status.ToString());
    CHECK(used < StackMeter::kStackSize);
    // An answer, an error of the grammar, or a limit; the process goes on.
    const bool bounded = status.ok() || status.code() == StatusCode::kResourceExhausted ||
                         status.code() == StatusCode::kInvalidArgument;
    CHECK(bounded);
    deepest = std::max(deepest, used - std::min(used, idle));
  }
  std::cout << "chat: at most " << deepest << " bytes of stack (" << idle
            << " of an idle thread)\n";
  if (kSanitized) {
    testing::ReportSkip(
        "the 64 KiB of stack: a sanitizer's frames are larger than those that ship");
  } else {
    CHECK(deepest < size_t{64} * 1024);
  }
}

}  // namespace
}  // namespace minfer
