// Declarations that `@types/node` lacks, and constants that the build defines.

declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, unknown>);
    readonly exports: Record<string, unknown>;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
  }
  class RuntimeError extends Error {}
}

/** The package's version. */
declare const TOLLGATE_VERSION: string;

/** `sha256:` and the hex digest of the component that `generated/` was made from. */
declare const TOLLGATE_DIGEST: string;

/** The core modules by name, compressed and Base64-encoded; only in the single-file bundle. */
declare const TOLLGATE_MODULES: Record<string, string>;
/** Required by the types of the MCP client, although HTTP is not used. */
type HeadersInit = Record<string, string>;
