// Tests the page in a browser: its content, its live updates, speed, security and accessibility.
// Prints one line per test, then the totals.

import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import {axeSource, closeAll, go, openBrowser, openPage, Repo, Server, until} from './stage.mjs';
import {pictureTests} from './pictures.mjs';

const filter = process.argv[5] || '';
const evil = '<script>window.pwned=1</script><img src=x onerror="window.pwned=2">';
const views = ['tasks', 'graph', 'timeline', 'conflicts', 'costs', 'history', 'task/evil/log', 'task/late/diff', 'task/evil/events'];
const tests = [];
const test = (name, fn) => tests.push({name, fn});

// A run whose agents wait for signals of the tests, and its page.
const repo = new Repo('live');
const server = new Server(repo);
let run, page;

async function setUp() {
    repo.plan(`a plan ${evil}`, [
        {id: 'evil', title: `${evil}\u202e`, steps: [`say ${evil}`, 'say the first line', 'action watching evil', 'tokens 1000 200 0.25', repo.waitStep('go-evil'), 'say the last line', 'write made evil']},
        {id: 'one', steps: ['write both one']},
        {id: 'two', steps: [repo.waitStep('go-two'), 'write both two']},
        {id: 'late', depends_on: ['evil'], steps: ['write file four', 'tokens 10 20 0.05']},
        {id: 'look', read_only: true, depends_on: ['late'], steps: [repo.waitStep('go-look'), 'say looked']},
        {id: 'bad', retry: {transient: 0}, steps: ['err it broke', 'exit 1']},
    ]);
    repo.start();
    run = await until('a run', () => repo.run());
    await server.start();
    page = await openPage();
    await page.goto(server.url);
    await page.waitForSelector('table.tasks tbody a');
}

const stateOf = (id) => page.evaluate((name) => [...document.querySelectorAll('table.tasks tbody tr')]
    .find((tr) => tr.querySelector('a')?.textContent === name)?.querySelector('.state')?.lastChild.textContent, id);

async function axe(where, what, rules) {
    if (!await where.evaluate(() => 'axe' in window))
        await where.evaluate(axeSource);
    const found = await where.evaluate((values) => window.axe.run(document, {resultTypes: ['violations'], ...values}), rules ? {runOnly: rules} : {});
    return found.violations.map((v) => `${what}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
}

// The cost of an action: milliseconds of the page's own thread, and milliseconds until it is painted. We take the minimum of
// several measurements, because other work of the machine only adds time. `undo` runs in between and is not measured.
async function timeOf(where, action, times = 5, undo = '') {
    const tool = await where.context().newCDPSession(where);
    const busy = async () => (await tool.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
    const own = [], painted = [];
    await tool.send('Performance.enable', {timeDomain: 'threadTicks'});
    for (let i = 0; i < times; i++) {
        const before = await busy();
        painted.push(await where.evaluate(async ([source, n]) => {
            const from = performance.now();
            new Function('i', source)(n);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            return performance.now() - from;
        }, [action, i]));
        own.push(await busy() - before);
        await where.evaluate((source) => new Function(source)(), undo);
        await where.waitForTimeout(40);
    }
    await tool.detach();
    return {own: Math.round(Math.min(...own)), painted: Math.round(Math.min(...painted))};
}

test('without the token, or with a wrong one, nothing is shown', async () => {
    const stranger = await openPage();
    for (const url of [server.base, `${server.base}#token=${'0'.repeat(64)}`]) {
        await stranger.goto('about:blank');
        await stranger.goto(url);
        await stranger.waitForSelector('[role="alert"]');
        assert.match(await stranger.textContent('main'), /Access denied/);
        assert.equal(await stranger.locator('table').count(), 0);
    }
    await stranger.context().close();
});

test('the token leaves the address, and no script can read the cookie', async () => {
    assert.ok(!page.url().includes('token'));
    assert.equal(await page.evaluate(() => document.cookie), '');
    const [cookie] = await page.context().cookies();
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict' && !server.url.includes(cookie.value));
    await page.reload();
    await page.waitForSelector('table.tasks tbody a');
});

