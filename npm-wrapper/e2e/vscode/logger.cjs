// Replaces the editor's own logger, which is native code that npm would have to compile: log messages go to the log file.
const { appendFileSync, mkdirSync } = require('node:fs');
const { dirname } = require('node:path');

class Logger {
  #file;
  #plain = false;
  #level = 2;

  constructor(_type, _name, file) {
    this.#file = file;
    mkdirSync(dirname(file), { recursive: true });
  }

  #write(level, name, message) {
    if (level < this.#level) return;
    const time = new Date().toISOString().replace('T', ' ').replace('Z', '');
    appendFileSync(this.#file, this.#plain ? message : `${time} [${name}] ${message}\n`);
  }

  trace(message) {
    this.#write(0, 'trace', message);
  }

  debug(message) {
    this.#write(1, 'debug', message);
  }

  info(message) {
    this.#write(2, 'info', message);
  }

  warn(message) {
    this.#write(3, 'warning', message);
  }

  error(message) {
    this.#write(4, 'error', message);
  }

  critical(message) {
    this.#write(5, 'critical', message);
  }

  getLevel() {
    return this.#level;
  }

  setLevel(level) {
    this.#level = level;
  }

  clearFormatters() {
    this.#plain = true;
  }

  setPattern() {}

  flush() {}

  drop() {}
}

exports.version = 0;
exports.Logger = Logger;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.createRotatingLogger = async (name, file) => new Logger('rotating', name, file);
exports.createAsyncRotatingLogger = async (name, file) => new Logger('rotating_async', name, file);
