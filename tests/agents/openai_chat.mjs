#!/usr/bin/env node
// A stand-in for OpenAI's chat completions, on a loopback port, for the real opencode and qwen CLIs.
// The prompt is its script, as answers.mjs describes. Reasons to finish are stop, length, content_filter.
//
//     openai_chat.mjs FOLDER

import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { answerTo, scriptOf, send, serve, stream } from './answers.mjs'

const textOf = ({ content }) => (typeof content === 'string' ? content : (content ?? []).map(part => part.text ?? '').join('\n'))

// Finds the newest prompt with a script. The number of answers after it shows how much of the script is done.
function answer({ messages, tools }) {
    const at = messages.findLastIndex(m => m.role === 'user' && scriptOf(textOf(m)).length)
    if (at < 0 || !tools?.length) return { text: 'ok' } // for example for the title of a session
    return answerTo(textOf(messages[at]), messages.slice(at).filter(m => m.role === 'assistant').length)
}

// The agent tells the model its current folder.
function cwdOf({ messages }) {
    const told = /working (?:directory|in the directory):?\s*(\/.*)$/im.exec(messages.map(textOf).join('\n'))
    return told?.[1].trim() ?? '/'
}

// A tool by the client's name for it, even if the client does not offer it, with the arguments of all
// clients.
function call({ tools }, names, values) {
    const offered = tools.map(tool => tool.function.name)
    const name = names.find(n => offered.includes(n)) ?? names[offered.includes('read_file') ? 1 : 0]
    return { name, arguments: JSON.stringify(values) }
}

const CALLS = {
    write(body, { file, content }) {
        const at = path.resolve(cwdOf(body), file)
        return call(body, ['write', 'write_file'], { filePath: at, file_path: at, content })
    },
    bash: (body, { command }) =>
        call(body, ['bash', 'run_shell_command'], { command, description: 'as scripted', is_background: false }),
}

function* chunks(body, a) {
    const base = { id: `chatcmpl-${randomUUID()}`, object: 'chat.completion.chunk', created: 0, model: body.model }
    const chunk = (delta, finish_reason = null) => ({ ...base, choices: [{ index: 0, delta, finish_reason }] })
    yield chunk({ role: 'assistant', content: a.text ?? '' })
    if (a.tool) yield chunk({ tool_calls: [{ index: 0, id: `call_${randomUUID()}`, type: 'function', function: CALLS[a.tool](body, a.input) }] })
    yield chunk({}, a.finish ?? (a.tool ? 'tool_calls' : 'stop'))
    yield { ...base, choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } }
    yield '[DONE]'
}

function whole(body, a) {
    const message = { role: 'assistant', content: a.text ?? '' }
    return { id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: body.model, choices: [{ index: 0, message, finish_reason: 'stop' }] }
}

const OVERFLOW = { code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages', message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages." }
const QUOTA = { code: 'insufficient_quota', type: 'insufficient_quota', message: 'You exceeded your current quota, please check your plan and billing details.' }

function sendError(response, { status, message, reset, later, overflow, broke }) {
    const seconds = later ?? (reset && Math.max(1, Math.ceil((reset - Date.now()) / 1000)))
    const error = overflow ? OVERFLOW : broke ? QUOTA : { message, type: status === 429 ? 'rate_limit_error' : 'invalid_request_error' }
    send(response, status, { error }, seconds && { 'retry-after': `${seconds}` })
}

serve((response, pathname, body) => {
    if (pathname !== '/v1/chat/completions') return send(response, 404, { error: { message: pathname, type: 'invalid_request_error' } })
    const a = answer(body)
    if (a.hang) return
    if (a.status) return sendError(response, a)
    body.stream ? stream(response, chunks(body, a)) : send(response, 200, whole(body, a))
})
