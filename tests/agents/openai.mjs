#!/usr/bin/env node
// A stand-in for OpenAI's Responses API, on a loopback port, for the real codex CLI. The prompt is its script, as
// answers.mjs describes. `finish refusal TEXT` is a refusal, any other reason is a truncated answer.
//
//     openai.mjs FOLDER

import { randomUUID } from 'node:crypto'
import { answerTo, scriptOf, send, serve, stream } from './answers.mjs'

const textOf = ({ content }) => (typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('\n'))

// Finds the newest prompt with a script. Each later call and message of the model was an answer.
function answer({ input, tools }) {
    const at = input.findLastIndex(item => item.role === 'user' && scriptOf(textOf(item)).length)
    if (at < 0 || !tools?.length) return { text: 'ok' }
    const done = input.slice(at).filter(item => item.type === 'function_call' || item.role === 'assistant')
    return answerTo(textOf(input[at]), done.length)
}

const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`
const COMMANDS = {
    bash: ({ command }) => command,
    write: ({ file, content }) => `printf %s ${quoted(content)} >${quoted(file)}`,
}

// The only item of an answer.
function itemOf(a) {
    if (a.tool) {
        const args = JSON.stringify({ cmd: COMMANDS[a.tool](a.input) })
        return { type: 'function_call', id: `fc_${randomUUID()}`, call_id: `call_${randomUUID()}`, name: 'exec_command', arguments: args, status: 'completed' }
    }
    const part = a.finish === 'refusal' ? { type: 'refusal', refusal: a.text } : { type: 'output_text', text: a.text, annotations: [] }
    return { type: 'message', id: `msg_${randomUUID()}`, role: 'assistant', status: 'completed', content: [part] }
}

function* events(body, a) {
    const item = itemOf(a), cut = a.finish && a.finish !== 'refusal'
    const response = { id: `resp_${randomUUID()}`, object: 'response', created_at: 0, model: body.model, status: 'in_progress', output: [] }
    const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 30 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 120 }
    yield { type: 'response.created', response }
    yield { type: 'response.output_item.added', output_index: 0, item }
    yield { type: 'response.output_item.done', output_index: 0, item }
    yield {
        type: cut ? 'response.incomplete' : 'response.completed',
        response: { ...response, status: cut ? 'incomplete' : 'completed', output: [item], usage, incomplete_details: cut ? { reason: a.finish } : null },
    }
}

const QUOTA = { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded your current quota, please check your plan and billing details.' }

// The stream reports an overflow.
const OVERFLOW = [{
    type: 'response.failed',
    response: {
        id: 'resp_0', object: 'response', status: 'failed', output: [],
        error: { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model. Please adjust your input and try again.' },
    },
}]

// A limit gives its reset as it does for accounts with a subscription.
function sendError(response, { status, message, reset, later, broke }) {
    const limit = reset && { type: 'usage_limit_reached', plan_type: 'pro', resets_at: Math.round(reset / 1000) }
    const said = broke ? QUOTA : { message, type: later ? 'rate_limit_error' : 'invalid_request_error', ...limit }
    send(response, status, { error: said }, later && { 'retry-after': `${later}` })
}

serve((response, pathname, body) => {
    if (pathname !== '/v1/responses') return send(response, 404, { error: { message: pathname, type: 'invalid_request_error' } })
    const a = answer(body)
    if (a.hang) return
    if (a.overflow) return stream(response, OVERFLOW)
    if (a.status) return sendError(response, a)
    stream(response, events(body, a))
})