test('tasks and logs go on by themselves', async () => {
    await until('evil runs', async () => await stateOf('evil') === 'running');
    await until('bad has failed', async () => await stateOf('bad') === 'failed');
    assert.match(await page.textContent('.connection'), /live/);
    await until('why another one waits', async () => /late.*waits for evil/.test(await page.textContent('table.tasks')));
    await until('what it does', async () => /watching/.test(await page.textContent('table.tasks')));
    await go(page, run, 'task', 'evil');
    await page.waitForFunction(() => document.querySelector('.log')?.textContent.includes('the first line'));
    assert.ok(!(await page.textContent('.log')).includes('the last line'));
    repo.let('go-evil');
    await page.waitForFunction(() => document.querySelector('.log').textContent.includes('the last line'));
    await until('it has landed', async () => /landed/.test(await page.textContent('.task-head')));
    await go(page, run, 'tasks');
    await until('late has landed', async () => await stateOf('late') === 'landed');
});

test('a script in a name, a title or a log stays text', async () => {
    assert.equal(await page.textContent('h1'), `a plan ${evil}`);
    assert.equal(await page.title(), `Tasks · a plan ${evil}`);
    assert.ok((await page.textContent('table.tasks')).includes(evil));
    await go(page, run, 'task', 'evil', 'log');
    await page.waitForFunction((text) => document.querySelector('.log')?.textContent.includes(text), evil);
    // The page shows characters that change the direction of text as escapes.
    assert.ok((await page.textContent('.task-head')).endsWith(`${evil}\\u{202E}`));
    await go(page, run, 'task', 'evil', 'events');
    await page.waitForFunction(() => document.querySelector('main').textContent.includes('watching evil'));
    assert.equal(await page.locator('main img, main script, header img').count(), 0);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
});

test('it goes on where it was when the server is started again', async () => {
    await go(page, run, 'tasks');
    await page.waitForSelector('table.tasks');
    await server.stop();
    await page.waitForFunction(() => /not connected/.test(document.querySelector('.connection').textContent));
    repo.let('go-two');
    await until('two has ended', () => /two +conflicted/.test(statusText()));
    const before = server.url;
    await server.start();
    assert.equal(server.url, before);
    await page.waitForFunction(() => /live/.test(document.querySelector('.connection').textContent));
    await until('two is in conflict', async () => await stateOf('two') === 'conflicted');
    repo.let('go-look');
    await page.waitForFunction(() => /finished, exit code 4/.test(document.querySelector('header').textContent));
    assert.equal(await repo.ended, 4);
    assert.equal(await stateOf('look'), 'done');
});

test('tasks: filter, states, order, keys', async () => {
    await go(page, run, 'tasks');
    const names = () => page.$$eval('table.tasks tbody a', (all) => all.map((a) => a.textContent));
    assert.deepEqual(await names(), ['evil', 'one', 'two', 'late', 'look', 'bad']);
    await page.keyboard.press('/');
    await page.keyboard.type('BROKE landed');
    assert.deepEqual(await names(), []);
    await page.getByLabel('Filter tasks').fill('transient');
    assert.deepEqual(await names(), ['bad']);
    await page.getByLabel('Filter tasks').fill('');
    await page.getByRole('button', {name: /^conflicted/}).click();
    assert.deepEqual(await names(), ['two']);
    await page.getByRole('button', {name: /^conflicted/}).click();
    await page.getByRole('button', {name: 'Cost'}).click();
    assert.deepEqual((await names()).slice(0, 2), ['evil', 'late']);
    assert.equal(await page.getAttribute('th.c-cost', 'aria-sort'), 'ascending');
    await page.getByRole('button', {name: 'Task', exact: true}).click();
    await page.focus('.scroll');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'one');
    await page.keyboard.press('End');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'bad');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.task-head');
    assert.match(await page.textContent('.why'), /exit code 1[\s\S]*it broke/);
});

test('graph: a box for each task, a line for each dependency', async () => {
    await go(page, run, 'graph');
    await page.waitForSelector('svg a');
    assert.equal(await page.locator('svg a').count(), 6);
    assert.equal(await page.locator('svg .edge').count(), 2);
    await page.getByRole('link', {name: 'late landed'}).focus();
    assert.equal(await page.locator('svg .edge.lit').count(), 2);
    await page.getByRole('button', {name: 'Larger'}).click();
    await page.keyboard.press('Escape');
    await page.getByRole('link', {name: 'evil landed'}).focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.log');
});

