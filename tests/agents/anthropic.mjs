#!/usr/bin/env node
// A stand-in for Anthropic's Messages API, on a loopback port, for the real claude CLI: the model's
// part is played by the prompt, whose lines "MOCK> ..." are its answers, one after the other:
//
//     MOCK> write PATH TEXT      call the tool Write; PATH is relative to the agent's folder
//     MOCK> bash COMMAND         call the tool Bash
//     MOCK> tool NAME JSON       call any tool with that input
//     MOCK> say TEXT             only say that, which ends the turn
//
// PATH and TEXT may be JSON strings: "two\nlines". After the last line it says "Done.".
//
//     anthropic.mjs FOLDER
//
// In FOLDER it makes `requests`, one JSON object per line (the bodies of the requests for messages),
// and, once it listens, `port`. SIGTERM ends it.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

const folder = process.argv[2]

// --- the script

const unquoted = text => (/^".*"$/s.test(text) ? JSON.parse(text) : text)

// The first word, which may be a JSON string, and the rest.
function split(text) {
    const [, first, rest] = /^("(?:[^"\\]|\\.)*"|\S+)\s*(.*)$/s.exec(text)
    return [unquoted(first), unquoted(rest)]
}

const say = text => [{ type: 'text', text }]
const call = (name, input) => [{ type: 'tool_use', id: `toolu_${randomUUID()}`, name, input }]

// What the model answers for a line of the script.
const VERBS = {
    write(rest, cwd) {
        const [file, content] = split(rest)
        return call('Write', { file_path: path.resolve(cwd, file), content })
    },
    bash: rest => call('Bash', { command: unquoted(rest), description: 'as scripted' }),
    tool(rest) {
        const [name] = split(rest)
        return call(name, JSON.parse(rest.slice(name.length)))
    },
    say: rest => say(unquoted(rest)),
}

// --- requests

const blocks = content => (typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? [])
const textOf = content => blocks(content).filter(b => b.type === 'text').map(b => b.text).join('\n')
const scriptOf = message => [...textOf(message.content).matchAll(/^[ \t]*MOCK>[ \t]*(\w+)[ \t]*(.*)$/gm)]

// The agent tells the model where it is.
function cwdOf(body) {
    const told = [textOf(body.system), ...body.messages.map(m => textOf(m.content))].join('\n')
    return /working directory:\s*(\/.*)$/im.exec(told)?.[1].trim() ?? '/'
}

// The newest prompt with a script, and the answers that were given to it: that many lines are done.
function answer(body) {
    const at = body.messages.findLastIndex(m => m.role === 'user' && scriptOf(m).length)
    if (at < 0 || !body.tools?.length) return say('ok') // a session's title, and the like
    const done = body.messages.slice(at).filter(m => m.role === 'assistant').length
    const line = scriptOf(body.messages[at])[done]
    return line ? VERBS[line[1]](line[2], cwdOf(body)) : say('Done.')
}

// --- replies

function message(body, content) {
    return {
        id: `msg_${randomUUID()}`, type: 'message', role: 'assistant', model: body.model, content,
        stop_reason: content[0].type === 'tool_use' ? 'tool_use' : 'end_turn', stop_sequence: null,
        usage: { input_tokens: 100, output_tokens: 20 },
    }
}

// A message as the events in which it is streamed.
function* events(m) {
    yield { type: 'message_start', message: { ...m, content: [], stop_reason: null } }
    for (const [index, block] of m.content.entries()) {
        const tool = block.type === 'tool_use'
        yield { type: 'content_block_start', index, content_block: { ...block, ...(tool ? { input: {} } : { text: '' }) } }
        const delta = tool
            ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
            : { type: 'text_delta', text: block.text }
        yield { type: 'content_block_delta', index, delta }
        yield { type: 'content_block_stop', index }
    }
    yield { type: 'message_delta', delta: { stop_reason: m.stop_reason, stop_sequence: null }, usage: m.usage }
    yield { type: 'message_stop' }
}

function send(response, status, body) {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
}

function stream(response, m) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events(m)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
}

// --- the server

function messages(response, body) {
    fs.appendFileSync(path.join(folder, 'requests'), `${JSON.stringify(body)}\n`)
    const m = message(body, answer(body))
    body.stream ? stream(response, m) : send(response, 200, m)
}

const server = http.createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { pathname } = new URL(request.url, 'http://localhost')
    response.on('close', () => console.log(new Date().toISOString(), request.method, pathname, text.length, response.statusCode))
    try {
        if (pathname === '/v1/messages') messages(response, JSON.parse(text))
        else if (pathname === '/v1/messages/count_tokens') send(response, 200, { input_tokens: text.length >> 2 })
        else if (request.method === 'HEAD') response.end() // looking whether we are there
        else send(response, 404, { type: 'error', error: { type: 'not_found_error', message: pathname } })
    } catch (error) { // a script that makes no sense: 400 is not tried again
        console.error(error)
        send(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: error.message } })
    }
})

process.on('SIGTERM', () => process.exit(0))
server.listen(0, '127.0.0.1', () => {
    fs.writeFileSync(path.join(folder, 'port.new'), `${server.address().port}\n`)
    fs.renameSync(path.join(folder, 'port.new'), path.join(folder, 'port'))
})
