#!/usr/bin/env node
// A stand-in for Gitea's REST API, on a loopback port: pull requests of any repository, for the real tea.
//
//     gitea.mjs FOLDER
//
// In FOLDER it makes `port` when it listens, and `requests`, one JSON object per line: {method, path, body}.
// SIGTERM ends it.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

const folder = process.argv[2]
const pulls = []

const user = login => ({ id: 1, login, username: login })
const now = () => new Date().toISOString()

function pullOf(repo, { head, base, title, body }) {
    const [owner, name] = repo.split('/')
    const repository = { id: 1, name, full_name: repo, owner: user(owner) }
    const side = ref => ({ label: ref, ref, sha: '0'.repeat(40), repo_id: 1, repo: repository })
    const number = pulls.length + 1
    return {
        id: number, number, title, body, state: 'open', user: user('tester'), head: side(head), base: side(base),
        html_url: `http://127.0.0.1/${repo}/pulls/${number}`, created_at: now(), updated_at: now(), mergeable: true,
        allow_maintainer_edit: true, labels: [], assignees: [], repo,
    }
}

const routes = [
    [/^GET \/version$/, () => ({ version: '1.24.0' })],
    [/^GET \/user$/, () => user('tester')],
    [/^GET \/repos\/([^/]+\/[^/]+)\/labels$/, () => []],
    [/^GET \/repos\/([^/]+\/[^/]+)\/pulls$/, repo => pulls.filter(p => p.repo === repo && p.state === 'open')],
    [/^POST \/repos\/([^/]+\/[^/]+)\/pulls$/, (repo, _, body) => {
        const there = pulls.find(p => p.repo === repo && p.state === 'open' && p.head.ref === body.head)
        if (there) return { code: 409, message: 'pull request already exists for these targets' }
        pulls.push(pullOf(repo, body))
        return pulls.at(-1)
    }],
    [/^PATCH \/repos\/([^/]+\/[^/]+)\/issues\/(\d+)$/, (repo, number, { title, body }) => { // a pull request is an issue too
        const pull = pulls.find(p => p.repo === repo && p.number === Number(number))
        return pull ? Object.assign(pull, { title, body }) : { code: 404, message: 'issue does not exist' }
    }],
]

function answer(method, pathname, body) {
    for (const [route, reply] of routes) {
        const found = route.exec(`${method} ${pathname.replace(/^\/api\/v1/, '')}`)
        if (found) return reply(found[1], found[2], body)
    }
    return { code: 404, message: `no such thing: ${pathname}` }
}

const server = http.createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { pathname } = new URL(request.url, 'http://localhost')
    const body = text ? JSON.parse(text) : {}
    fs.appendFileSync(path.join(folder, 'requests'), `${JSON.stringify({ method: request.method, path: pathname, body })}\n`)
    const said = answer(request.method, pathname, body)
    response.writeHead(said.code ?? (request.method === 'POST' ? 201 : 200), { 'content-type': 'application/json' })
    response.end(JSON.stringify(said))
})
process.on('SIGTERM', () => process.exit(0))
server.listen(0, '127.0.0.1', () => {
    fs.writeFileSync(path.join(folder, 'port.new'), `${server.address().port}\n`)
    fs.renameSync(path.join(folder, 'port.new'), path.join(folder, 'port'))
})
