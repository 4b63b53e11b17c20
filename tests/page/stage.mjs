// Tools of the tests of the page: repositories with runs, the server, and pages of a browser.

import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {createRequire} from 'node:module';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const [, , modules, executablePath, work] = process.argv;
const require = createRequire(join(modules, 'of-the-page.js'));
const {chromium} = require('playwright-core');
export const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const program = process.env.ANABRANCH;
const children = new Set();
let browser;

export async function openBrowser() {
    // Containers have no sandbox for the browser, and it loads only our own page. The options for fonts make letters
    // independent of the machine.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-lcd-text', '--font-render-hinting=none'];
    browser = await chromium.launch({executablePath, args});
}

export async function closeAll() {
    await browser?.close();
    for (const child of children)
        child.kill('SIGKILL');
}

export async function until(what, test, ms = 15000) {
    for (const end = Date.now() + ms; Date.now() < end;) {
        const got = await test();
        if (got)
            return got;
        await new Promise((go) => setTimeout(go, 30));
    }
    throw new Error(`never: ${what}`);
}

export class Repo {
    constructor(name) {
        this.dir = join(work, name);
        mkdirSync(this.dir);
        const git = (...args) => execFileSync('git', args, {cwd: this.dir});
        git('init', '-q', '-b', 'main');
        git('config', 'user.name', 'Tester');
        git('config', 'user.email', 'tester@example.com');
        writeFileSync(join(this.dir, '.git/info/exclude'), 'plan.yaml\n');
        writeFileSync(join(this.dir, 'file'), 'one\ntwo\nthree\n');
        git('add', '.');
        git('commit', '-q', '-m', 'start');
    }

    // Lets an agent continue that waits for this file.
    let(name) {
        writeFileSync(join(work, name), '');
    }

    waitStep(name) {
        return `sh n=0; until test -e ${join(work, name)}; do sleep 0.05; n=$((n+1)); test $n -lt 1000 || exit 1; done`;
    }

    plan(name, tasks) {
        const lines = [`name: ${JSON.stringify(name)}`, 'tasks:'];
        for (const {id, steps, ...keys} of tasks) {
            lines.push(`  - id: ${id}`, ...Object.entries(keys).map(([k, v]) => `    ${k}: ${JSON.stringify(v)}`), '    prompt: |',
                ...steps.map((s) => `      sim> ${s}`));
        }
        writeFileSync(join(this.dir, 'plan.yaml'), `${lines.join('\n')}\n`);
    }

    start() {
        const child = spawn(program, ['run', '--engine', 'sim', '--json', '--workers', '8', 'plan.yaml'], {cwd: this.dir, stdio: ['ignore', 'pipe', 'ignore']});
        children.add(child);
        child.stdout.resume();
        this.child = child;
        this.ended = new Promise((go) => child.on('exit', (code) => {
            children.delete(child);
            go(code);
        }));
        return this.ended;
    }

    // Kills the engine, and waits for its end.
    async kill() {
        this.child.kill('SIGKILL');
        await this.ended;
    }

    resume() {
        execFileSync(program, ['resume'], {cwd: this.dir, stdio: ['ignore', 'ignore', 'ignore']});
    }

    // Asks the store of the runs.
    query(sql) {
        return execFileSync('sqlite3', [join(this.dir, '.git/anabranch/state.db'), '.timeout 10000', sql], {encoding: 'utf8'}).trim();
    }

    // The newest run, or '' if there is none yet.
    run() {
        const {stdout} = spawnSync(program, ['history', '-n', '1'], {cwd: this.dir, encoding: 'utf8'});
        return stdout.split(' ')[0];
    }

    // Invents a run with this number of tasks and bytes of log, to test the page only.
    invent(tasks, logBytes) {
        return execFileSync('python3', [join(import.meta.dirname, 'invent.py'), join(this.dir, '.git/anabranch'), tasks, logBytes], {encoding: 'utf8'}).trim();
    }
}

export class Server {
    constructor(repo, ...args) {
        this.repo = repo;
        this.args = args;
    }

    async start() {
        const child = spawn(program, ['serve', ...this.args], {cwd: this.repo.dir, stdio: ['ignore', 'pipe', 'pipe']});
        let out = '';
        children.add(child);
        this.child = child;
        this.errors = '';
        child.stdout.on('data', (d) => { out += d; });
        child.stderr.on('data', (d) => { this.errors += d; });
        this.url = await until('the address', () => /^(http:\S+)\n/.exec(out)?.[1]);
        this.base = this.url.split('#')[0];
    }

    async stop() {
        const {child} = this;
        const code = await new Promise((go) => {
            child.on('exit', go);
            child.kill('SIGTERM');
        });
        children.delete(child);
        if (code !== 0 || this.errors)
            throw new Error(`the server ended with ${code}: ${this.errors}`);
    }
}

// `complaints` collects the errors of the browser, except those about an unreachable server.
export async function openPage(options) {
    const context = await browser.newContext({viewport: {width: 1280, height: 800}, ...options});
    const page = await context.newPage();
    page.complaints = [];
    page.on('console', (m) => m.type() === 'error' && !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of 40[14]/.test(m.text()) &&
        page.complaints.push(m.text()));
    page.on('pageerror', (e) => page.complaints.push(e.stack));
    page.setDefaultTimeout(10000);
    return page;
}

export async function go(page, run, ...parts) {
    await page.evaluate((hash) => { location.hash = hash; }, `#/r/${[run, ...parts].join('/')}`);
}
