// A VS Code window in a browser, driven as a person would drive it.
import * as path from 'node:path';

/** The longest that a person would wait before considering it broken. */
const PATIENCE_MS = 20_000;

export class Workbench {
  #page;
  #shots;

  /** @param page the browser's page @param shots the folder for screenshots */
  constructor(page, shots) {
    this.#page = page;
    this.#shots = shots;
  }

  get page() {
    return this.#page;
  }

  async open(url) {
    await this.#page.goto(url, { waitUntil: 'domcontentloaded' });
    await this.#page.waitForSelector('.monaco-workbench .part.statusbar', { timeout: 60_000 });
  }

  async shot(name) {
    // Waits for elements that fade in.
    await this.#page.waitForTimeout(400);
    await this.#page.screenshot({ path: path.join(this.#shots, `${name}.png`) });
  }

  /** Repeats `ask` until it returns something truthy, and returns that. */
  async until(what, ask, patience = PATIENCE_MS) {
    const end = Date.now() + patience;
    for (;;) {
      const answer = await ask();
      if (answer) return answer;
      if (Date.now() > end) {
        await this.shot('in-vain').catch(() => {});
        throw new Error(`waited ${patience} ms in vain: ${what}`);
      }
      await this.#page.waitForTimeout(100);
    }
  }

  async press(keys) {
    await this.#page.keyboard.press(keys);
  }

  async type(text) {
    await this.#page.keyboard.type(text, { delay: 8 });
  }

  /** The texts of all elements that match the selector. */
  texts(selector) {
    return this.#page.$$eval(selector, (found) => found.map((element) => element.textContent?.replaceAll('\u00a0', ' ') ?? ''));
  }

  /** Waits until a matching element shows a text, and returns the element's whole text. */
  async sees(selector, text, patience) {
    const fits = (shown) => (text instanceof RegExp ? text.test(shown) : shown.includes(text));
    return this.until(`${selector} shows ${text}`, async () => (await this.texts(selector)).find(fits), patience);
  }

  /** Waits until no matching element shows a text. */
  async seesNo(selector, text) {
    return this.until(
      `${selector} no longer shows ${text}`,
      async () => !(await this.texts(selector)).some((shown) => shown.includes(text)),
    );
  }

  /** Runs a command from the command palette by its full title. */
  async command(title) {
    await this.press('F1');
    await this.#page.waitForSelector('.quick-input-widget input');
    await this.#page.keyboard.insertText(title);
    await this.choose(title);
  }

  /** Clicks a row of the open list once it is shown and has stopped moving. */
  async choose(text) {
    await this.#page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first().click({ timeout: PATIENCE_MS });
  }

  /** Waits for a list of choices and picks one. */
  async pick(text) {
    await this.choose(text);
    await this.#asked();
  }

  /** Waits until no question is open, so that keys go to the editor again. */
  async #asked() {
    await this.until('the list is gone', async () => !(await this.#page.isVisible('.quick-input-widget')));
  }

  async file(name) {
    await this.press('Control+P');
    await this.#page.waitForSelector('.quick-input-widget input');
    await this.#page.keyboard.insertText(name);
    await this.choose(path.basename(name));
    await this.#asked();
    await this.sees('.tabs-container .tab.active', path.basename(name));
    await this.#page.waitForSelector('.editor-instance .view-lines');
  }

  /** Puts the cursor at the beginning of a line, counted from 1. */
  async line(number) {
    await this.press('Control+G');
    await this.#page.waitForSelector('.quick-input-widget input');
    await this.type(String(number));
    await this.press('Enter');
    await this.#asked();
  }

  async save() {
    await this.press('Control+S');
    await this.until('the file is saved', async () => (await this.#page.$$('.tabs-container .tab.active.dirty')).length === 0);
  }
}