test('timeline: a line for each task that ran', async () => {
    await go(page, run, 'timeline');
    await page.waitForSelector('main svg a');
    assert.equal(await page.locator('main svg a').count(), 6);
    const label = await page.getAttribute('main svg a >> nth=0', 'aria-label');
    assert.match(label, /^\w+ [\d.]+s, \w+$/);
});

test('conflicts: who changed the same file', async () => {
    await go(page, run, 'conflicts');
    await page.getByRole('button', {name: /^one and two: 1 file, in conflict/}).click();
    assert.match(await page.textContent('.paths'), /one and two.*both$/);
});

test('costs: in all, by task, over time', async () => {
    await go(page, run, 'costs');
    await page.waitForSelector('.chart svg');
    assert.match(await page.textContent('.tiles'), /Cost\$0\.30/);
    assert.deepEqual(await page.$$eval('.flow tbody th', (all) => all.map((th) => th.textContent)), ['evil', 'late']);
    await page.getByRole('combobox').selectOption('engine');
    assert.deepEqual(await page.$$eval('.flow tbody th', (all) => all.map((th) => th.textContent)), ['sim']);
    assert.equal(await page.locator('.chart svg .curve').count(), 1);
});

test('diff: added and removed lines', async () => {
    await go(page, run, 'task', 'late', 'diff');
    await page.waitForSelector('.file .add');
    assert.equal(await page.textContent('.file .add'), '+four');
    assert.equal(await page.locator('.file .del').count(), 3);
    await go(page, run, 'task', 'bad', 'diff');
    await page.waitForFunction(() => /no commit|No changes|changed/i.test(document.querySelector('main').textContent));
});

test('history: two runs are compared', async () => {
    repo.plan('again', [{id: 'evil', steps: ['write made again']}, {id: 'new', steps: ['write new one']}]);
    assert.equal(await repo.start(), 0);
    await page.waitForFunction(() => !document.querySelector('.newer').hidden);
    await go(page, run, 'history');
    await page.waitForSelector('tbody tr >> nth=1');
    const boxes = page.locator('tbody input');
    await boxes.nth(0).check();
    assert.ok(await page.getByRole('button', {name: 'Compare the two'}).isDisabled());
    await boxes.nth(1).check();
    await page.getByRole('button', {name: 'Compare the two'}).click();
    await page.waitForSelector('table >> nth=1');
    const rows = await page.$$eval('table >> nth=1 >> tbody tr', (all) => all.map((tr) => tr.textContent));
    assert.match(rows.find((r) => r.startsWith('evil')), /landed.*landed/);
    assert.match(rows.find((r) => r.startsWith('new')), /not in this run.*landed/);
});

test('timeline and costs: the time between a kill and the resume does not count', async () => {
    const own = new Repo('resumed'), its = new Server(own);
    own.plan('resumed', [{id: 'cut', steps: ['say begun', own.waitStep('go-cut'), 'write made one']}, {id: 'after', depends_on: ['cut'], steps: ['tokens 10 20 0.05', 'write more one']}]);
    own.start();
    const id = await until('a run', () => own.run());
    await until('its agent', () => own.query(`select count(*) from events where run = '${id}' and name = 'task.started'`) === '1');
    await own.kill();
    own.query('update events set time = time - 3600000');
    own.let('go-cut');
    own.resume();
    own.query('update runs set started = started - 3600000; update tasks set started = started - 3600000');
    await its.start();
    const tab = await openPage();
    await tab.goto(its.url);
    await tab.waitForSelector('table.tasks tbody a');
    await go(tab, id, 'timeline');
    await tab.waitForSelector('main svg a >> nth=1');
    const bars = await tab.$$eval('main svg a rect[class^=fill-]', (all) => all.map((r) => [r.x.baseVal.value, r.width.baseVal.value]));
    const marks = await tab.$$eval('.sticky-axis text', (all) => all.slice(1).map((t) => t.textContent));
    assert.ok(marks.length && marks.every((m) => /^[\d.]+(ms|s)$/.test(m)), marks.join());
    // Otherwise an hour would lie between the first bar and the others.
    const ends = bars.map(([x, width]) => x + width), start = Math.min(...bars.map(([x]) => x));
    assert.ok(bars.every(([x, width]) => width < 0.9 * (Math.max(...ends) - start)), JSON.stringify(bars));
    await go(tab, id, 'costs');
    const grew = await tab.getAttribute('.chart svg:has(.curve)', 'aria-label');
    assert.match(grew, /^It grew to \$0\.05 in [\d.]+(ms|s)$/);
    await tab.context().close();
    await its.stop();
});

