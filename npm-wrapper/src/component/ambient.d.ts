// What the sources use of the runtime and `@types/node` does not declare, and what the build puts in.

declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, unknown>);
    readonly exports: Record<string, unknown>;
  }
}

/** The package's version. */
declare const TOLLGATE_VERSION: string;

/** `sha256:` and hex of the component that `generated/` was made from. */
declare const TOLLGATE_DIGEST: string;

/** The core modules by name, compressed and in Base64; only in the bundle that is one file. */
declare const TOLLGATE_MODULES: Record<string, string>;
/** The MCP client's types want it, though nothing here speaks HTTP. */
type HeadersInit = Record<string, string>;
