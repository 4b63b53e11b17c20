#!/usr/bin/env node
// A stand-in for the Gemini API, on a loopback port, for the real gemini CLI. The prompt is its script, as answers.mjs
// describes. Reasons to finish are STOP, SAFETY, MAX_TOKENS, ...
//
//     gemini.mjs FOLDER

import { answerTo, scriptOf, send, serve, stream } from './answers.mjs'

const textOf = content => (content.parts ?? []).map(part => part.text ?? '').join('\n')

// Finds the newest prompt with a script. The number of the model's turns after it shows how much of the script is done.
function answer({ contents = [], tools }) {
    const at = contents.findLastIndex(c => c.role === 'user' && scriptOf(textOf(c)).length)
    if (at < 0 || !tools?.length) return { text: '{}' } // for a helper that expects JSON
    return answerTo(textOf(contents[at]), contents.slice(at).filter(c => c.role === 'model').length)
}

const CALLS = {
    write: ({ file, content }) => ({ name: 'write_file', args: { file_path: file, content } }),
    bash: ({ command }) => ({ name: 'run_shell_command', args: { command, description: 'as scripted' } }),
}

// Text arrives in pieces.
function parts({ tool, input, text }) {
    if (tool) return [{ functionCall: CALLS[tool](input) }]
    return (text?.match(/.{1,12}/gs) ?? []).map(piece => ({ text: piece }))
}

const candidate = (pieces, more) => ({ candidates: [{ content: { role: 'model', parts: pieces }, index: 0, ...more }], modelVersion: 'scripted' })

// A limit gives its reset only as text: with a RetryInfo, gemini would wait by itself.
function sendError(response, { status, message, reset, later, overflow, broke }) {
    if (overflow) return send(response, 400, { error: { code: 400, message: 'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).', status: 'INVALID_ARGUMENT' } })
    if (broke) return send(response, 429, { error: { code: 429, message: 'You exceeded your current quota, please check your plan and billing details.', status: 'RESOURCE_EXHAUSTED' } })
    if (later) return send(response, 429, { error: { code: 429, message: 'Resource has been exhausted.', status: 'RESOURCE_EXHAUSTED', details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${later}s` }] } })
    const seconds = reset && Math.max(1, Math.ceil((reset - Date.now()) / 1000))
    const said = reset ? `Quota exceeded for this model. Your quota will reset after ${seconds}s.` : message
    const details = reset ? [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'RATE_LIMIT_EXCEEDED', domain: 'cloudcode-pa.googleapis.com' }] : []
    send(response, status, { error: { code: status, message: said, status: 'SCRIPTED', details } })
}

function reply(response, pathname, body) {
    if (pathname.endsWith(':countTokens')) return send(response, 200, { totalTokens: 100 })
    if (!/:(streamG|g)enerateContent$/.test(pathname)) return send(response, 404, { error: { code: 404, message: pathname, status: 'NOT_FOUND' } })
    const a = answer(body)
    if (a.hang) return
    if (a.status) return sendError(response, a)
    const end = { ...candidate([], { finishReason: a.finish ?? 'STOP' }), usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 } }
    if (pathname.endsWith(':streamGenerateContent')) return stream(response, [...parts(a).map(part => candidate([part])), end])
    end.candidates[0].content.parts = parts(a)
    send(response, 200, end)
}

serve(reply)
