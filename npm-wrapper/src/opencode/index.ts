// The OpenCode plugin, as OpenCode loads it.
import { start } from './plugin.js';

/** One line for OpenCode's log. */
export interface LogLine {
  service: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  extra?: Record<string, unknown>;
}

/** A message that OpenCode shows to the person. */
export interface Toast {
  message: string;
  variant: 'info' | 'success' | 'warning' | 'error';
  /** In milliseconds. */
  duration?: number;
}

/** The part of OpenCode's plugin input that is used here. */
export interface PluginInput {
  client: {
    app: { log(options: { body: LogLine }): unknown };
    /** Missing in earlier versions. */
    tui?: { showToast(options: { body: Toast }): unknown };
  };
  /** The current folder of OpenCode. */
  directory: string;
  /** The repository that contains it; `/` if there is none. */
  worktree?: string | undefined;
}

/** The options after the plugin's name in `opencode.json`: `["tollgate", { … }]`. */
export interface PluginOptions {
  /** The home folder, which contains the user's settings in `.tollgate/`. Default: the user's home folder. */
  home?: string | undefined;
  /**
   * The folder that contains the state folders of all workspaces. Default: `.local/state/tollgate` in the given home folder,
   * otherwise `$XDG_STATE_HOME/tollgate` or its equivalent on this system.
   */
  state?: string | undefined;
  /** Whether debug messages are written to OpenCode's log as well. */
  debug?: boolean | undefined;
}

/** A plugin as OpenCode loads it. */
export interface PluginModule {
  id: string;
  server(input: PluginInput, options?: PluginOptions): Promise<object>;
}

/** The gate as an OpenCode plugin. The only export, because OpenCode treats every export as a plugin. */
const plugin: PluginModule = {
  id: 'tollgate',
  server: async (input, options) => start(input, options),
};

export default plugin;