test('a run is steered by keyboard, with a question before work ends', async () => {
    const own = new Repo('steer'), its = new Server(own), closed = new Server(own, '--read-only');
    own.plan('steered', [
        {id: 'long', steps: ['write half one', 'hang']},
        {id: 'asks', idle_timeout: '5m', steps: ['ask May I?']},
        {id: 'later', depends_on: ['asks'], steps: ['write later one']},
    ]);
    own.start();
    const id = await until('a run', () => own.run());
    await its.start();
    const tab = await openPage(), posts = [];
    tab.on('request', (r) => r.method() === 'POST' && r.url().includes('/steer') && posts.push(new URL(r.url()).search));
    await tab.goto(its.url);
    await until('whom it waits for', async () => /asks.*waits for a person: May I\?/.test(await tab.textContent('main')));
    const head = tab.getByRole('group', {name: 'Steer the run'}), dialog = tab.getByRole('dialog');
    const hears = (pattern) => until(pattern, async () => pattern.test(await tab.textContent('.said')));
    const focused = () => tab.evaluate(() => document.activeElement.textContent);
    const key = (name) => tab.keyboard.press(name);

    await head.getByRole('button', {name: 'Pause'}).focus();
    await key('Enter');
    await hears(/is paused: no new task starts/);
    await until('it can go on', async () => await focused() === 'Continue');
    assert.match(await tab.textContent('header .facts'), /paused/);
    await tab.reload(); // the new page knows earlier messages, and the tab may still steer
    await until('it can go on', async () => await head.getByRole('button', {name: 'Continue'}).isVisible());
    await head.getByRole('button', {name: 'One worker more'}).click();
    await hears(/up to 9 agents .*before: 8/);
    await until('how many', async () => /Workers: 9/.test(await head.textContent()));
    await head.getByRole('button', {name: 'Continue'}).click();
    await hears(/continues: tasks/);
    assert.deepEqual(posts, ['?verb=pause', '?verb=workers&by=1', '?verb=continue']);

    // Escape, or the focused button, answers "no"; then the previous element has the focus again.
    await go(tab, id, 'task', 'long', 'log');
    const stop = tab.getByRole('button', {name: 'Stop', exact: true});
    await until('it runs', async () => await stop.isVisible() && /running/.test(await tab.textContent('.task-head')));
    assert.ok(!await tab.getByRole('button', {name: 'Skip'}).isVisible());
    await stop.focus();
    for (const no of ['Escape', 'Enter']) {
        await key('Enter');
        await dialog.waitFor();
        assert.equal(await focused(), 'Cancel');
        const found = await axe(tab, 'the question');
        assert.deepEqual(found, []);
        await key(no);
        await dialog.waitFor({state: 'detached'});
        assert.equal(await focused(), 'Stop');
    }
    assert.equal(posts.length, 3);
    await key('Enter');
    await dialog.waitFor();
    await key('Tab');
    assert.equal(await focused(), 'Stop it');
    await key('Enter');
    await hears(/'long' is asked to stop; its work is saved/);
    await until('it has failed', async () => /failed/.test(await tab.textContent('.task-head')));
    assert.ok(!await stop.isVisible());
    assert.equal(await tab.evaluate(() => document.activeElement.id), 'view');

    // A failed task gets a message and runs again, but not before the run continues.
    const talk = tab.getByRole('button', {name: 'Say …'}), retry = tab.getByRole('button', {name: 'Retry'});
    await head.getByRole('button', {name: 'Pause'}).click();
    await hears(/is paused/);
    assert.ok(await retry.isVisible() && await tab.getByRole('button', {name: 'Restart from scratch'}).isVisible());
    await talk.click();
    await dialog.waitFor();
    assert.equal(await tab.evaluate(() => document.activeElement.tagName), 'TEXTAREA');
    assert.deepEqual(await axe(tab, 'what is said'), []);
    await key('Escape');
    await dialog.waitFor({state: 'detached'});
    await talk.click();
    await dialog.getByRole('textbox').fill('<b>Go on</b> & on');
    await dialog.getByRole('button', {name: 'Say it'}).click();
    await hears(/'long' resumes its session/);
    await until('it waits', async () => /waiting/.test(await tab.textContent('.task-head')) && !await retry.isVisible());
    await stop.click();
    await dialog.getByRole('button', {name: 'Stop it'}).click();
    await retry.waitFor();
    await head.getByRole('button', {name: 'Continue'}).click();
    await hears(/continues: tasks/);
    const said = posts.splice(3);
    assert.deepEqual([said[0], said[1], said[2]], ['?verb=stop&task=long', '?verb=pause', `?${new URLSearchParams({verb: 'say', task: 'long', text: '<b>Go on</b> & on'})}`]);

    await go(tab, id, 'task', 'later', 'log');
    const skip = tab.getByRole('button', {name: 'Skip', exact: true});
    await skip.waitFor();
    assert.ok(!await stop.isVisible());
    await skip.click();
    await dialog.getByRole('button', {name: 'Skip it'}).click();
    await hears(/'later' is skipped/);
    await go(tab, id, 'tasks');
    assert.deepEqual(await axe(tab, 'a run that can be steered'), []);
    assert.deepEqual(posts.slice(3), ['?verb=skip&task=later']);

    // A tab with only the cookie, or a read-only server, cannot steer.
    const reader = await tab.context().newPage();
    await reader.goto(its.base);
    await closed.start();
    const other = await openPage();
    await other.goto(closed.url);
    for (const one of [reader, other]) {
        await go(one, id, 'task', 'asks', 'log');
        await until('live', async () => /live/.test(await one.textContent('header')) && /running/.test(await one.textContent('main')));
        assert.equal(await one.locator('.steer:visible').count(), 0);
    }
    await closed.stop();

    await go(tab, id, 'task', 'asks', 'log');
    assert.match(await tab.textContent('main .facts'), /waits for a person: May I\?/);
    await stop.click();
    await dialog.getByRole('button', {name: 'Stop it'}).click();
    assert.equal(await own.ended, 1);
    await until('nothing to steer', async () => await tab.locator('.steer:visible').count() === 0);
    const texts = await tab.evaluate(async () => {
        const {actionOf} = await import('/tasks.js'), run = {now: () => 100000};
        return [{action: 'Bash make', since: 34800}, {action: 'again', until: 107500}, {action: 'reads'}].map((t) => actionOf(run, t));
    });
    assert.deepEqual(texts, ['in Bash make for 1m 05s', 'again in 8s', 'reads']);
    assert.deepEqual([...tab.complaints, ...other.complaints], []);
    await tab.context().close();
    await other.context().close();
    await its.stop();
});

