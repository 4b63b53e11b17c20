// What the stand-ins for models share: the prompt is the script. Its lines "MOCK> ..." are the answers
// of the model, one after the other:
//
//     MOCK> write PATH TEXT      call the tool that writes a file
//     MOCK> bash COMMAND         call the tool that runs a command
//     MOCK> say TEXT             only say that, which ends the turn
//     MOCK> finish REASON [TEXT] end the turn for that reason, in the words of the API
//     MOCK> error STATUS         answer with that HTTP status, from now on
//
// PATH and TEXT may be JSON strings: "two\nlines". After the last line it says "Done.".
//
// An answer is {text} or {tool: 'write' | 'bash', input}, with `finish` where it is not the usual one, or
// {status}.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

const unquoted = text => (/^".*"$/s.test(text) ? JSON.parse(text) : text)

// The first word, which may be a JSON string, and the rest.
function split(text) {
    const [, first, rest] = /^("(?:[^"\\]|\\.)*"|\S+)\s*(.*)$/s.exec(text)
    return [unquoted(first), unquoted(rest)]
}

const VERBS = {
    write(rest) {
        const [file, content] = split(rest)
        return { tool: 'write', input: { file, content } }
    },
    bash: rest => ({ tool: 'bash', input: { command: unquoted(rest) } }),
    say: rest => ({ text: unquoted(rest) }),
    finish(rest) {
        const [finish, text] = split(rest)
        return { finish, text }
    },
    error: rest => ({ status: Number(rest) }),
}

export const scriptOf = text => [...text.matchAll(/^[ \t]*MOCK>[ \t]*(\w+)[ \t]*(.*)$/gm)]

// The answer to a prompt that `done` answers were given to.
export function answerTo(prompt, done) {
    const script = scriptOf(prompt)
    const line = script[Math.min(done, script.findIndex(l => l[1] === 'error') >>> 0)]
    return line ? VERBS[line[1]](line[2]) : { text: 'Done.' }
}

export function send(response, status, body) {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
}

export function stream(response, events) {
    const lines = [...events].map(event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(lines.join(''))
}

// Serves on a loopback port: reply(response, pathname, body). In FOLDER, the program's argument, it makes
// `requests`, one JSON object per line (path and body of each POST), and, once it listens, `port`.
// SIGTERM ends it.
export function serve(reply) {
    const folder = process.argv[2]
    const server = http.createServer(async (request, response) => {
        let text = ''
        for await (const chunk of request) text += chunk
        const { pathname } = new URL(request.url, 'http://localhost')
        response.on('close', () => console.log(new Date().toISOString(), request.method, pathname, text.length, response.statusCode))
        try {
            const body = text ? JSON.parse(text) : {}
            if (request.method === 'POST') fs.appendFileSync(path.join(folder, 'requests'), `${JSON.stringify({ path: pathname, body })}\n`)
            reply(response, pathname, body)
        } catch (error) { // a script that makes no sense: 400 is not tried again
            console.error(error)
            send(response, 400, { error: { code: 400, message: error.message, type: 'invalid_request_error' } })
        }
    })
    process.on('SIGTERM', () => process.exit(0))
    server.listen(0, '127.0.0.1', () => {
        fs.writeFileSync(path.join(folder, 'port.new'), `${server.address().port}\n`)
        fs.renameSync(path.join(folder, 'port.new'), path.join(folder, 'port'))
    })
}
