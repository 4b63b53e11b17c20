// Shared by the stand-ins for models. The prompt is the script: its lines "MOCK> ..." are the answers
// of the model, one after the other:
//
//     MOCK> write PATH TEXT      call the tool that writes a file
//     MOCK> fill PATH BYTES      the same, with this amount of text
//     MOCK> bash COMMAND         call the tool that runs a command
//     MOCK> tool NAME JSON       call any tool with that input (anthropic.mjs alone)
//     MOCK> say TEXT             answer with text, which ends the turn
//     MOCK> finish REASON [TEXT] end the turn with this reason of the API
//
// Other lines are hurdles in front of the next answer:
//
//     MOCK> error STATUS         from now on, answer with this HTTP status
//     MOCK> fail COUNT STATUS    the same, COUNT times
//     MOCK> limit SECONDS        a usage limit, which resets this time after the first request that meets it
//     MOCK> later SECONDS        from now on, 429 with a header that asks for a retry after this time
//     MOCK> overflow [COUNT]     the conversation does not fit into the model's context, COUNT times or from now on
//     MOCK> broke                from now on, the account is empty
//     MOCK> hang                 from now on, do not answer
//
// PATH and TEXT may be JSON strings: "two\nlines". After the last line, the model answers "Done.".
//
// An answer is {text} or {tool: 'write' | 'bash' | NAME, input}, with an unusual reason in `finish`;
// or {status, message}, with `reset` (a Date) for a limit, `later` (seconds), `overflow` or `broke`; or {hang}.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

const unquoted = text => (/^".*"$/s.test(text) ? JSON.parse(text) : text)

// Returns the first word, which may be a JSON string, and the rest.
function split(text) {
    const [, first, rest] = /^("(?:[^"\\]|\\.)*"|\S+)\s*(.*)$/s.exec(text)
    return [unquoted(first), unquoted(rest)]
}

const VERBS = {
    write(rest) {
        const [file, content] = split(rest)
        return { tool: 'write', input: { file, content } }
    },
    fill(rest) {
        const [file, bytes] = split(rest)
        return { tool: 'write', input: { file, content: 'Much of it.\n'.repeat(Math.ceil(bytes / 12)) } }
    },
    bash: rest => ({ tool: 'bash', input: { command: unquoted(rest) } }),
    tool(rest) {
        const [name] = split(rest)
        return { tool: name, input: JSON.parse(rest.slice(name.length)) }
    },
    say: rest => ({ text: unquoted(rest) }),
    finish(rest) {
        const [finish, text] = split(rest)
        return { finish, text }
    },
}

// APIs give the reset in full seconds. If a minute begins before that, we use the beginning of the minute: some agents
// print only the minute, which is exact then.
function resetAfter(seconds) {
    const minute = Math.ceil(Date.now() / 60000) * 60000
    return new Date(Math.min(minute, Math.ceil(Date.now() / 1000 + seconds) * 1000))
}

const failure = status => ({ status, message: `scripted ${status}` })

// The hurdle instead of the next answer, if any; `met` records the first meeting of each.
const HURDLES = {
    error: rest => failure(Number(rest)),
    fail(rest, met) {
        const [count, status] = rest.split(/\s+/).map(Number)
        met.times = (met.times ?? 0) + 1
        return met.times <= count ? failure(status) : undefined
    },
    limit(rest, met) {
        met.reset ??= resetAfter(Number(rest))
        return Date.now() < met.reset ? { ...failure(429), reset: met.reset } : undefined
    },
    later: rest => ({ status: 429, message: `Rate limit reached. Please try again in ${rest}s.`, later: Number(rest) }),
    overflow(rest, met) {
        met.times = (met.times ?? 0) + 1
        return met.times <= Number(rest || Infinity) ? { ...failure(400), overflow: true } : undefined
    },
    broke: () => ({ ...failure(429), broke: true }),
    hang: () => ({ hang: true }),
}

export const scriptOf = text => [...text.matchAll(/^[ \t]*MOCK>[ \t]*(\w+)[ \t]*(.*)$/gm)]

const hurdlesMet = new Map() // by the script and its line: a resumed session has other text around the script

function met(script, at) {
    const key = `${at} ${script.map(line => line[0]).join()}`
    if (!hurdlesMet.has(key)) hurdlesMet.set(key, {})
    return hurdlesMet.get(key)
}

// The next answer to a prompt after `done` answers.
export function answerTo(prompt, done) {
    const script = scriptOf(prompt)
    for (const [at, [, verb, rest]] of script.entries()) {
        const hurdle = HURDLES[verb] && HURDLES[verb](rest, met(script, at))
        if (hurdle) return hurdle
        if (!HURDLES[verb] && done-- === 0) return VERBS[verb](rest)
    }
    return { text: 'Done.' }
}

export function send(response, status, body, headers) {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
}

export function stream(response, events) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) {
        const name = event.type ? `event: ${event.type}\n` : ''
        response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    }
    response.end()
}

// Serves reply(response, pathname, body) on a loopback port. In FOLDER, the program's argument, it makes
// `requests`, one JSON object per line (path and body of each POST), and `port` when it listens. It prints its answers on
// standard output. SIGTERM ends it.
export function serve(reply) {
    const folder = process.argv[2]
    const server = http.createServer(async (request, response) => {
        let text = ''
        for await (const chunk of request) text += chunk
        const { pathname } = new URL(request.url, 'http://localhost')
        response.on('close', () => console.log(new Date().toISOString(), request.method, pathname, text.length, response.statusCode))
        if (request.method === 'HEAD') return response.end() // a test if we are there
        try {
            const body = text ? JSON.parse(text) : {}
            if (request.method === 'POST') fs.appendFileSync(path.join(folder, 'requests'), `${JSON.stringify({ path: pathname, body })}\n`)
            reply(response, pathname, body)
        } catch (error) { // an invalid script: agents do not retry after 400
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