test('nothing that axe finds wrong, in light and dark, wide and on a phone', async () => {
    const kinds = [
        {colorScheme: 'light', width: 1280, views},
        {colorScheme: 'dark', width: 1280, views, rules: ['color-contrast']},
        {colorScheme: 'light', width: 390, views: ['tasks', 'timeline', 'task/evil/log'], rules: ['color-contrast', 'scrollable-region-focusable', 'link-in-text-block']},
    ];
    const found = [], other = await openPage();
    await other.goto(server.url);
    await other.waitForSelector('table.tasks tbody a');
    for (const kind of kinds) {
        await other.emulateMedia({colorScheme: kind.colorScheme});
        await other.setViewportSize({width: kind.width, height: 780});
        for (const view of [...views, `compare/${run}/${repo.run()}`]) {
            await go(other, run, view);
            await other.waitForSelector('main .scroll, main .flow', {state: 'attached'});
            await other.waitForFunction(() => !/Loading/.test(document.querySelector('main').textContent));
            if (kind.views.includes(view) || kind.width > 1000)
                found.push(...await axe(other, `${view} ${kind.colorScheme} ${kind.width}`, kind.rules));
            const over = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            assert.ok(over <= 0, `${view}: ${over} pixels wider than the window`);
        }
    }
    assert.deepEqual([...found, ...other.complaints], []);
    await other.context().close();
});

pictureTests(test);

