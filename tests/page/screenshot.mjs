// Takes a picture of the page in a run of examples/demo.md, when one task is in conflict and others run.
//
//     node screenshot.mjs MODULES BROWSER FOLDER FILE
//
// When it is ready, it makes the file `ready` in the folder, and waits for the file `url`.

import {createRequire} from 'node:module';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const [, , modules, executablePath, folder, path] = process.argv;
const {chromium} = createRequire(join(modules, 'of-the-page.js'))('playwright-core');
const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
try {
    const page = await browser.newPage({viewport: {width: 1100, height: 572}, deviceScaleFactor: 1.5, colorScheme: 'light'});
    const file = join(folder, 'url');
    writeFileSync(join(folder, 'ready'), '');
    while (!existsSync(file) || !readFileSync(file, 'utf8').endsWith('\n'))
        await page.waitForTimeout(30);
    await page.goto(readFileSync(file, 'utf8').trim());
    await page.waitForFunction(() => {
        const count = (kind) => document.querySelectorAll(`tbody .state.${kind}`).length;
        return count('warn') && count('run') && count('ok') >= 2 && /waits for api/.test(document.querySelector('main').textContent);
    }, null, {timeout: 60000});
    await page.screenshot({path});
} finally {
    await browser.close();
}
