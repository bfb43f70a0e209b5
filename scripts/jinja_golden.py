"""Writes what runtime/tokenizer/chat/jinja is compared with, by Python's jinja2 3.1.6 set up as transformers
does (utils/chat_template_utils.py). With an interpreter that has jinja2:

    jinja_golden.py runtime/tokenizer/chat/jinja/testdata/language.json
        templates, each about a part of the language, and what they render
"""

import datetime
import functools
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)


class Generation(jinja2.ext.Extension):
    """Tag generation renders its body: transformers marks it only where a mask is asked for."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    e = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    e.filters["tojson"] = tojson
    e.globals["raise_exception"] = raise_exception
    e.globals["strftime_now"] = NOW.strftime
    return e


@functools.cache
def compiled(source):
    return environment().from_string(source)


def render(source, variables):
    """The text, or the kind and text of the error: of one in the source, its line."""
    try:
        return {"text": compiled(source).render(**json.loads(json.dumps(variables)))}
    except jinja2.exceptions.TemplateSyntaxError as e:
        return {"error": type(e).__name__, "line": e.lineno}
    except Exception as e:
        return {"error": type(e).__name__, "message": str(e)}


VARIABLES = {
    "messages": [
        {"role": "user", "content": "hi <b>&'\"é"},
        {"role": "assistant", "content": "x", "n": 1.0, "z": None, "a": True},
        {"role": "user", "content": [{"type": "text", "text": "p1"}, {"type": "text", "text": "p2"}]},
    ],
    "s": " a b ", "e": "", "n": 3, "f": 1.5, "l": [3, 1, 2], "d": {"z": 1, "a": [1, 2.0, None, True, "q'"]}, "t": True,
    "u": "héllo wörld 😀", "words": ["b", "A", "c", "a"], "rows": [{"k": "x", "v": 2}, {"k": "y", "v": 1}, {"k": "x", "v": 3}],
    "big": 123456789012345678901234567890, "items": {"items": [1], "get": 2, "keys": "k"}, "neg": -7,
}

# One template a line; \n inside is written so. Each says something about one part of the language.
LINES = r'''
{{ messages[::-1][0].role }}{{ messages[-2]['role'] }}{{ messages[1:]|length }}{{ messages[:-1][0]['role'] }}
{{ d|tojson }}{{ d|tojson(indent=2) }}{{ l|tojson(indent=4) }}{{ l|tojson(separators=(',',':')) }}{{ {"b":1,"a":2}|tojson(sort_keys=true) }}
{{ u|tojson }}{{ u|tojson(ensure_ascii=true) }}{{ "\x01\x7f\u2028\b\f\"\\/"|tojson }}{{ []|tojson(indent=1) }}{{ {}|tojson }}{{ [[],{}]|tojson(indent='>') }}
{{ d }}{{ messages }}
{{ messages[0].content|tojson }}
{% for k, v in d|items %}{{k}}={{v}};{% endfor %}{% for k, v in d.items() %}{{k}}={{v}};{% endfor %}
{% for k in d %}{{k}}{% if not loop.last %},{% endif %}{% endfor %}
{{ d.get('x') }}|{{ d.get('x', 5) }}{{ d.get('a')[0] }}{{ d.get(1, 'no') }}
{{ none }} {{ true }} {{ None }} {{ 1.0 }} {{ 1e20 }} {{ 10 / 4 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 }}
{{ 7 // -2 }} {{ 7 % -3 }} {{ neg // 2 }} {{ neg % 3 }} {{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 0 ** 0 }} {{ 4 / 2 }}
{{ undefined_thing }}[{{ d.nokey }}][{{ messages[9] }}][{{ n.foo }}][{{ 'a'.foo }}][{{ l['x'] }}][{{ 'a'[3] }}]
{{ undefined_thing.x }}
{{ undefined_thing['x'] }}
{{ undefined_thing + 1 }}
{{ undefined_thing < 1 }}
{{ d.nokey.x }}
{{ messages[0].nokey.x }}
{{ d['nokey']['x'] }}
{{ none.x.y }}
{{ messages[5].role }}
{{ unknown_func() }}
{{ s.nomethod() }}
{{ n() }}
{{ undefined_thing == other_thing }}{{ undefined_thing is undefined }}{{ 'a' in undefined_thing }}{{ undefined_thing|length }}{{ undefined_thing|list }}{{ not undefined_thing }}{{ undefined_thing|default('d') }}
{{ undefined_thing|tojson }}
{{ undefined_thing|int }}
{{ undefined_thing|upper }}{{ undefined_thing|trim }}{{ undefined_thing|join }}{{ undefined_thing|first }}
{% for x in undefined_thing %}x{% else %}none{% endfor %}
{% for x in none %}x{% endfor %}
{% for x in 5 %}x{% endfor %}
{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ s|trim }}|{{ 'xxaxx'.strip('x') }}|{{ 'xyaxy'.lstrip('yx') }}|{{ 'abc'.rstrip('') }}
{{ '\u00a0\x1c a \u3000'.strip() }}|{{ '\u200b a'.strip() }}
{{ 'a-b-c'.split('-') }} {{ 'a b'.split() }} {{ 'a-b-c'.split('-', 1) }} {{ 'a-b-c'.split('-')[-1] }} {{ '  a  b c '.split(none, 1) }} {{ ''.split() }} {{ ''.split('x') }} {{ 'a-b-c'.rsplit('-', 1) }}
{{ 'a\nb\r\nc\u2028d\x0b'.splitlines() }}{{ 'a\nb'.splitlines(true) }}{{ 'a=b=c'.partition('=') }}{{ 'a=b=c'.rpartition('=') }}{{ 'a'.partition('=') }}{{ 'a'.rpartition('=') }}
{{ 'a'.split('') }}
{{ 'abc'.startswith('a') }} {{ 'abc'.endswith(('x','c')) }} {{ 'abc'.startswith('') }}
{{ 'abc'.startswith(none) }}
{{ 'x</think>y'.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') }}
{% set ns = namespace(a=1, b=[]) %}{% for m in messages %}{% set ns.a = ns.a + 1 %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}
{% set ns = namespace({'q': 1}, a=2) %}{{ ns.q + ns.a }}{{ ns }}
{% set x = 1 %}{% for m in messages %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}
{% set x = 1 %}{% for m in messages %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}
{% for m in l %}{% if loop.first %}{% set y = m %}{% endif %}[{{ y }}]{% endfor %}
{% if true %}{% set x = 5 %}{% endif %}{{ x }}
{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}
{% macro f() %}{% set x = 3 %}{{ x }}{% endmacro %}{{ f() }}{{ x }}
{% set messages = messages[1:] %}{{ messages|length }}
{% set n.x = 1 %}
{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}
{% for m in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(m > 1) }}{% endfor %}
{% for a in l %}{% for b in l %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}
{% for a in l %}{% set outer = loop %}{% for b in 'xy' %}{{ outer.index }}{{ b }}{% endfor %}{% endfor %}
{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for m in messages if m.role == 'user' %}{{ m.role }}{{ loop.length }}{% else %}none{% endfor %}
{% for m in [] %}x{% else %}none{% endfor %}{% for m in l if m > 9 %}x{% else %}none{% endfor %}
{% for x in [1,[2,[3]],4] recursive %}{% if x is iterable %}({{ loop(x) }}){{ loop.depth }}{% else %}{{ x }}{{ loop.depth0 }}{% endif %}{% endfor %}
{% for a, b in [(1,2),(3,4)] %}{{ a }}{{ b }}{% endfor %}{% for a, (b, c) in [(1,(2,3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [(1,2,3)] %}{{ a }}{% endfor %}
{% for c in u %}{{ c }}.{% endfor %}
{{ range(3)|list }}{{ range(1,7,2)|list }}{{ range(3,0,-1)|list }}{{ range(3)|length }}{{ range(5)[1] }}
{{ range(1000000) }}
{% macro f(a, b='x') %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(1, b=2) }}{{ f(b=3, a=1) }}{{ f() }}
{% macro f(a, b=a) %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}
{% macro f(a) %}{% if a > 0 %}{{ a }}{{ f(a - 1) }}{% endif %}{% endmacro %}{{ f(3) }}
{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a.x }}{% endmacro %}{{ f() }}
{% macro w() %}<{{ caller() }}>{% endmacro %}{% call w() %}in{% endcall %}
{% macro w(x) %}<{{ caller(x, 2) }}>{% endmacro %}{% call(a, b) w(1) %}{{ a }}{{ b }}{% endcall %}
{% macro f(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ f(*[1, 2]) }}{{ f(**{'a': 1, 'b': 2}) }}
{{ s is string }}{{ d is mapping }}{{ l is iterable }}{{ l is sequence }}{{ s is sequence }}{{ d is sequence }}{{ t is boolean }}{{ n is number }}{{ t is number }}{{ n is integer }}{{ t is integer }}{{ f is float }}{{ none is none }}{{ x is defined }}{{ x is not defined }}{{ range is callable }}
{{ none is string }}{{ none is iterable }}{{ n is iterable }}{{ undefined_thing is iterable }}{{ undefined_thing is sequence }}{{ undefined_thing is none }}{{ undefined_thing is string }}{{ undefined_thing is mapping }}
{{ true is true }}{{ 1 is true }}{{ false is false }}{{ none is false }}{{ undefined_thing is false }}{{ true is sameas true }}{{ none is sameas none }}{{ 1 is sameas true }}
{{ 3 is odd }}{{ 4 is even }}{{ 4 is divisibleby 2 }}{{ 4 is divisibleby(3) }}{{ 'A' is upper }}{{ 'a' is lower }}{{ 'aB' is lower }}{{ n is eq 3 }}{{ n is gt(2) }}{{ 'x' is in ['x'] }}{{ 'x' is not in 'xy' }}{{ n is ne 3 }}{{ n is le 3 }}{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}
{{ 'a' in s }}{{ 'q' not in s }}{{ 'role' in messages[0] }}{{ 'x' in l }}{{ 1 in l }}{{ 1.0 in l }}{{ '' in s }}
{{ 1 in s }}
{{ 1 in n }}
{{ 'a' if n > 2 else 'b' }}{{ 'a' if n < 2 }}{{ 'a' if false else 'b' if false else 'c' }}
{{ ('a' if false).x }}
{{ "a\nb\tc\\d\"e" }}{{ 'é\u00e9\x41\101\U0001F600\q\'' }}{{ '\u4e2d' }}
{{ n == 3 and not e or false }}{{ e or 'x' }}{{ n and 'y' }}{{ not n }}{{ not e and 1 }}{{ 0 or none }}
{% if n == 4 and e %}1{% elif n %}2{% else %}3{% endif %}{% if e %}1{% elif e %}2{% else %}3{% endif %}
{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}{{ 1 == 1.0 }}{{ true == 1 }}{{ '1' == 1 }}{{ [1] == [1.0] }}{{ (1,) == [1] }}{{ {'a':1} == {'a':1.0} }}{{ none == false }}{{ 1 != 2 }}
{{ 'a' < 'b' }}{{ [1,2] < [1,3] }}{{ [1] < [1,0] }}{{ 1 < 'a' }}
{{ none < 1 }}
{{ d < d }}
{{ 1 ~ 'a' ~ none ~ 1.0 ~ true ~ undefined_thing ~ [1] }}
{{ [1,2] + [3] }}{{ (1,2) }}{{ (1,) }}{{ () }}{{ {'a': 1, 'b': 'c'} }}{{ (1,) + (2,) }}{{ [0] * 3 }}{{ 2 * 'ab' }}{{ 'ab' * 0 }}{{ 'ab' * -1 }}
{{ 'a' + 1 }}
{{ 'a' + none }}
{{ none + 'a' }}
{{ 1 + 'a' }}
{{ [1] + (2,) }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.5 % 0 }}
{{ raise_exception('boom') }}
{{ raise_exception("it's " ~ n) }}
{{ strftime_now('%d %B %Y %H:%M:%S %b %a %A %p %I %j %y %% %-d %-m') }}{{ strftime_now('%Y-%m-%d') }}
{{ '%s-%d' % ('a', 3) }}{{ '%s' % 'a' }}{{ '%r' % 'a' }}{{ '100%%' % () }}{{ '%s: %s'|format('a', 1) }}
{{ '%s' % () }}
{{ '%s' % ('a', 'b') }}
{{ '{}-{}-{x}-{{}}'.format('a', 1, x=2) }}{{ '{1}{0}'.format(1, 2) }}
{{ 'abc'[1:] }}{{ 'héllo'[1] }}{{ 'abc'[::-1] }}{{ u[-1] }}{{ u[::2] }}{{ u|length }}{{ 'abcdef'[4:1:-2] }}{{ 'abc'[5:] }}{{ 'abc'[-9:2] }}{{ 'abc'[:-9] }}{{ l[5:] }}{{ l[-1:] }}{{ l[2:0:-1] }}{{ l[::-2] }}{{ l[true] }}{{ (1,2,3)[1:] }}{{ l[:none] }}
{{ l[::0] }}
{{ l['a':] }}
{% set x = none %}{{ x[1:] }}
{{ "A"|lower }}{{ "abc def-ghi (x"|title }}{{ "abc DEF"|capitalize }}{{ "abc dEF".title() }}{{ 'strase'|upper }}{{ 'É'|lower }}{{ 'aB'.swapcase() }}
{{ 'a\nb'|indent(2) }}|{{ 'a\n\nb'|indent(2, true) }}|{{ 'a\n\nb\n'|indent(2, blank=true) }}|{{ 'a\nb'|indent('> ', first=true) }}
{{ l|join(', ') }}{{ l|sort }}{{ l|sort(reverse=true) }}{{ l|sum }}{{ l|first }}{{ l|last }}{{ l|reverse|list }}{{ l|max }}{{ l|min }}{{ []|first }}{{ []|max }}{{ l|count }}
{{ words|sort }}{{ words|sort(case_sensitive=true) }}{{ rows|sort(attribute='v')|map(attribute='v')|list }}{{ words|unique|list }}{{ words|max }}{{ rows|map(attribute='k')|unique|join }}{{ rows|sum(attribute='v') }}{{ rows|max(attribute='v') }}{{ rows|join('-', attribute='k') }}
{{ messages|map(attribute='role')|join(',') }}{{ messages|map(attribute='n', default='?')|list }}{{ words|map('upper')|list }}{{ words|map('replace', 'a', 'z')|list }}{{ rows|map(attribute='k.0')|list }}
{{ messages|selectattr('role','equalto','user')|list|length }}{{ rows|selectattr('v', '>', 1)|map(attribute='v')|list }}{{ messages|selectattr('n', 'defined')|list|length }}{{ messages|selectattr('a')|list|length }}
{{ messages|rejectattr('role','==','user')|map(attribute='content')|list }}{{ l|select('gt', 1)|list }}{{ l|reject('odd')|list }}{{ ['', 'a']|select|list }}{{ ['', 'a']|reject|list }}
{% set g = l|map('string') %}{{ g|join }}{{ g|join }}
{% set g = l|reverse %}{{ g|first }}{{ g|list }}
{{ (l|map('string'))|length }}
{{ x|default('d') }}{{ e|default('d', true) }}{{ none|default('d') }}{{ none|d('d', boolean=true) }}{{ x|d }}
{{ 'abc'|replace('b','x') }}{{ 'abcb'.replace('b','x', 1) }}{{ 'aaa'|replace('a','b',2) }}{{ 'ab'|replace('', '-') }}
{{ 5|string + 'x' }}{{ '5'|int + 1 }}{{ 'x'|int }}{{ 'x'|int(7) }}{{ '1.5'|float }}{{ '0x1f'|int(base=16) }}{{ 3.9|int }}{{ '3.9'|int }}{{ true|int }}{{ none|int(1) }}{{ 'q'|float(2.5) }}{{ 3|float }}{{ ' 7 '|int }}
{{ l|length }}{{ d|length }}{{ s|length }}{{ ()|length }}
{{ n|length }}
{{ none|length }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (a, b) = [3, 4] %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}
{% set a, b = 1 %}
{{ messages|last|attr('role') }}{{ 'a'|attr('upper')() }}
{{ dict(a=1).a }}{{ dict(b=1, a=2)|tojson }}{{ dict({'x': 1}, y=2) }}
{{ {'b':1,'A':2}|dictsort }}{{ {'b':1,'A':2}|dictsort(by='value') }}{{ {'b':1,'A':2}|dictsort(true) }}{{ {'b':1,'A':2}|dictsort(reverse=true) }}
{{ 'a,b'|list }}{{ d|list }}{{ (1,2)|list }}
{{ s|e }}{{ '<>&"\''|escape }}{{ '<'|safe }}
{{ d.keys()|list }}{{ d.values()|list|length }}{{ d.items()|list|length }}{{ d.items()|length }}
{{ items.items() | list }}{{ items['items'] }}{{ items.get('get') }}{{ items['keys'] }}
{{ 'ab'.upper().lower().title().capitalize() }}{{ 'abcb'.find('b') }}{{ 'abcb'.rfind('b') }}{{ 'é😀b'.find('b') }}{{ 'a'.find('z') }}{{ 'abcb'.count('b') }}{{ ','.join(['a','b']) }}{{ '7'.zfill(3) }}{{ '-7'.zfill(4) }}{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }}{{ 'ab'|center(5) }}|{{ 'abc'|center(6) }}|{{ 'abc'.removeprefix('a').removesuffix('c') }}
{{ '1'.isdigit() }}{{ 'a1'.isalnum() }}{{ 'a'.isalpha() }}{{ ''.isdigit() }}{{ ' '.isspace() }}{{ 'A1'.isupper() }}{{ 'a1'.islower() }}{{ '1'.isupper() }}
{{ ','.join([1]) }}
{{ 'a'.index('z') }}
{{ l.index(1) }}{{ l.count(1) }}{{ l.index(9) }}
{% set _ = l.append(4) %}
{% set _ = d.update({'a': 1}) %}
{{ d.pop('z') }}
{{ namespace(x=1).x }}{{ cycler('a','b').next() }}{% set j = joiner('|') %}{{ j() }}x{{ j() }}y
{% set c = cycler(1, 2, 3) %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}
{{ 1_000 }}{{ 'a' 'b' }}{{ 0x1F }}{{ 0b11 }}{{ 0o17 }}{{ 1e3 }}{{ 1.5e-7 }}{{ 1E5 }}{{ l.0 }}
{{ 3|abs }}{{ -3|abs }}{{ (-3)|abs }}{{ -1.5|abs }}{{ 2.567|round(2) }}{{ 2.5|round }}{{ 3.5|round }}{{ 2.1|round(method='ceil') }}{{ 2.99|round(1, 'floor') }}{{ 7|round }}
{{ [1,1,2]|unique|list }}{{ [1,2,3]|batch(2)|list }}{{ [1,2,3]|batch(2, 0)|list }}{{ [1,2,3,4,5]|slice(2)|list }}{{ [1,2,3]|slice(2, 'x')|list }}{{ 'a b_c, d'|wordcount }}
{% with y = 2, z = 3 %}{{ y }}{{ z }}{% endwith %}{{ y }}
{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}
{% if d %}1{% endif %}{% if not l[9] %}2{% endif %}{% if [] %}3{% endif %}{% if {} %}4{% endif %}{% if 0.0 %}5{% endif %}{% if ' ' %}6{% endif %}
{% set c %}a{{ n }}b{% endset %}{{ c|upper }}{% set c | upper %}a{{ n }}{% endset %}{{ c }}
{% set c %}{% set inner = 1 %}{{ inner }}{% endset %}{{ c }}{{ inner }}
{% filter upper %}abc{{ n }}{% endfilter %}{% filter replace('a', 'b')|upper %}abc{% endfilter %}
{% raw %}{{ x }}{% endraw %}{%- raw -%}  {% y %} {%- endraw -%}  z
{% generation %}x{% set g = 1 %}{{ g }}{% endgeneration %}{{ g }}
{{ "it's" ~ ['it\'s', "q\"", 'é', '\n\t\\\x00\x7f\u200b\u00a0😀', "a'\""] }}
{{ 9007199254740993 }}{{ 123456789012345678901234567890 }}{{ big }}{{ [big]|tojson }}{{ big == big }}{{ big > 5 }}{{ -big }}
{{ {"a": 1e16, "b": 1e-7, "c": 0.1, "d": 1e22, "e": 123456789.0, "f": 5e-324}|tojson }} {{ 1e16 }} {{ 1e15 }} {{ 123456.789 }} {{ 1e-5 }} {{ 0.0001 }} {{ 100.0 }} {{ 1.0e300 * 1e300 }}
{{ 0.1 + 0.2 }}{{ 1 - 0.5 }}{{ 3 * 1.5 }}{{ -(-3) }}{{ +3 }}{{ --3 }}{{ - 3.5 }}{{ 2 - -2 }}{{ true + 1 }}
{{ messages[0].content is string }}{{ messages[2].content is string }}{% for p in messages[2].content %}{{ p.text }}{% endfor %}
{{ messages[0]['content'] | string | length }}{{ 1, 2 }}{{ 1, }}
{# comment {{ x }} #}a{#- b -#} c
a {%- if true %} b {%- endif %} c
a {{- 'b' -}} c {{+ 1 }}
{{ x if x is defined else 'none' }}{{ (x is defined) and x }}{{ x is defined and x.y }}
{% if not loop is defined %}top{% endif %}
{% if true: %}colon{% endif %}
{{ ({'a': {'b': [1]}}).a.b[0] }}{{ [{'a': 1}][0]['a'] }}{{ {'a': 1}['a'] }}{{ 'x'.upper()[0] }}
{{ l | map('string') | join('+') | replace('+', ' + ') | upper }}{{ (n + 1)|string|length }}{{ n + 1|string|length }}
{{ {1: 2} }}
{{ foo
{{ 'a }}
{{ 'a' 
{{ a.1b }}
{{ }}
{{ 1 2 }}
{{ (1 }}
{{ 1) }}
{{ [1,2 }}
{{ {'a' 1} }}
{{ a ? b }}
{{ f(a=1, 2) }}
{{ f(**a, *b) }}
{{ 'a'|nofilter }}
{{ 'a' is notest }}
{{ a is b is c }}
{% if %}x{% endif %}
{% if x %}
{% for x in %}{% endfor %}
{% for in y %}{% endfor %}
{% for x of y %}{% endfor %}
{% endif %}
{% unknown %}
{% set = 1 %}
{% set true = 1 %}
{% set 'a' = 1 %}
{% macro f(a=1, b) %}{% endmacro %}
{% macro 1() %}{% endmacro %}
{% call 5 %}{% endcall %}
{% if x %}{% endfor %}
{# no end
{% raw %} no end
\n\n{{ a\n b }}
\n{% if x %}\n{{ y }}\n{% else %}\n{% oops %}
{{ '\x4' }}
'''

# Templates in which blanks and new lines matter.
BLANKS = [
    "  {% if true %}  \n  x\n  {% endif %}  \ny\n", "{# c #}\na\n", "a\n{%- if true -%}  b  {%- endif -%} c\n",
    "a{% if true +%} \nb{% endif %}\n\n", "{% if true %}\n{% endif %}\n\n  {{ n }}\n  {% set q = 1 %}\n z", "a\r\n{% if true %}\r\nb{% endif %}\r\n",
    "a\rb\r", "  {%+ if true %}x{% endif %}", "x  {% if true %}y{% endif %}", "  {{ n }}\n  {{- n }}\n  {{ n -}}\n  z", "\n\n", "", "\n", "{{ n }}\n",
    "  {# c #}  \n  {#- d -#}  \n x", "{% raw %}\n a {% endraw %}\n b", "  {% raw %}x{% endraw %}\n", " {%- raw %} x {% endraw -%} \n b",
    "{% for x in l %}\n  {{ x }}\n{% endfor %}\n", "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\n", "\t{% if true %}\tx\n\t{% endif %}\n", "\u00a0{% if true %}x{% endif %}",
    "a\n\n{% if true %}\n\nb\n\n{% endif %}\n\nc\n\n", "{% set x %}\n a\n{% endset %}[{{ x }}]", "{% macro f() %}\n a\n{% endmacro %}\n[{{ f() }}]",
    "{{ '{{' }} {{ '%}' }} {{ \"}}\" }}", "{{ {'a': {'b': 1}} }}", "{{ {'a': {'b': 1}}}}", "{ { % } {x} {", "{{ n}}{{n }}", "{%if true%}x{%endif%}", "{{- n -}}", "{{n-1}}{{n -1}}",
    "{%- set ns = namespace(x=1) -%}\n{%- for m in messages -%}\n  {{- m.role -}}\n{%- endfor -%}\n",
]


def language():
    lines = [line.replace("\\n", "\n") if line.startswith("\\n") else line for line in LINES.strip("\n").split("\n")]
    return {"variables": VARIABLES, "cases": [{"template": t, **render(t, VARIABLES)} for t in lines + BLANKS]}


def write(path, value):
    pathlib.Path(path).write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1], language())