test('a thousand tasks and a log of 100 MB stay quick', async () => {
    const large = repo.invent(1000, 100e6);
    const took = {};
    await go(page, large, 'tasks');
    await page.waitForFunction(() => /1000 tasks/.test(document.querySelector('main').textContent));
    assert.ok(await page.locator('table.tasks tbody tr').count() < 80, 'rows that nobody sees');
    took.filter = await timeOf(page, `const f = document.querySelector('main input[type=search]');
        f.value = ['task-09', 'title', 'failed', '', 'x 1'][i]; f.dispatchEvent(new Event('input'));`);
    took.sort = await timeOf(page, `document.querySelectorAll('thead button')[i % 2 ? 3 : 1].click();`);
    await page.getByLabel('Filter tasks').fill('');
    took.scroll = await timeOf(page, `document.querySelector('.scroll').scrollTop = 6000 * (i + 1);`);
    await go(page, large, 'graph'); // the page loads the plan once
    await page.waitForFunction(() => document.querySelectorAll('main svg a').length === 1000);
    await go(page, large, 'history');
    for (const view of ['graph', 'timeline', 'costs', 'tasks']) {
        took[view] = await timeOf(page, `location.hash = '#/r/${large}/${view}';`, 5, `location.hash = '#/r/${large}/history';`);
    }
    await go(page, large, 'graph');
    await page.waitForFunction(() => document.querySelectorAll('main svg a').length === 1000);
    took.hover = await timeOf(page, `document.querySelectorAll('main svg a')[i * 90].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));`);
    await go(page, large, 'timeline');
    await page.waitForFunction(() => document.querySelectorAll('main svg a').length > 20);
    took.timelineScroll = await timeOf(page, `document.querySelector('main .scroll').scrollTop = 4000 * (i + 1);`);

    await go(page, large, 'task', 'task-0000', 'log');
    await page.waitForSelector('.log');
    await page.getByLabel('Stream').selectOption('err');
    await page.waitForFunction(() => /says nothing at all$/.test(document.querySelector('.log').textContent));
    took.logScroll = await timeOf(page, `document.querySelector('.log').scrollTop -= 3000;`, 15);
    await page.getByLabel('Search the log').fill('needle');
    const from = Date.now();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('.log .here')?.textContent === 'the Needle in the middle');
    const searched = Date.now() - from;
    const place = () => page.evaluate(() => {
        const log = document.querySelector('.log').getBoundingClientRect(), line = document.querySelector('.here')?.getBoundingClientRect();
        return Boolean(line && line.top >= log.top && line.bottom <= log.bottom);
    });
    await until('the match can be seen', place);
    await page.waitForTimeout(500); // by then, the lines before and after it are loaded
    assert.ok(await place(), 'the match was scrolled away');
    assert.equal(await page.textContent('.log .here mark'), 'Needle');
    for (let i = 0; i < 12; i++) {
        await page.evaluate(() => { const log = document.querySelector('.log'); log.scrollTop = log.scrollHeight; });
        await page.waitForTimeout(40);
    }
    const lines = await page.locator('.log .line').count();
    assert.ok(lines > 500 && lines < 6000, `${lines} lines are in the page`);
    await page.getByLabel('Position in the log').fill('0');
    await page.waitForFunction(() => document.querySelector('.log .line').textContent.startsWith('line 0 of'));
    console.log(`# ms of the page's thread (and until painted): ${Object.entries(took).map(([k, v]) => `${k} ${v.own} (${v.painted})`).join(', ')}; search of half of 100 MB: ${searched}`);
    for (const [what, {own}] of Object.entries(took))
        assert.ok(own < 100, `${what} took ${own} ms`);
});

test('the browser has nothing to complain about', async () => {
    assert.deepEqual(page.complaints, []);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    await page.context().close();
    await server.stop();
});

import {execFileSync} from 'node:child_process';
function statusText() {
    return execFileSync(process.env.ANABRANCH, ['status', run], {cwd: repo.dir, encoding: 'utf8'});
}

let passed = 0, failed = 0;
try {
    await openBrowser();
    await setUp();
    for (const {name, fn} of tests.filter((t) => t.name.includes(filter))) {
        const from = Date.now();
        try {
            await fn();
            passed++;
            console.log(`ok - ${name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
        } catch (error) {
            failed++;
            console.log(`not ok - ${name}\n${String(error.stack).replace(/^/gm, '# ')}`);
            if (process.env.SHOTS)
                writeFileSync(`${process.env.SHOTS}/failed-${failed}.png`, await page.screenshot());
        }
    }
} catch (error) {
    failed++;
    console.log(`not ok - the stage\n${error.stack}`);
} finally {
    await closeAll();
}
console.log(`page: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
