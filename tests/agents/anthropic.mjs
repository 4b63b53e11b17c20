#!/usr/bin/env node
// A stand-in for Anthropic's Messages API, on a loopback port, for the real claude CLI. The prompt is its script, as
// answers.mjs describes. Reasons to finish are end_turn, refusal, max_tokens.
//
//     anthropic.mjs FOLDER

import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { answerTo, scriptOf, send, serve, stream } from './answers.mjs'

const blocks = content => (typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? [])
const textOf = content => blocks(content).filter(b => b.type === 'text').map(b => b.text).join('\n')

// Finds the newest prompt with a script. The number of answers after it shows how much of the script is done.
function answer({ messages, tools }) {
    const at = messages.findLastIndex(m => m.role === 'user' && scriptOf(textOf(m.content)).length)
    if (at < 0 || !tools?.length) return { text: 'ok' } // for example for the title of a session
    return answerTo(textOf(messages[at].content), messages.slice(at).filter(m => m.role === 'assistant').length)
}

// The agent tells the model its current folder.
function cwdOf(body) {
    const told = [textOf(body.system), ...body.messages.map(m => textOf(m.content))].join('\n')
    return /working directory:\s*(\/.*)$/im.exec(told)?.[1].trim() ?? '/'
}

const CALLS = {
    write: ({ file, content }, body) => ({ name: 'Write', input: { file_path: path.resolve(cwdOf(body), file), content } }),
    bash: ({ command }) => ({ name: 'Bash', input: { command, description: 'as scripted' } }),
}

function contentOf({ tool, input, text }, body) {
    if (!tool) return { type: 'text', text: text ?? '' }
    return { type: 'tool_use', id: `toolu_${randomUUID()}`, ...(CALLS[tool]?.(input, body) ?? { name: tool, input }) }
}

function message(body, a) {
    return {
        id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: body.model, content: [contentOf(a, body)],
        stop_reason: a.finish ?? (a.tool ? 'tool_use' : 'end_turn'), stop_sequence: null,
        usage: { input_tokens: 100, output_tokens: 20 },
    }
}

// The events of a streamed message.
function* events(m) {
    const [block] = m.content
    const tool = block.type === 'tool_use'
    yield { type: 'message_start', message: { ...m, content: [], stop_reason: null } }
    yield { type: 'content_block_start', index: 0, content_block: { ...block, ...(tool ? { input: {} } : { text: '' }) } }
    const delta = tool
        ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
        : { type: 'text_delta', text: block.text }
    yield { type: 'content_block_delta', index: 0, delta }
    yield { type: 'content_block_stop', index: 0 }
    yield { type: 'message_delta', delta: { stop_reason: m.stop_reason, stop_sequence: null }, usage: m.usage }
    yield { type: 'message_stop' }
}

const ERRORS = { 401: 'authentication_error', 404: 'not_found_error', 429: 'rate_limit_error', 500: 'api_error', 529: 'overloaded_error' }

// A limit gives its reset as the API does: in headers, and in the text that users see.
function sendError(response, { status, message: text, reset, later, overflow, broke }) {
    if (overflow) return send(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' } })
    if (broke) return send(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.' } })
    if (later) return send(response, 429, { type: 'error', error: { type: 'rate_limit_error', message: text } }, { 'retry-after': `${later}` })
    const seconds = reset && Math.round(reset / 1000)
    const headers = reset && { 'anthropic-ratelimit-unified-status': 'rejected', 'anthropic-ratelimit-unified-reset': `${seconds}` }
    const said = reset ? `Claude AI usage limit reached|${seconds}` : text
    send(response, status, { type: 'error', error: { type: ERRORS[status] ?? 'invalid_request_error', message: said } }, headers)
}

function messages(response, body) {
    const a = answer(body)
    if (a.hang) return
    if (a.status) return sendError(response, a)
    const m = message(body, a)
    body.stream ? stream(response, events(m)) : send(response, 200, m)
}

serve((response, pathname, body) => {
    if (pathname === '/v1/messages') messages(response, body)
    else if (pathname === '/v1/messages/count_tokens') send(response, 200, { input_tokens: 100 })
    else sendError(response, { status: 404, message: pathname })
})
