#!/usr/bin/env node
// A stand-in for GitHub's API, on a unix socket: pull requests of one repository, for the real gh.
//
//     github.mjs FOLDER
//
// FOLDER/OWNER/NAME.git are the bare repositories of the pull requests. In FOLDER it
// makes `socket`, and `requests`, one JSON object per line: {operation, variables}, or {method, path}
// if it is not GraphQL. It rejects pull requests from the branches that the file `refuse` lists, one per
// line. SIGTERM ends it.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { execute, operationName } from './graphql.mjs'

const folder = process.argv[2]
const pulls = []

class Refused extends Error {}

function git(repo, ...args) {
    const r = spawnSync('git', ['-C', path.join(folder, `${repo}.git`), ...args], { encoding: 'utf8' })
    return r.status === 0 ? r.stdout.trim() : null
}

const tip = (repo, branch) => git(repo, 'rev-parse', '--verify', '-q', `refs/heads/${branch}`)

const connection = nodes => ({ nodes, totalCount: nodes.length, pageInfo: { hasNextPage: false, endCursor: '' } })
const owner = login => ({ id: `U_${login}`, login, name: login })

function pullRequest(p) {
    const [login, name] = p.headRepo.split('/')
    const empty = connection([])
    return {
        ...p,
        id: `PR_${p.number}`,
        url: `https://github.com/${p.repo}/pull/${p.number}`,
        closed: p.state !== 'OPEN',
        headRefOid: p.headRefOid ?? tip(p.headRepo, p.headRefName),
        headRepository: { id: 'R_1', name },
        headRepositoryOwner: owner(login),
        isCrossRepository: p.headRepo !== p.repo,
        author: { login: 'tester' },
        mergeable: 'MERGEABLE',
        mergeStateStatus: 'CLEAN',
        reviewRequests: empty, assignees: empty, labels: empty, projectCards: empty, projectItems: empty,
        commits: empty, comments: empty, reviews: empty, files: empty,
    }
}

function repository({ owner: login, name }) {
    const repo = `${login}/${name}`
    const ours = wanted => connection(pulls.filter(p => p.repo === repo && wanted(p)).map(pullRequest))
    return {
        id: `R_${repo}`, name, owner: owner(login), nameWithOwner: repo,
        viewerPermission: 'ADMIN', hasIssuesEnabled: true, isPrivate: false,
        mergeCommitAllowed: true, rebaseMergeAllowed: true, squashMergeAllowed: true,
        defaultBranchRef: { name: git(repo, 'symbolic-ref', '--short', 'HEAD') },
        pullRequest({ number }) {
            return ours(p => p.number === number).nodes[0] ??
                refuse(`Could not resolve to a PullRequest with the number of ${number}.`, 'NOT_FOUND')
        },
        pullRequests({ headRefName, baseRefName, states }) {
            return ours(p => (!headRefName || p.headRefName === headRefName) &&
                (!baseRefName || p.baseRefName === baseRefName) &&
                (!states || [states].flat().includes(p.state)))
        },
    }
}

function refuse(message, type = 'UNPROCESSABLE') {
    throw Object.assign(new Refused(message), { type })
}

function refusedBranches() {
    const file = path.join(folder, 'refuse')
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : []
}

// A branch of a fork is "OWNER:BRANCH".
function headOf(repo, name) {
    const [login, branch] = name.includes(':') ? name.split(':') : [repo.split('/')[0], name]
    return { headRepo: `${login}/${repo.split('/')[1]}`, head: branch }
}

// The reasons for which GitHub rejects a pull request.
function checkNew(repo, { headRefName, baseRefName: base }) {
    const { headRepo, head } = headOf(repo, headRefName)
    if (refusedBranches().includes(head)) refuse(`Refused: ${head}`)
    if (!tip(headRepo, head)) refuse(`Head sha can't be blank, Head ref must be a branch`)
    if (!tip(repo, base)) refuse(`Base sha can't be blank, Base ref must be a branch`)
    if (git(repo, 'merge-base', '--is-ancestor', tip(headRepo, head), `refs/heads/${base}`) !== null)
        refuse(`No commits between ${base} and ${head}`)
    if (pulls.some(p => p.repo === repo && p.headRepo === headRepo && p.state === 'OPEN' &&
        p.headRefName === head && p.baseRefName === base))
        refuse(`A pull request already exists for ${headRepo.split('/')[0]}:${head}.`)
}

function change(id, values) {
    const p = pulls.find(x => `PR_${x.number}` === id) ?? refuse(`no ${id}`, 'NOT_FOUND')
    for (const [key, value] of Object.entries(values)) p[key] = value ?? p[key]
    return { pullRequest: pullRequest(p), clientMutationId: '' }
}

const settled = id => {
    const p = pulls.find(x => `PR_${x.number}` === id)
    return p && tip(p.headRepo, p.headRefName)
}

const root = {
    viewer: { id: 'U_tester', login: 'tester', name: 'Tester' },
    __type: () => ({ fields: [], enumValues: [] }), // gh queries optional features
    repository,
    createPullRequest({ input: i }) {
        const repo = i.repositoryId.slice('R_'.length)
        checkNew(repo, i)
        const { title, body, baseRefName } = i
        const { headRepo, head } = headOf(repo, i.headRefName)
        pulls.push({
            number: pulls.length + 1, repo, headRepo, title, body, headRefName: head, baseRefName,
            isDraft: Boolean(i.draft), state: 'OPEN', createdAt: new Date().toISOString(), mergedAt: null,
        })
        return { pullRequest: pullRequest(pulls.at(-1)) }
    },
    updatePullRequest({ input: i }) {
        return change(i.pullRequestId, { title: i.title, body: i.body, baseRefName: i.baseRefName })
    },
    // The test itself must bring the work into the base branch.
    mergePullRequest({ input: i }) {
        return change(i.pullRequestId, {
            state: 'MERGED', mergedAt: new Date().toISOString(), headRefOid: settled(i.pullRequestId),
        })
    },
    closePullRequest({ input: i }) {
        return change(i.pullRequestId, { state: 'CLOSED', headRefOid: settled(i.pullRequestId) })
    },
}

function answer(query, variables) {
    try {
        return { data: execute(query, variables, root) }
    } catch (error) {
        if (!(error instanceof Refused)) throw error
        return { data: null, errors: [{ type: error.type, message: error.message }] }
    }
}

function record(line) {
    fs.appendFileSync(path.join(folder, 'requests'), `${JSON.stringify(line)}\n`)
}

function send(response, status, body) {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'x-oauth-scopes': 'repo, read:org' })
    response.end(JSON.stringify(body))
}

const server = http.createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.url !== '/graphql') {
        record({ method: request.method, path: request.url })
        return send(response, 404, { message: 'Not Found' })
    }
    const { query, variables } = JSON.parse(text)
    record({ operation: operationName(query), variables })
    try {
        send(response, 200, answer(query, variables))
    } catch (error) {
        console.error(error)
        send(response, 500, { message: error.message })
    }
})

process.on('SIGTERM', () => process.exit(0))
server.listen(path.join(folder, 'socket'))
