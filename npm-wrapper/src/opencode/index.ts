import { start } from './plugin.js';

/** One line for OpenCode's log. */
export interface LogLine {
  service: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  extra?: Record<string, unknown>;
}

/** A message that OpenCode shows to the person for a while. */
export interface Toast {
  message: string;
  variant: 'info' | 'success' | 'warning' | 'error';
  /** In milliseconds. */
  duration?: number;
}

/** What OpenCode gives a plugin, as far as this one uses it. */
export interface PluginInput {
  client: {
    app: { log(options: { body: LogLine }): unknown };
    /** Earlier versions have none. */
    tui?: { showToast(options: { body: Toast }): unknown };
  };
  /** The folder that OpenCode works in. */
  directory: string;
  /** The repository around it; `/` where there is none. */
  worktree?: string | undefined;
}

/** What can stand beside the plugin's name in `opencode.json`: `["tollgate", { … }]`. */
export interface PluginOptions {
  /** The home folder, with the user's own settings in `.tollgate/`; the user's home where none is named. */
  home?: string | undefined;
  /**
   * The folder in which every workspace has a folder for what the gate keeps between calls. Where none is named, it is
   * `.local/state/tollgate` in the home folder that is named, else `$XDG_STATE_HOME/tollgate`, or what stands for it on this system.
   */
  state?: string | undefined;
  /** Whether lines for debugging go to OpenCode's log too. */
  debug?: boolean | undefined;
}

/** A plugin as OpenCode loads it. */
export interface PluginModule {
  id: string;
  server(input: PluginInput, options?: PluginOptions): Promise<object>;
}

/** The gate as an OpenCode plugin. The only export, because OpenCode takes every export for a plugin. */
const plugin: PluginModule = {
  id: 'tollgate',
  server: async (input, options) => start(input, options),
};

export default plugin;
