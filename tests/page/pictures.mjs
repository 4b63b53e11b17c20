// Compares the page and the report with pictures in references/. They show an invented run, whose times and
// name are always the same, in fonts that the test chooses. Pictures have half the size of the page.
// Two pictures are equal if the means of their squares of 4 by 4 pixels are: the position of things
// matters, the smoothing of edges does not.
//
// UPDATE=1 updates the pictures; SHOTS=FOLDER keeps those that differ.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {go, openPage, Repo, Server} from './stage.mjs';

const references = join(import.meta.dirname, 'references');
const update = Boolean(process.env.UPDATE);
const wide = {width: 1000, height: 600}, phone = {width: 390, height: 560};
const square = 4, far = 24;
// Limits: the mean difference, of 255, and the share of squares that differ much. Another smoothing of letters stays below; rows
// that are 4 pixels higher reach 5 and 6 %.
const mostMean = 1.5, mostFar = 0.015;

const shots = [
    {view: 'tasks', size: wide, scheme: 'light', ready: 'table.tasks tbody a'},
    {view: 'tasks', size: wide, scheme: 'dark', ready: 'table.tasks tbody a'},
    {view: 'tasks', size: phone, scheme: 'light', ready: 'table.tasks tbody a'},
    {view: 'graph', size: wide, scheme: 'light', ready: 'main svg a'},
    {view: 'timeline', size: wide, scheme: 'dark', ready: 'main svg a'},
    {view: 'costs', size: wide, scheme: 'light', ready: '.chart svg .curve'},
    {view: 'costs', size: phone, scheme: 'dark', ready: '.chart svg .curve'},
    {view: 'report', size: wide, scheme: 'light'},
    {view: 'report', size: phone, scheme: 'dark'},
];
const nameOf = (shot) => `${shot.view}-${shot.size === wide ? 'wide' : 'phone'}-${shot.scheme}`;

// Fonts that come with Debian's chromium; the system's default fonts vary.
const style = `:root { --mono: "DejaVu Sans Mono" !important; }
    html, body, button, input, select, svg text { font-family: "DejaVu Sans" !important; }
    code, pre, .mono { font-family: "DejaVu Sans Mono" !important; }`;

// The browser, and the width of a line in each font. If these differ, the pictures may differ too.
async function painterOf(page) {
    const widths = await page.evaluate(() => {
        const context = document.createElement('canvas').getContext('2d');
        return Object.fromEntries(['', 'bold '].flatMap((weight) => ['DejaVu Sans', 'DejaVu Sans Mono'].map((name) => {
            context.font = `${weight}100px "${name}"`;
            return [weight + name, Math.round(context.measureText('The quick brown fox, 0123456789').width)];
        })));
    });
    return {browser: page.context().browser().version(), ...widths};
}

// The mean difference of all squares, and the share of squares that differ much. The browser decodes the pictures.
function difference(page, a, b) {
    return page.evaluate(async ([sources, side, limit]) => {
        const pixels = await Promise.all(sources.map(async (source) => {
            const image = new Image();
            image.src = `data:image/png;base64,${source}`;
            await image.decode();
            const canvas = document.createElement('canvas');
            canvas.width = image.width;
            canvas.height = image.height;
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            return context.getImageData(0, 0, image.width, image.height);
        }));
        const [one, two] = pixels, {width, height} = one;
        if (width !== two.width || height !== two.height)
            return {mean: 255, far: 1};
        let sum = 0, n = 0, many = 0;
        for (let top = 0; top + side <= height; top += side) {
            for (let left = 0; left + side <= width; left += side) {
                const delta = [0, 0, 0];
                for (let y = top; y < top + side; y++)
                    for (let x = left; x < left + side; x++)
                        for (let c = 0; c < 3; c++)
                            delta[c] += one.data[(y * width + x) * 4 + c] - two.data[(y * width + x) * 4 + c];
                const most = Math.max(...delta.map(Math.abs)) / (side * side);
                sum += most;
                many += most > limit;
                n++;
            }
        }
        return {mean: sum / n, far: many / n};
    }, [[a, b].map((png) => png.toString('base64')), square, far]);
}

async function take(page, shot, run, report) {
    await page.emulateMedia({colorScheme: shot.scheme, reducedMotion: 'reduce'});
    await page.setViewportSize(shot.size);
    if (shot.view === 'report') {
        await page.goto(report);
        await page.addStyleTag({content: style});
    } else {
        await go(page, run, 'history'); // entering a view makes its layout again
        await page.waitForSelector('main .plain');
        await go(page, run, shot.view);
        await page.waitForSelector(shot.ready, {state: 'attached'});
    }
    await page.evaluate(async () => {
        await document.fonts.ready;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    });
    return page.screenshot({animations: 'disabled'});
}

// The defect of a picture, if any; `worst` is the largest difference so far.
async function judge(page, shot, png, worst) {
    const file = join(references, `${nameOf(shot)}.png`);
    if (update) {
        writeFileSync(file, png);
        return null;
    }
    const found = existsSync(file) ? await difference(page, png, readFileSync(file)) : {mean: 255, far: 1};
    worst.mean = Math.max(worst.mean, found.mean);
    worst.far = Math.max(worst.far, found.far);
    if (found.mean <= mostMean && found.far <= mostFar)
        return null;
    if (process.env.SHOTS)
        writeFileSync(join(process.env.SHOTS, `${nameOf(shot)}.png`), png);
    return `${nameOf(shot)}: squares differ by ${inWords(found)}`;
}

const inWords = ({mean, far: share}) => `${mean.toFixed(2)} in the mean, ${(100 * share).toFixed(2)}% of them much`;

// Makes a store with a short run, adds the invented run, and makes its report.
async function stage() {
    const repo = new Repo('pictures');
    repo.plan('the store is made by this', [{id: 'one', read_only: true, steps: ['say one']}]);
    assert.equal(await repo.start(), 0);
    const run = repo.invent(48, 3000), report = join(repo.dir, '.git/report.html');
    execFileSync(process.env.ANABRANCH, ['report', run, '--format', 'html', '-o', report], {cwd: repo.dir});
    return {repo, run, report: pathToFileURL(report).href};
}

async function compare() {
    const {repo, run, report} = await stage();
    const server = new Server(repo), painterFile = join(references, 'painter.json');
    // The page's own content security policy would reject the test's style.
    const page = await openPage({bypassCSP: true, locale: 'en-GB', timezoneId: 'UTC', deviceScaleFactor: 0.5});
    await server.start();
    await page.goto(server.url);
    await page.waitForSelector('table.tasks tbody a');
    await page.waitForSelector('.connection:not(.off)');
    await page.addStyleTag({content: style});
    const painter = await painterOf(page), wrong = [];
    if (update) {
        mkdirSync(references, {recursive: true});
        writeFileSync(painterFile, `${JSON.stringify(painter, null, 4)}\n`);
    }
    if (JSON.stringify(painter) !== JSON.stringify(JSON.parse(readFileSync(painterFile, 'utf8')))) {
        console.log('# pictures: skipped: the browser or the fonts that they were taken with are not here');
    } else {
        const worst = {mean: 0, far: 0};
        for (const shot of shots)
            wrong.push(await judge(page, shot, await take(page, shot, run, report), worst));
        console.log(`# pictures: squares differ by ${inWords(worst)} at most`);
    }
    await page.context().close();
    await server.stop();
    assert.deepEqual(wrong.filter(Boolean), []);
}

export function pictureTests(test) {
    test('it looks as it does in the pictures', compare);
}
