// SPDX-License-Identifier: Apache-2.0
#include "muse/Jinja.h"
#include <gtest/gtest.h>

namespace pewter::muse {
namespace {

std::string render(std::string_view text, const JinjaData &variables = JinjaData::object()) {
  auto parsed = JinjaTemplate::parse(text);
  if (!parsed)
    return "PARSE: " + parsed.error().message();
  auto out = (*parsed)->render(variables);
  return out ? *out : "ERROR: " + out.error().message();
}

const JinjaData kChat = {
    {"bos_token", "<B>"},
    {"add_generation_prompt", true},
    {"messages",
     JinjaData::array({{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", " Hi "}}})}};

TEST(Jinja, ChatLoops) {
  EXPECT_EQ(render("{{- bos_token }}{%- for m in messages %}{{- '<|' + m.role + '|>' + m['content'] }}"
                   "{%- endfor %}{%- if add_generation_prompt %}{{- '>' }}{%- endif %}",
                   kChat),
            "<B><|system|>Be kind.<|user|> Hi >");
  EXPECT_EQ(render("{% for m in messages if m.role != 'system' %}{{ loop.index }}/{{ loop.length }}:"
                   "{{ m.content | trim }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}",
                   kChat),
            "1/1:Hi");
  EXPECT_EQ(render("{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}"), "a=1;b=2;");
  EXPECT_EQ(render("{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}"
                   "{% endif %}{{ i }}{% endfor %}"),
            "02");
  EXPECT_EQ(render("{% for x in [] %}x{% else %}nothing{% endfor %}"), "nothing");
}

TEST(Jinja, NamespacesOutliveLoops) {
  EXPECT_EQ(render("{% set ns = namespace(found=false) %}{% set x = 1 %}{% for i in [1, 2] %}"
                   "{% set ns.found = true %}{% set x = 5 %}{% endfor %}{{ ns.found }} {{ x }}"),
            "True 1");
}

TEST(Jinja, Expressions) {
  EXPECT_EQ(render("{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ 7 / 2 }} {{ 7 % 4 }} {{ -7 % 4 }} {{ 2 ** 3 }}"),
            "7 3 3.5 3 1 8");
  EXPECT_EQ(render("{{ 'a' ~ 1 ~ none ~ true }}"), "a1NoneTrue");
  EXPECT_EQ(render("{{ 'yes' if 1 < 2 else 'no' }}{{ 'x' if false }}"), "yes");
  EXPECT_EQ(render("{{ 'b' in 'abc' and 2 in [1, 2] and 'k' in {'k': 0} and 3 not in [1] }}"), "True");
  EXPECT_EQ(render("{{ not '' or false }} {{ [] or 'default' }} {{ 1 and 2 }}"), "True default 2");
  EXPECT_EQ(render("{{ 'hello'[1:3] }} {{ [1, 2, 3][::-1] }} {{ [1, 2, 3][-1] }} {{ 'abc'[:-1] }}"),
            "el [3, 2, 1] 3 ab");
  EXPECT_EQ(render("{{ [1, 'a', none, true, {'k': 1.0}] }}"), "[1, 'a', None, True, {'k': 1.0}]");
}

TEST(Jinja, FiltersAndTests) {
  EXPECT_EQ(render("{{ {'a': [1, 'x']} | tojson }}"), "{\"a\": [1, \"x\"]}");
  EXPECT_EQ(render("{{ [1, 2] | join('-') }} {{ 'a,b' .split(',') | last }} {{ 'ab' | upper | length }}"),
            "1-2 b 2");
  EXPECT_EQ(render("{{ missing | default('d') }} {{ '' | default('e', true) }} {{ x is defined }}"), "d e False");
  EXPECT_EQ(render("{{ [{'r': 'a', 'n': 1}, {'r': 'b', 'n': 2}] | selectattr('r', 'equalto', 'b') | map(attribute='n')"
                   " | list }}"),
            "[2]");
  EXPECT_EQ(render("{{ 3 is odd and 'x' is string and {} is mapping and [] is not mapping and 4 is divisibleby 2 }}"),
            "True");
  EXPECT_EQ(render("{{ 'x y'.replace(' ', '_').startswith('x_') }} {{ {'a': 1}.get('b', 2) }}"), "True 2");
  EXPECT_EQ(render("{% filter upper %}abc{% endfilter %}{% set t %}in{% endset %}{{ t }}"), "ABCin");
}

TEST(Jinja, Macros) {
  EXPECT_EQ(render("{% macro say(what, loud=false) %}{{ what | upper if loud else what }}{% endmacro %}"
                   "{{ say('a') }}{{ say('b', loud=true) }}"),
            "aB");
}

TEST(Jinja, Whitespace) {
  EXPECT_EQ(render("a\n{% if true %}\nb\n{% endif %}\nc"), "a\nb\nc");
  EXPECT_EQ(render("a\n   {%- if true -%}   b   {%- endif %} c"), "ab c");
  EXPECT_EQ(render("x {# gone #} y"), "x  y");
  EXPECT_EQ(render("{{ '{% raw %}' }}"), "{% raw %}");
}

TEST(Jinja, FailuresSayWhere) {
  EXPECT_EQ(render("\n{{ raise_exception('no system') }}"),
            "ERROR: The chat template fails in line 2: no system.");
  EXPECT_EQ(render("{{ a.b }}"), "ERROR: The chat template fails in line 1: \"a\" is undefined.");
  EXPECT_EQ(render("{{ nothing }}"), "");
  EXPECT_NE(render("{% if x %}").find("never closed"), std::string::npos);
  EXPECT_NE(render("{{ 1 + }}").find("a value is expected"), std::string::npos);
  EXPECT_NE(render("{% import 'x' %}").find("not supported"), std::string::npos);
  EXPECT_NE(render("{{ 'x' | nonsense }}").find("\"nonsense\" is not known"), std::string::npos);
  EXPECT_NE(render("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}").find("steps"),
            std::string::npos);
  EXPECT_NE(render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").find("too deeply"), std::string::npos);
  EXPECT_NE(render(std::string(5000, '(')).size(), 0u);
  EXPECT_NE(render("{{" + std::string(5000, '(') + "}}").find("too deeply"), std::string::npos);
}

} // namespace
} // namespace pewter::muse
