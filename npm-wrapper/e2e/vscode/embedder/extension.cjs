// An extension that gates tools of its own with `tollgate/vscode`, and reports what it is told.
const { monitorEventLoopDelay, performance } = require('node:perf_hooks');
const vscode = require('vscode');
const { activateTollgate } = require('./vscode.cjs');

/** The time that this thread has worked since, in milliseconds. */
function cpuSince(before) {
  if (before === undefined) return undefined;
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** A language model that repeats what it is asked. */
const echo = {
  provideLanguageModelChatInformation: () => [
    { id: 'echo', name: 'Echo', family: 'echo', version: '1', maxInputTokens: 10_000, maxOutputTokens: 10_000, capabilities: {} },
  ],
  provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
    const asked = messages.flatMap(({ content }) => content.map((part) => part.value)).join('');
    progress.report(new vscode.LanguageModelTextPart(`the model was asked: ${asked}`));
  },
  provideTokenCount: async () => 1,
};

exports.activate = async (context) => {
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider('embedder', echo));
  const begun = performance.now();
  const before = process.threadCpuUsage?.();
  const activated = activateTollgate(context);
  // Both, because on a busy machine time passes though nobody works.
  const held = { held_ms: performance.now() - begun, held_cpu_ms: cpuSince(before) };
  const api = await activated;
  const ready = performance.now() - begun;

  const write = (call, path) => ({ call, tool: 'write_to_file', args: { path, content: 'x' }, host: 'vscode' });
  const tell = async (name, input) => {
    const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    return result.content.map((part) => part.value).join('');
  };

  /** How long the extension host was held up at most while the gate was kept busy. */
  async function heldUp() {
    const delays = monitorEventLoopDelay({ resolution: 1 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    delays.enable();
    const from = performance.now();
    const asked = [];
    for (let round = 0; round < 20; round += 1) {
      asked.push(
        api.perform({ op: 'verify' }),
        api.perform({ op: 'trace', limit: 500 }),
        api.context(),
        api.preTool(write(`d${round}`, 'src/auth/a.ts')),
      );
    }
    await Promise.all(asked);
    await new Promise((resolve) => setTimeout(resolve, 20));
    delays.disable();
    return { most_ms: delays.max / 1e6, calls: asked.length, took_ms: performance.now() - from };
  }

  /** A session of an agent that lives in this extension, in the words that any program can speak. */
  async function session() {
    const told = { session: 'embedder-1', call: 'w1', tool: 'write_to_file', args: { path: 'src/auth/new.ts', content: 'new' } };
    const respond = async (event, more) => {
      const { text } = await api.respond('generic', undefined, { event, session: told.session, ...more });
      return JSON.parse(Buffer.from(text).toString() || '{}').verdict;
    };
    await api.selectIntent('INT-001', told.session);
    await respond('session_start', { source: 'startup' });
    await respond('before_agent', { prompt: 'Please do the work' });
    const verdict = await respond('before_tool', told);
    await vscode.workspace.fs.writeFile(
      vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, told.args.path),
      Buffer.from('new'),
    );
    await respond('after_tool', { ...told, success: true, result: 'Wrote it.' });
    await respond('after_agent', { response: 'All done.' });
    return verdict;
  }

  async function report() {
    const folder = vscode.workspace.workspaceFolders[0].uri;
    await api.selectIntent('INT-001');
    const report = {
      activation: { ...held, ready_ms: ready },
      session: api.session,
      folders: api.folders.map(({ name }) => name),
      inScope: (await api.preTool(write('e1', 'src/auth/login.ts'))).code,
      outOfScope: (await api.preTool(write('e2', 'src/billing/pay.ts'), folder)).code,
      entries: (await api.postTool(write('e1', 'src/auth/login.ts'), { status: 'failed', error: 'only tried' })).entries.length,
      augmented: (await api.augment(write('e3', 'src/auth/login.ts'))).args.path,
      agent: await session(),
      event: await api.event('before_model', { model: 'm' }),
      context: (await api.context()).includes('Login hardening'),
      tools: vscode.lm.tools.map(({ name }) => name),
      heldUp: await heldUp(),
    };
    if (report.tools.includes('list_intents')) {
      report.listed = await tell('list_intents', {});
      report.selected = await tell('select_active_intent', { intent_id: 'INT-002' });
      report.refused = await tell('select_active_intent', { intent_id: 'INT-404' });
    }
    report.current = (await api.currentIntent()).id;
    return report;
  }

  /** The answers to commands of an agent that lives in this extension. */
  async function push() {
    await api.selectIntent('INT-001', 'embedder-2');
    const answers = [];
    for (const command of ['git push --force origin main', 'git status']) {
      const told = { event: 'before_tool', session: 'embedder-2', call: command, tool: 'bash', args: { command } };
      const { text } = await api.respond('generic', undefined, told);
      answers.push(JSON.parse(Buffer.from(text).toString() || '{}'));
    }
    return answers;
  }

  const save = (name, make) => async () => {
    const text = await make().then(
      (value) => JSON.stringify(value),
      (error) => JSON.stringify({ error: String(error.stack ?? error) }),
    );
    await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name), Buffer.from(text));
  };
  context.subscriptions.push(
    vscode.commands.registerCommand('embedder.report', save('embedder.json', report)),
    vscode.commands.registerCommand('embedder.push', save('pushed.json', push)),
  );
};
