// SPDX-License-Identifier: Apache-2.0
//
// The page at "/": a chat and live numbers, in one file without anything from elsewhere. Text of the model
// and of the person is only ever set as text, never as markup.
//
// Tested by tests/serve/Telemetry.cpp.
#include "serve/Service.h"

namespace pewter::serve {
namespace {

constexpr const char *kPage = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Pewter</title>
<style>
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --accent: #4a7ebb }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; display: grid; grid-template-columns: 1fr 22rem; height: 100vh }
main { display: flex; flex-direction: column; min-width: 0; border-right: 1px solid var(--line) }
#chat { flex: 1; overflow-y: auto; padding: 1rem }
.turn { max-width: 46rem; margin: 0 auto .8rem; padding: .5rem .8rem; border-radius: .5rem; white-space: pre-wrap; overflow-wrap: anywhere }
.user { background: var(--soft) } .reasoning { opacity: .6; font-style: italic } .error { color: #c33 }
form { display: flex; gap: .5rem; padding: .8rem; border-top: 1px solid var(--line) }
textarea { flex: 1; resize: none; font: inherit; padding: .4rem } button { font: inherit; padding: 0 1rem }
aside { padding: 1rem; overflow-y: auto } h2 { font-size: 1rem; margin: 1rem 0 .3rem }
table { border-collapse: collapse; width: 100%; font-size: .85rem } td { padding: .1rem .3rem; border-bottom: 1px solid var(--soft) }
td:last-child { text-align: right; font-variant-numeric: tabular-nums }
meter { width: 100% } svg { width: 100%; height: 9rem; background: var(--soft) } input { width: 100%; font: inherit }
@media (max-width: 50rem) { body { grid-template-columns: 1fr; height: auto } #chat { min-height: 50vh } }
</style></head><body>
<main><div id="chat" role="log" aria-live="polite"></div>
<form id="form"><textarea id="text" rows="2" placeholder="Say something" autofocus></textarea>
<button id="send">Send</button><button id="stop" type="button" hidden>Stop</button></form></main>
<aside><b id="model">Pewter</b><div id="device"></div>
<label>API key <input id="key" type="password" autocomplete="off"></label>
<h2>Slots</h2><table id="slots"></table>
<h2>Server</h2><table id="numbers"></table>
<h2>Memory read by a step, over what the machine gives</h2><meter id="share" max="1" value="0"></meter>
<h2>Groups of a token</h2><svg id="timeline" preserveAspectRatio="none"></svg><div id="groups"></div></aside>
<script>
'use strict';
const $ = id => document.getElementById(id), messages = [];
let running = null;
$('key').value = localStorage.getItem('pewter-key') || '';
$('key').onchange = () => localStorage.setItem('pewter-key', $('key').value);
const headers = () => $('key').value ? {Authorization: 'Bearer ' + $('key').value} : {};
function turn(kind, text) {
  const box = document.createElement('div');
  box.className = 'turn ' + kind; box.textContent = text;
  $('chat').append(box); $('chat').scrollTop = 1e9;
  return box;
}
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    held += value;
    let end;
    while ((end = held.indexOf('\n\n')) >= 0) {
      const line = held.slice(0, end); held = held.slice(end + 2);
      if (line.startsWith('data: ') && line !== 'data: [DONE]') yield JSON.parse(line.slice(6));
    }
  }
}
async function say(text) {
  messages.push({role: 'user', content: text}); turn('user', text);
  running = new AbortController(); $('send').hidden = true; $('stop').hidden = false;
  let answer = null, thought = null, content = '';
  try {
    const response = await fetch('/v1/chat/completions', {method: 'POST', signal: running.signal,
      headers: {'Content-Type': 'application/json', ...headers()}, body: JSON.stringify({messages, stream: true})});
    if (!response.ok) throw new Error((await response.json()).error.message);
    for await (const event of events(response)) {
      if (event.error) throw new Error(event.error.message);
      const delta = event.choices[0]?.delta || {};
      if (delta.reasoning_content) (thought ||= turn('reasoning', '')).textContent += delta.reasoning_content;
      if (delta.content) { content += delta.content; (answer ||= turn('assistant', '')).textContent = content }
      $('chat').scrollTop = 1e9;
    }
  } catch (error) { if (error.name !== 'AbortError') turn('error', error.message) }
  if (content) messages.push({role: 'assistant', content});
  running = null; $('send').hidden = false; $('stop').hidden = true;
}
$('form').onsubmit = event => {
  event.preventDefault();
  const text = $('text').value.trim();
  if (text && !running) { $('text').value = ''; say(text) }
};
$('text').onkeydown = event => { if (event.key === 'Enter' && !event.shiftKey) { event.preventDefault(); $('form').requestSubmit() } };
$('stop').onclick = () => running?.abort();
function rows(table, list) {
  table.replaceChildren(...list.map(cells => {
    const row = document.createElement('tr');
    for (const cell of cells) { const td = document.createElement('td'); td.textContent = cell; row.append(td) }
    return row;
  }));
}
async function look() {
  try {
    const response = await fetch('/telemetry', {headers: headers()});
    if (!response.ok) throw new Error((await response.json()).error.message);
    const now = await response.json(), limit = now.limit_gigabytes_per_second;
    $('model').textContent = now.model; $('device').textContent = now.device;
    rows($('slots'), now.slots.map(s => [s.id + ' ' + s.state, s.position + ' / ' + s.n_ctx, s.tokens_per_second.toFixed(1) + ' tok/s']));
    rows($('numbers'), [['waiting', now.queue], ['cache in use', (now.cache_fill * 100).toFixed(1) + ' %'],
      ['steps of 1, 2, 3, 4 rows', now.steps.join(', ')], ['last step', now.step_milliseconds.toFixed(2) + ' ms'],
      ['weights per second', now.gigabytes_per_second.toFixed(2) + (limit ? ' of ' + limit.toFixed(1) : '') + ' GB/s']]);
    $('share').value = limit ? now.gigabytes_per_second / limit : 0;
    const all = now.timeline;
    if (all.length) {
      const begin = all[0].start, span = Math.max(...all.map(g => g.end)) - begin, svg = $('timeline');
      svg.setAttribute('viewBox', '0 0 ' + all.length + ' 100');
      const most = Math.max(...all.map(g => g.end - g.start));
      svg.replaceChildren(...all.map((g, i) => {
        const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
        const height = 100 * (g.end - g.start) / most;
        for (const [name, value] of Object.entries({x: i, y: 100 - height, width: .9, height, fill: 'var(--accent)'})) bar.setAttribute(name, value);
        const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
        title.textContent = g.label + (g.layer >= 0 ? ' ' + g.layer : '') + ': ' + ((g.end - g.start) * 1e6).toFixed(0) + ' us';
        bar.append(title);
        return bar;
      }));
      $('groups').textContent = all.length + ' groups in ' + (span * 1e3).toFixed(2) + ' ms';
    }
  } catch (error) { $('device').textContent = error.message }
  setTimeout(look, 1000);
}
look();
</script></body></html>
)html";

} // namespace

HttpReply Service::page(const HttpRequest &) {
  return {.contentType = "text/html; charset=utf-8",
          .body = kPage,
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-store"}}};
}

} // namespace pewter::serve
