// Talks to an MCP server on the network. Contacts only that server's host, and limits how much is read.
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ServerBounds } from './mcp_bounds.js';
import type { Channel, Closure, TransportOrder } from './mcp_connection.js';

/** How often the client retries a stream before the gate decides. */
const RECONNECTION = {
  maxRetries: 2,
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 5000,
  reconnectionDelayGrowFactor: 2,
};

/** At most this many redirects are followed. */
const MAX_REDIRECTS = 3;

/** Opens a channel to the server at an address. */
export function openHttp(order: Exclude<TransportOrder, { type: 'stdio' }>, bounds: ServerBounds): Channel {
  const url = new URL(order.url);
  let fault: Closure | undefined;
  let lose: (closed: Closure) => void = () => {};
  const over = new Promise<Closure>((resolve) => {
    lose = (closed) => {
      fault ??= closed;
      resolve(fault);
    };
  });
  const isSse = order.type === 'sse';
  const options = {
    fetch: restrictedFetch(url, isSse, bounds, (closed) => lose(closed)),
    requestInit: { headers: order.headers },
  };
  const transport = isSse
    ? new SSEClientTransport(url, options)
    : new StreamableHTTPClientTransport(url, { ...options, reconnectionOptions: RECONNECTION });
  const end = async () => {
    if ('terminateSession' in transport && fault === undefined) await transport.terminateSession().catch(() => {});
    await transport.close().catch(() => {});
  };
  // The types of the two do not say that a session's id may be missing.
  return { transport: transport as Channel['transport'], over, fault: () => fault, end, kill: () => {} };
}

/** Returns a `fetch` that is restricted to the origin and the limits of one server. */
function restrictedFetch(base: URL, isSse: boolean, bounds: ServerBounds, lose: (closed: Closure) => void) {
  return async (target: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(target);
    const fail = (closed: Closure): never => {
      lose(closed);
      throw new Error(closed.why);
    };
    if (url.origin !== base.origin) fail({ kind: 'redirect', why: `it asks for messages to be sent to ${url.href}` });
    const response = await fetchWithRedirects(url, init, base, fail);
    const { status, statusText, headers } = response;
    if (status === 401 || status === 403) fail({ kind: 'denied', why: `HTTP ${status} ${statusText}` });
    if (response.body === null) return response;
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
    // In the earlier transport, the stream is the connection.
    const ended = isSse && isStream ? () => lose({ kind: 'ended', why: 'its stream ended' }) : () => {};
    const body = limitBody(response.body, isStream, bounds, lose, ended);
    const bounded = new Response(body, { status, statusText, headers });
    Object.defineProperty(bounded, 'url', { value: response.url });
    return bounded;
  };
}

/** Sends a request, and follows redirects within the origin of the server. */
async function fetchWithRedirects(url: URL, init: RequestInit, base: URL, fail: (closed: Closure) => never): Promise<Response> {
  const method = (init.method ?? 'GET').toUpperCase();
  let at = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    let response: Response;
    try {
      response = await fetch(at, { ...init, redirect: 'manual' });
    } catch (error) {
      if (init.signal?.aborted === true) throw error;
      return fail({ kind: 'ended', why: innermostMessage(error) });
    }
    const { status, statusText, headers } = response;
    const location = status >= 300 && status < 400 ? headers.get('location') : null;
    if (location === null) return response;
    const target = URL.canParse(location, at.href) ? new URL(location, at) : undefined;
    const keepsRequest = method === 'GET' || status === 307 || status === 308;
    if (target === undefined || target.origin !== base.origin || target.username !== '' || !keepsRequest) {
      fail({ kind: 'redirect', why: `HTTP ${status} ${statusText} to ${target?.href ?? 'nowhere'}` });
    }
    await response.body?.cancel();
    at = target as URL;
  }
  return fail({ kind: 'redirect', why: 'it redirects too many times' });
}

/** Wraps a body so that reading it fails if it is too long. */
function limitBody(
  body: ReadableStream<Uint8Array>,
  isStream: boolean,
  bounds: ServerBounds,
  lose: (closed: Closure) => void,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let pending = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          ended();
          controller.close();
          return;
        }
        // An event ends with an empty line. An event that never ends must not grow forever.
        const hasEnd = isStream && /\n\r?\n|\r\r/.test(Buffer.from(value).toString('latin1'));
        pending = hasEnd ? value.byteLength : pending + value.byteLength;
        if (bounds.countMessages(value.byteLength) && bounds.mayGrowTo(pending)) {
          controller.enqueue(value);
          return;
        }
        const why = isStream ? '' : `an answer is longer than ${bounds.limits.message_bytes >> 20} MiB`;
        lose({ kind: 'flood', why });
        await reader.cancel().catch(() => {});
        controller.error(new Error('the server sent more than it may'));
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    cancel: (why) => reader.cancel(why),
  });
}

/** The message of the innermost error, such as that of the operating system. */
function innermostMessage(error: unknown): string {
  let last = error;
  while (last instanceof Error && last.cause instanceof Error) last = last.cause;
  return last instanceof Error ? last.message : String(last);
}
